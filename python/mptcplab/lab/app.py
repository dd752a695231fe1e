"""The server's answers: the page, what it offers, and the work that it asks for."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from mptcplab.files import TargetError, with_file
from mptcplab.lab import choices, requests, tour
from mptcplab.lab.documents import OPENED, Origin, read
from mptcplab.lab.gate import Gate
from mptcplab.lab.jobs import BusyError, Frame, JobQueue
from mptcplab.lab.limits import Limits
from mptcplab.lab.opened import ChangedError, Opened
from mptcplab.lab.requests import BadRequestError
from mptcplab.scenario import ScenarioError

_MEDIA: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_LIVE_SPARE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.1


def static_files() -> dict[str, tuple[str, bytes]]:
    """The files of the page by their addresses: read once, so that no request can name another."""
    root = files("mptcplab.lab").joinpath("static")
    with_path = {f"/static/{name}": content for name, content in _below(root, "")}
    return {
        path: (_MEDIA[Path(path).suffix], content) for path, content in with_path.items() if Path(path).suffix in _MEDIA
    }


def _below(place: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _below(entry, f"{prefix}{entry.name}/")
        else:
            found.append((f"{prefix}{entry.name}", entry.read_bytes()))
    return found


class Lab:
    """The laboratory of one server."""

    def __init__(self, opened: Opened | None, limits: Limits) -> None:
        self._opened = opened
        self._limits = limits
        self._files = static_files()
        self._catalogue = json.dumps(choices.catalogue()).encode()
        self._tour = json.dumps(tour.steps()).encode()
        self.jobs = JobQueue(limits)

    def routes(self) -> list[Route]:
        """What is answered."""
        work = [Route(f"/api/{kind}", self._work(kind), methods=["POST"]) for kind in requests.WORK]
        return [
            Route("/", self._page),
            Route("/static/{path:path}", self._static),
            Route("/api/alive", self._alive),
            Route("/api/catalogue", self._offered),
            Route("/api/tour", self._guide),
            Route("/api/presets/{name}", self._preset),
            Route("/api/opened", self._read_opened),
            Route("/api/opened", self._save, methods=["PUT"]),
            Route("/api/export", self._export, methods=["POST"]),
            *work,
        ]

    async def _page(self, _: Request) -> Response:
        media, content = self._files["/static/index.html"]
        return Response(content, media_type=media)

    async def _static(self, request: Request) -> Response:
        found = self._files.get(request.url.path)
        if found is None:
            raise HTTPException(404, "there is no such file")
        media, content = found
        return Response(content, media_type=media)

    async def _alive(self, _: Request) -> Response:
        return Response(status_code=204)

    async def _offered(self, _: Request) -> Response:
        return Response(self._catalogue, media_type="application/json")

    async def _guide(self, _: Request) -> Response:
        return Response(self._tour, media_type="application/json")

    async def _preset(self, request: Request) -> Response:
        text = choices.preset(request.path_params["name"])
        if text is None:
            raise HTTPException(404, "there is no ready-made scenario with this name")
        return JSONResponse({"text": text, "origin": request.path_params["name"]})

    async def _read_opened(self, _: Request) -> Response:
        if self._opened is None:
            return JSONResponse({"text": None, "origin": None, "name": None, "writable": False})
        return JSONResponse(
            {
                "text": self._opened.text,
                "origin": OPENED,
                "name": self._opened.file.name,
                "writable": self._opened.writable,
            }
        )

    async def _save(self, request: Request) -> Response:
        given = await requests.body(request, self._limits.body_bytes)
        if self._opened is None or not self._opened.writable:
            raise BadRequestError(403, "there is no file to save to; start with mptcplab lab FILE on this machine")
        text = given.get("text")
        if not isinstance(text, str):
            raise BadRequestError(400, "text: expected the text of the scenario")
        origin = Origin.of(OPENED, self._opened.file)
        try:
            await run_in_threadpool(read, text, None, origin, self._limits)
        except ScenarioError as error:
            raise BadRequestError(422, f"nothing was written: {error}") from None
        try:
            self._opened.save(text)
        except (ChangedError, TargetError) as error:
            raise BadRequestError(409, str(error)) from None
        except OSError as error:
            raise BadRequestError(409, with_file(error)) from None
        return JSONResponse({"saved": self._opened.file.name})

    def _work(self, kind: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            frames = await self._frames(kind, request)
            first = await _first(frames, request)
            if first is None:
                return PlainTextResponse("stopped\n", 499)
            refused = _refused(first)
            if refused is not None:
                return refused

            async def lines() -> AsyncIterator[bytes]:
                yield first.content + b"\n"
                if first.event == "progress":
                    async for frame in frames:
                        content = frame.content
                        if frame.event == "failed":
                            content = json.dumps({"failed": content.decode()}).encode()
                        yield content + b"\n"
                await frames.aclose()

            return StreamingResponse(lines(), media_type="application/x-ndjson")

        return answer

    async def _export(self, request: Request) -> Response:
        frames = await self._frames("export", request)
        while (frame := await _first(frames, request)) is not None and frame.event == "progress":
            pass
        if frame is None:
            return PlainTextResponse("stopped\n", 499)
        refused = _refused(frame)
        if refused is not None:
            return refused
        head = {"content-disposition": f"attachment; filename*=UTF-8''{quote(frame.head['name'], safe='')}"}
        return Response(frame.content, media_type=frame.head["media"], headers=head)

    async def _frames(self, kind: str, request: Request) -> AsyncGenerator[Frame]:
        given = await requests.body(request, self._limits.body_bytes)
        opened = None if self._opened is None else str(self._opened.file.resolve())
        asked = requests.asked(kind, given, opened)
        limit_s = self._limits.run_s
        if asked.engine in ("stack", "linux"):
            limit_s = 600.0 + _LIVE_SPARE_S
        return self.jobs.frames(asked.page, asked.task, limit_s)


async def _first(frames: AsyncGenerator[Frame], request: Request) -> Frame | None:
    """The next part of an answer; None, and the work is stopped, when nobody waits for it any more."""
    waiting = asyncio.ensure_future(anext(frames))
    while not waiting.done():
        await asyncio.wait({waiting}, timeout=_LOOK_EVERY_S)
        if not waiting.done() and await request.is_disconnected():
            waiting.cancel()
            await asyncio.wait({waiting})
            await frames.aclose()
            return None
    return waiting.result()


def _refused(frame: Frame) -> Response | None:
    """The answer to a request that was wrong; None when it was not."""
    if frame.event == "wrong":
        return Response(frame.content, 422, media_type="application/json")
    if frame.event == "failed":
        return PlainTextResponse(frame.content + b"\n", 503)
    return None


def build(
    token: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    opened: Opened | None = None,
    limits: Limits | None = None,
) -> ASGIApp:
    """The application of a server that listens there."""
    lab = Lab(opened, limits or Limits())

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        lab.jobs.prepare()
        yield
        await lab.jobs.close()

    async def bad(_: Request, error: Exception) -> Response:
        assert isinstance(error, BadRequestError)
        return PlainTextResponse(f"{error}\n", error.status)

    async def busy(_: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}; try again later\n", 429, headers={"retry-after": "1"})

    app = Starlette(routes=lab.routes(), lifespan=life, exception_handlers={BadRequestError: bad, BusyError: busy})
    return Gate(app, token, host, port)
