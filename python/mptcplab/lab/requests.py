"""What the page may ask, read and found right before anything is done about it."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from mptcplab.advice.asked import PREFERENCES, PURPOSES
from mptcplab.advice.traffic import KINDS
from mptcplab.engines.catalogue import ENGINES
from mptcplab.lab import exports

_PAGE: Final = re.compile(r"[A-Za-z0-9-]{1,40}")
_ORIGIN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_LONGEST_WINDOW_S: Final = 60.0
_LEAST_BUDGET: Final = 0.001
WORK: Final = ("read", "run", "packets", "why", "advise")
"""The kinds of work whose answers come with progress; `export` answers with a file."""


class BadRequestError(Exception):
    """A request that makes no sense; `status` is that of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for work."""

    page: str
    """Which page asks; pages take turns."""
    task: dict[str, Any]
    engine: str


async def body(request: Request, most: int) -> dict[str, Any]:
    """The body of a request, a JSON object of at most `most` bytes. Raises BadRequestError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequestError(415, "a request must be JSON, with content-type application/json")
    held = bytearray()
    try:
        async for part in request.stream():
            held += part
            if len(held) > most:
                raise BadRequestError(413, f"a request may have at most {most} bytes")
    except ClientDisconnect:
        raise BadRequestError(400, "the request is not complete") from None
    try:
        value = json.loads(held, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadRequestError(400, "the request has half of a surrogate pair, which is no text") from None
    except (ValueError, RecursionError):
        raise BadRequestError(400, "the request is not JSON") from None
    if not isinstance(value, dict):
        raise BadRequestError(400, "a request must be a JSON object")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def asked(kind: str, given: dict[str, Any], opened: str | None) -> Asked:
    """The work of a request. Raises BadRequestError."""
    page, text, data, origin = (given.get(name) for name in ("page", "text", "data", "origin"))
    if not isinstance(page, str) or not _PAGE.fullmatch(page):
        raise BadRequestError(400, "page: a name of letters, digits and '-' is needed")
    if not isinstance(text, str):
        raise BadRequestError(400, "text: expected the text of the scenario")
    if data is not None and not isinstance(data, dict):
        raise BadRequestError(400, "data: an object, or null when nothing was changed since the text was written")
    if origin is not None and not (isinstance(origin, str) and _ORIGIN.fullmatch(origin)):
        raise BadRequestError(400, "origin: the name of a ready-made scenario, or null")
    engine = _choice(given, "engine", tuple(ENGINES), "sim")
    task: dict[str, Any] = {"kind": kind, "text": text, "data": data, "origin": origin, "opened": opened}
    if kind == "packets":
        task |= {"from_s": _number(given, "from_s", 0.0, 1e7), "for_s": _number(given, "for_s", 0.0, _LONGEST_WINDOW_S)}
    elif kind == "why":
        task |= {"at_s": _number(given, "at_s", 0.0, 1e7), "connection": _connection(given)}
    elif kind == "advise":
        task["options"] = _advice_options(given)
    elif kind == "export":
        task["export"] = _choice(given, "export", exports.KINDS, None)
        task["figure"] = _choice(given, "figure", exports.FIGURES, exports.FIGURES[0])
        task["theme"] = _choice(given, "theme", exports.THEMES, "light")
    return Asked(page, {**task, "engine": engine}, engine)


def _advice_options(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `advise`."""
    metered = given.get("metered", [])
    if not isinstance(metered, list) or not all(isinstance(name, str) for name in metered):
        raise BadRequestError(400, "metered: a list of names of paths")
    return {
        "connection": _connection(given),
        "metered": metered,
        "traffic": None if given.get("traffic") is None else _choice(given, "traffic", tuple(KINDS), None),
        "purpose": _choice(given, "purpose", PURPOSES, PURPOSES[0]),
        "prefer": _choice(given, "prefer", PREFERENCES, PREFERENCES[0]),
        "budget": _number({"budget": 1.0, **given}, "budget", _LEAST_BUDGET, 1.0),
    }


def _connection(given: dict[str, Any]) -> str | None:
    name = given.get("connection")
    if name is not None and not isinstance(name, str):
        raise BadRequestError(400, "connection: the name of a connection, or null")
    return name


def _choice(given: dict[str, Any], name: str, choices: tuple[str, ...], default: str | None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or value not in choices:
        raise BadRequestError(400, f"{name}: one of {', '.join(choices)} is needed")
    return value


def _number(given: dict[str, Any], name: str, low: float, high: float) -> float:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequestError(400, f"{name}: a number from {low:g} to {high:g} is needed")
    return float(value)
