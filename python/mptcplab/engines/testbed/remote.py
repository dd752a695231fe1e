"""An agent as the controller sees it."""

import base64
import contextlib
import socket
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mptcplab import _core
from mptcplab.errors import EngineUnavailableError
from mptcplab.scenario.machines import address
from mptcplab.testbed import CHUNK_BYTES, VERSION, clock_ns, frames, key

_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 30.0
_EXCHANGES: Final = 20


class Remote:
    """A session with an agent; what it prepared is put back when the session ends."""

    def __init__(self, end: str, where: str, key_file: Path) -> None:
        """Raises EngineUnavailableError when there is no agent, or one with another key or another version."""
        self.end = end
        self.where = where
        host, port = address(where)
        settings = key.context(key_file, server=False)
        try:
            connected = socket.create_connection((host, port), _CONNECT_S)
        except OSError as error:
            raise EngineUnavailableError(
                f"no agent answers for the {end} at {where} ({error.strerror or error}); start it there: mptcplab agent"
            ) from None
        self.peer: str = connected.getpeername()[0]
        try:
            self._channel = settings.wrap_socket(connected)
            self._channel.settimeout(_ANSWER_S)
            if not key.is_ours(self._channel, key_file):
                raise ssl.SSLError("another certificate")
        except OSError:
            connected.close()
            raise EngineUnavailableError(
                f"the agent of the {end} at {where} has a different key from {key_file}, or is not an agent"
            ) from None
        try:
            # It has shown the same key, so what goes wrong from here on has other causes.
            self.about = self.ask("hello")
        except _core.SimulationError as error:
            self.close()
            raise EngineUnavailableError(str(error)) from None
        except EngineUnavailableError:
            self.close()
            raise
        if self.about.get("protocol") != VERSION:
            self.close()
            raise EngineUnavailableError(
                f"the agent of the {end} at {where} is mptcplab {self.about.get('version')}, which uses another "
                "protocol; install the same version on all machines"
            )
        self.offset_ns, self.uncertainty_ns = self._offset()

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """The agent's answer. Raises EngineUnavailableError when it refuses, SimulationError when it is gone."""
        try:
            self._channel.sendall(frames.encode({"do": do, **fields}))
            answer = frames.read(self._channel.recv, frames.LARGEST_ANSWER)
        except (OSError, frames.ProtocolError) as error:
            raise _core.SimulationError(
                f"lost the connection to the agent of the {self.end} at {self.where}: {error}"
            ) from None
        if answer is None:
            raise _core.SimulationError(f"the agent of the {self.end} at {self.where} ended the session")
        if answer.get("refused") is not None:
            raise EngineUnavailableError(f"the {self.end} at {self.where}: {answer['refused']}")
        return answer

    def fetch(self, name: str, file: Path) -> None:
        """Copy a capture."""
        offset = 0
        with file.open("wb") as out:
            while True:
                data = base64.b64decode(self.ask("fetch", name=name, offset=offset)["data"])
                out.write(data)
                offset += len(data)
                if len(data) < CHUNK_BYTES:
                    return

    def _offset(self) -> tuple[int, int]:
        """The agent's clock minus this machine's, and by how much that may be wrong at most.

        Of several exchanges the quickest: the agent read its clock between sending and receiving here, so half the time
        between is the most that the middle can be off.
        """
        best = (0, 1 << 62)
        for _ in range(_EXCHANGES):
            sent_ns = clock_ns()
            theirs_ns = int(self.ask("clock")["now_ns"])
            received_ns = clock_ns()
            half_ns = (received_ns - sent_ns) // 2
            if half_ns < best[1]:
                best = (theirs_ns - (sent_ns + half_ns), half_ns)
        return best

    def close(self) -> None:
        """End the session; the agent puts everything back."""
        with contextlib.suppress(OSError):
            self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
