"""One controller's session: each request answered, everything put back at the end, however it ends."""

import base64
import logging
import platform
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.agent import LEASE_S, host, system
from mptcplab.agent.playing import Playing
from mptcplab.agent.requests import Fetch, Play, Prepare, Request, Simple, parse
from mptcplab.agent.system import Refused
from mptcplab.agent.undo import Undo
from mptcplab.testbed import CHUNK_BYTES, VERSION, clock_ns, frames
from mptcplab.testbed.frames import ProtocolError

_log = logging.getLogger("mptcplab.agent")


@dataclass(frozen=True)
class Permissions:
    """What the owner of the machine allows."""

    interfaces: Collection[str]
    """The interfaces that may be used; all when there are none."""
    programs: Collection[str]


class Session:
    """Answers requests one after another."""

    def __init__(self, permissions: Permissions, undo: Undo, port: int) -> None:
        self._permissions = permissions
        self._undo = undo
        self._port = port
        self._prepared: Prepare | None = None
        self._playing: Playing | None = None
        self._directory: Path | None = None

    def serve(self, channel: ssl.SSLSocket) -> None:
        """Until the controller goes, says nothing for the time of the lease, or does not keep to the protocol."""
        channel.settimeout(LEASE_S)
        try:
            while (message := frames.read(channel.recv, frames.LARGEST_REQUEST)) is not None:
                channel.sendall(frames.encode(self.answer(message)))
        except TimeoutError:
            _log.warning("the controller was silent for %g s", LEASE_S)
        except ProtocolError as error:
            _log.warning("the controller sent %s", error)
        except OSError as error:
            _log.warning("lost the connection to the controller: %s", error.strerror or error)
        finally:
            self.release()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What is answered to a message: fields, or `refused` with the reason. Raises ProtocolError."""
        request = parse(message)
        try:
            return {"refused": None, **self._do(request)}
        except OSError as error:
            return {"refused": str(error.strerror or error)}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # Inside what is the core's to check, or a program's.
            raise ProtocolError(f"an invalid request: {error!r}") from None

    def _do(self, request: Request) -> dict[str, Any]:
        match request:
            case Simple("hello"):
                about = host.describe(self._permissions.interfaces, self._permissions.programs)
                own = {"protocol": VERSION, "version": mptcplab.__version__, "release": platform.release()}
                return {**own, **about}
            case Simple("clock"):
                return {"now_ns": clock_ns()}
            case Simple("release"):
                return {"problems": self.release()}
            case Prepare():
                return self._prepare(request)
            case Play():
                return self._play(request)
        if self._playing is None:
            raise Refused("there is no run")
        match request:
            case Simple("status"):
                return self._playing.status()
            case Simple("result"):
                return self._playing.result()
            case Fetch(name, offset):
                return self._fetch(name, offset)
        raise AssertionError(f"no answer to {request}")

    def _prepare(self, asked: Prepare) -> dict[str, Any]:
        if self._prepared is not None:
            raise Refused("this machine is prepared already; release it first")
        self._prepared = asked
        return host.prepare(asked, self._undo, self._permissions.interfaces)

    def _play(self, asked: Play) -> dict[str, Any]:
        if self._prepared is None or self._playing is not None:
            raise Refused("a machine runs once, and only after it has been prepared")
        if not set(asked.capture_on) <= set(self._prepared.interfaces):
            raise Refused("captures are possible only on the interfaces of the run")
        self._directory = system.directory()
        self._undo.add(kind="directory", path=str(self._directory))
        self._directory.mkdir(mode=0o711)  # programs have their places in it
        programs = self._permissions.programs
        self._playing = Playing(asked, self._prepared, programs, self._directory, self._port)
        return {}

    def _fetch(self, name: str, offset: int) -> dict[str, Any]:
        if self._playing is None or self._directory is None or name not in self._playing.captures.stop():
            raise Refused(f"there is no capture {name!r}")
        with (self._directory / name).open("rb") as file:
            file.seek(offset)
            data = file.read(CHUNK_BYTES)
        return {"data": base64.b64encode(data).decode("ascii")}

    def release(self) -> list[str]:
        """Stop what is running and restore everything; returns what could not be restored."""
        if self._playing is not None:
            self._playing.close()
        self._playing = self._prepared = self._directory = None
        problems = self._undo.put_back()
        for problem in problems:
            _log.error("not put back: %s", problem)
        return problems
