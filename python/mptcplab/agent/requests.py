"""What a controller may ask of an agent: these operations with these fields, and nothing else."""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mptcplab.testbed import is_interface_name
from mptcplab.testbed.frames import ProtocolError

LONGEST_NS: Final = 4 * 3600 * 10**9
"""The longest run."""
MOST_CONNECTIONS: Final = 1000
MOST_INTERFACES: Final = 16
_CONTROL_NAME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")

End = Literal["client", "server"]


@dataclass(frozen=True)
class Shaping:
    """A token bucket in front of what an interface sends."""

    rate_bps: int
    burst_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class Prepare:
    """Make this machine one end of a run."""

    end: End
    interfaces: tuple[str, ...]
    """The client's by path; the server's, where any are named."""
    shaping: Mapping[str, Shaping]
    server: str
    """The server's address, as the client calls it."""
    joining: tuple[str, ...]
    """The client's interfaces from which further subflows come."""
    backup: bool
    subflows: int
    parameters: Mapping[str, str | int]
    """Some of `PARAMETERS`."""


@dataclass(frozen=True)
class ProgramOfEnd:
    """The program of this end of one kind of connection."""

    kind: int
    words: tuple[str, ...]
    files: Mapping[str, int]
    mptcpize: bool


@dataclass(frozen=True)
class Play:
    """Play this end of a run."""

    description: dict[str, Any]
    """Complete, as the core reads it; checked there."""
    token: list[int]
    zero_ns: int
    hosts: list[dict[str, Any]]
    """Of each kind of connection; checked by the core."""
    own: tuple[int, ...]
    """Kinds of connections that the core plays; the others are programs."""
    programs: tuple[ProgramOfEnd, ...]
    snap_length: int | None
    """Bytes kept of each captured packet, 0 for all; None: nothing is captured."""
    capture_on: tuple[str, ...]


@dataclass(frozen=True)
class Fetch:
    """Hand over a part of a capture."""

    name: str
    offset: int


@dataclass(frozen=True)
class Simple:
    """An operation without fields: `hello`, `clock`, `status`, `result`, `release`."""

    do: str


Request = Prepare | Play | Fetch | Simple

PARAMETERS: Final = (
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_no_metrics_save",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/mptcp/checksum_enabled",
    "net/mptcp/enabled",
)
"""The kernel parameters that a run may set; they are put back after it."""


def parse(message: Mapping[str, Any]) -> Request:
    """The operation that a message asks for. Raises ProtocolError."""
    do = message.get("do")
    if do in ("hello", "clock", "status", "result", "release"):
        _Fields(message, ()).done()
        return Simple(str(do))
    if do == "prepare":
        return _prepare(message)
    if do == "play":
        return _play(message)
    if do == "fetch":
        fields = _Fields(message, ("name", "offset"))
        return Fetch(fields.text("name", 64), fields.whole("offset", 0, 1 << 40))
    raise ProtocolError("an unknown operation")


def _prepare(message: Mapping[str, Any]) -> Prepare:
    names = ("end", "interfaces", "shaping", "server", "joining", "backup", "subflows", "parameters")
    fields = _Fields(message, names)
    interfaces = fields.interfaces("interfaces")
    shaping = {}
    for name, each in fields.table("shaping").items():
        inner = _Fields(each, ("rate_bps", "burst_bytes", "limit_bytes"), do=False)
        if name not in interfaces:
            raise ProtocolError("shaping of an interface that is not listed")
        shaping[name] = Shaping(
            inner.whole("rate_bps", 1, 10**12),
            inner.whole("burst_bytes", 0, 10**9),
            inner.whole("limit_bytes", 0, 4 * 10**9),
        )
    parameters: dict[str, str | int] = {}
    for name, value in fields.table("parameters").items():
        number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
        words = isinstance(value, str) and len(value) <= 64 and set(value) <= _CONTROL_NAME | {" "}
        if name not in PARAMETERS or not (number or words):
            raise ProtocolError("a kernel parameter that a run may not set, or an invalid value")
        parameters[name] = value
    joining = fields.interfaces("joining")
    if not set(joining) <= set(interfaces):
        raise ProtocolError("a further subflow from an interface that is not listed")
    end = fields.of("end", lambda value: value in ("client", "server"))
    return Prepare(
        end=end,
        interfaces=interfaces,
        shaping=shaping,
        server=fields.of("server", _is_address),
        joining=joining,
        backup=fields.of("backup", lambda value: isinstance(value, bool)),
        subflows=fields.whole("subflows", 0, 8),
        parameters=parameters,
    )


def _play(message: Mapping[str, Any]) -> Play:
    names = ("description", "token", "zero_ns", "hosts", "own", "programs", "snap_length", "capture_on")
    fields = _Fields(message, names)
    description = fields.table("description")
    duration_ns, kinds = description.get("duration_ns"), description.get("connections")
    if not _is_whole(duration_ns, 1, LONGEST_NS) or not isinstance(kinds, list) or not kinds:
        raise ProtocolError(f"an invalid run, or one longer than {LONGEST_NS // 10**9} s")
    counts: list[Any] = [kind.get("count") if isinstance(kind, dict) else None for kind in kinds]
    if not all(_is_whole(count, 1, MOST_CONNECTIONS) for count in counts) or sum(counts) > MOST_CONNECTIONS:
        raise ProtocolError(f"more than {MOST_CONNECTIONS} connections, or an invalid count")
    token, hosts, own = (fields.items(name) for name in ("token", "hosts", "own"))
    if len(token) != 16 or not all(_is_whole(byte, 0, 255) for byte in token):
        raise ProtocolError("an invalid token")
    if len(hosts) != len(kinds) or not all(isinstance(host, dict) for host in hosts):
        raise ProtocolError("an invalid list of hosts")
    if not all(_is_whole(kind, 0, len(kinds) - 1) for kind in own):
        raise ProtocolError("an invalid kind of connection")
    snap_length = message.get("snap_length")
    if snap_length is not None and not _is_whole(snap_length, 0, 1 << 18):
        raise ProtocolError("an invalid snap length")
    return Play(
        description=description,
        token=token,
        zero_ns=fields.whole("zero_ns", 0, 1 << 63),
        hosts=hosts,
        own=tuple(own),
        programs=tuple(_program(each, len(kinds)) for each in fields.items("programs")),
        snap_length=snap_length,
        capture_on=fields.interfaces("capture_on"),
    )


def _program(value: object, kinds: int) -> ProgramOfEnd:
    fields = _Fields(value, ("kind", "words", "files", "mptcpize"), do=False)
    words, files = fields.items("words"), fields.table("files")
    if not words or len(words) > 256 or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise ProtocolError("an invalid command")
    for name, size in files.items():
        if "/" in name or name in ("", ".", "..") or "\0" in name or not _is_whole(size, 0, 10**12):
            raise ProtocolError("an invalid file name or size")
    return ProgramOfEnd(
        kind=fields.whole("kind", 0, kinds - 1),
        words=tuple(words),
        files=files,
        mptcpize=fields.of("mptcpize", lambda flag: isinstance(flag, bool)),
    )


@dataclass
class _Fields:
    """The fields of an object, each taken once with its kind; unknown ones are refused."""

    value: Any
    names: tuple[str, ...]
    do: bool = True
    _known: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.value, Mapping):
            raise ProtocolError("a value that is not an object")
        self._known = dict(self.value)
        if self.do:
            self._known.pop("do")
        if set(self._known) != set(self.names):
            raise ProtocolError("unknown or missing fields")

    def done(self) -> None:
        """There are no others."""

    def of(self, name: str, accept: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - JSON
        value = self._known[name]
        try:
            good = accept(value)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ProtocolError(f"an invalid value of {name}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        value: int = self.of(name, lambda value: _is_whole(value, low, high))
        return value

    def text(self, name: str, longest: int) -> str:
        value: str = self.of(name, lambda value: isinstance(value, str) and 0 < len(value) <= longest)
        return value

    def items(self, name: str) -> list[Any]:
        value: list[Any] = self.of(name, lambda value: isinstance(value, list) and len(value) <= MOST_CONNECTIONS)
        return value

    def table(self, name: str) -> dict[str, Any]:
        value: dict[str, Any] = self.of(name, lambda value: isinstance(value, dict) and len(value) <= MOST_CONNECTIONS)
        return value

    def interfaces(self, name: str) -> tuple[str, ...]:
        value = self.items(name)
        if len(value) > MOST_INTERFACES or not all(is_interface_name(each) for each in value):
            raise ProtocolError(f"an invalid value of {name}")
        return tuple(value)


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_address(value: object) -> bool:
    return isinstance(value, str) and bool(ipaddress.ip_address(value))
