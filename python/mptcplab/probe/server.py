"""The server of a probe: it sends nothing to whoever has not said the token, and bounds what it sends to who has."""

import contextlib
import hmac
import math
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from mptcplab.probe import control, stream

_SESSIONS: Final = 4
_FIRST_LINE: Final = 4096
_GREETING_S: Final = 5.0
MOST_GREETING: Final = 64
"""Connections whose token has not come yet; one more, and the oldest goes."""
_PAUSE_S: Final = 0.05
_MOST_ARRIVALS: Final = 100_000


@dataclass
class _Session:
    """A client's."""

    name: bytes
    began: float = field(default_factory=time.monotonic)
    address: tuple[str, int] | None = None
    """Where datagrams with its name come from: only there are any sent."""
    arrivals: list[tuple[int, int, int]] = field(default_factory=list)
    sent_bytes: int = 0
    open: bool = True

    @property
    def is_over(self) -> bool:
        return not self.open or time.monotonic() - self.began > stream.LONGEST_S


class _Serving:
    def __init__(self, udp: socket.socket, token: str, *, has_mptcp: bool) -> None:
        self._udp = udp
        self._token = token
        self._has_mptcp = has_mptcp
        self._sessions: dict[bytes, _Session] = {}
        self._greeting: dict[socket.socket, None] = {}
        self._lock = threading.Lock()

    def datagrams(self, ended: Callable[[], bool]) -> None:
        """Send echoes back and keep the arrivals of streams."""
        while not ended():
            try:
                data, sender = self._udp.recvfrom(2048)
            except TimeoutError:
                continue
            except OSError:
                return
            arrived_ns = time.monotonic_ns()
            said = stream.read(data)
            session = None if said is None else self._sessions.get(said.session)
            if said is None or session is None or session.is_over:
                continue
            session.address = sender
            if said.kind == stream.ECHO:
                with contextlib.suppress(OSError):  # a port or an address that nothing can be sent to
                    self._udp.sendto(data, sender)
            elif len(session.arrivals) < _MOST_ARRIVALS:
                session.arrivals.append((said.number, said.time_ns, arrived_ns))

    def admit(self, connection: socket.socket) -> None:
        """Let it say its token; for a crowd that does not, the oldest makes room."""
        with self._lock:
            if len(self._greeting) >= MOST_GREETING:
                oldest = next(iter(self._greeting))
                del self._greeting[oldest]
                with contextlib.suppress(OSError):  # its thread sees the end, and closes it
                    oldest.shutdown(socket.SHUT_RDWR)
            self._greeting[connection] = None
        threading.Thread(target=self._client, args=(connection,), daemon=True).start()

    def _client(self, connection: socket.socket) -> None:
        """Carry out the orders of one client."""
        session = _Session(stream.new_session())
        with connection:
            lines = control.Lines(connection)
            try:
                told = lines.hear(_FIRST_LINE, _GREETING_S).get("token")
                if not isinstance(told, str) or not hmac.compare_digest(
                    told.encode("utf-8", "surrogatepass"), self._token.encode()
                ):
                    lines.say({"error": "the token is not the one that the server printed"})
                    return
                with self._lock:
                    if len(self._sessions) >= _SESSIONS:
                        lines.say({"error": f"{_SESSIONS} probes are running; try again later"})
                        return
                    self._sessions[session.name] = session
                    self._greeting.pop(connection, None)
                mptcp = control.speaks_mptcp(connection) if self._has_mptcp else None
                lines.say({"session": session.name.hex(), "mptcp": mptcp})
                while not session.is_over:
                    left_s = session.began + stream.LONGEST_S - time.monotonic()
                    lines.say(self._carried_out(lines.hear(_FIRST_LINE, left_s), session))
            except (control.ClosedError, OSError):
                pass
            finally:
                session.open = False
                with self._lock:
                    self._sessions.pop(session.name, None)
                    self._greeting.pop(connection, None)

    def _carried_out(self, order: dict[str, Any], session: _Session) -> dict[str, Any]:
        match order.get("do"):
            case "forget":
                session.arrivals = []
                return {}
            case "report":
                return {"arrivals": session.arrivals}
            case "send":
                return self._send(order, session)
        return {"error": "an order that this server does not know; are both ends of the same version?"}

    def _send(self, order: dict[str, Any], session: _Session) -> dict[str, Any]:
        rate_bps, seconds = order.get("rate_bps"), order.get("seconds")
        for value, most in ((rate_bps, stream.MOST_BPS), (seconds, 10.0)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
                return {"error": f"a stream of {rate_bps} bit/s for {seconds} s"}
        assert isinstance(rate_bps, int | float)
        assert isinstance(seconds, int | float)
        asked_bytes = math.ceil(rate_bps * seconds / 8)
        if session.address is None:
            return {"error": "no datagram has come from you: UDP is blocked on this path"}
        if session.sent_bytes + asked_bytes > stream.MOST_BYTES:
            return {"error": f"more than the {stream.MOST_BYTES / 1e6:.0f} MB of a session"}
        session.sent_bytes += asked_bytes
        sent = stream.send(self._udp, session.address, session.name, rate_bps, seconds, lambda: session.is_over)
        # The first packet of a stream is sent whole, however little was asked for.
        session.sent_bytes += max(0, sent * (stream.PAYLOAD_BYTES + stream.HEADERS_BYTES) - asked_bytes)
        return {"sent": sent}


def serve(host: str, port: int, token: str, seconds: float, ready: Callable[[int], None] | None = None) -> None:
    """Answer for so long; `ready` is told the port. Raises OSError when it cannot be listened on."""
    ends = time.monotonic() + seconds
    listener, has_mptcp = control.new_socket()
    with listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(16)
        listener.settimeout(0.2)
        udp.bind((host, listener.getsockname()[1]))
        udp.settimeout(0.2)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        serving = _Serving(udp, token, has_mptcp=has_mptcp)
        ended = threading.Event()
        reader = threading.Thread(target=serving.datagrams, args=(ended.is_set,), daemon=True)
        reader.start()
        if ready is not None:
            ready(listener.getsockname()[1])
        try:
            while time.monotonic() < ends:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                except OSError:  # the caller has gone already, or there are no descriptors: until others go
                    time.sleep(_PAUSE_S)
                    continue
                serving.admit(connection)
        finally:
            ended.set()
            reader.join()
