"""All paths of this machine that were named, and what advice can make of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mptcplab.advice.errors import AdviceError
from mptcplab.probe.client import PathFound, Server, look, shared
from mptcplab.probe.stream import PORT
from mptcplab.scenario.errors import show

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class Machine:
    """What was measured."""

    paths: tuple[PathFound, ...]
    is_shared: bool | None
    """Whether the paths have one bottleneck; None for a single path."""

    def notes(self) -> list[str]:
        """What an operator should know of the paths, in sentences."""
        said = []
        for path in self.paths:
            if path.mptcp is False:
                said.append(f"{path.name}: a middlebox removes Multipath TCP options; only TCP works.")
            if path.mptcp is None:
                said.append(f"{path.name}: it is unknown whether Multipath TCP gets through: one kernel lacks it.")
            for way, words in ((path.down, "to this machine"), (path.up, "from this machine")):
                if way.burst_bytes:
                    said.append(
                        f"{path.name}: the first {way.burst_bytes / 1e3:.0f} kB or so {words} arrive faster than the "
                        "rest, as with a shaper (a token bucket) in front of the link."
                    )
                if way.rate_is_least:
                    said.append(
                        f"{path.name}: the rate {words} is at least this value, and more than the probe can send."
                    )
        if self.is_shared:
            said.append(f"{' and '.join(path.name for path in self.paths)} share a bottleneck.")
        return said

    def obstacles(self) -> list[str]:
        """Why advice on these paths would be wrong: its paths are independent, and carry Multipath TCP."""
        found = [
            f"{path.name} removes Multipath TCP options: use TCP, on the path that suits you best"
            for path in self.paths
            if path.mptcp is False
        ]
        if self.is_shared:
            names = " and ".join(path.name for path in self.paths)
            found.append(
                f"{names} share a bottleneck, which --path cannot express: describe them in a scenario file with a "
                "common link"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        paths = [path.to_dict() for path in self.paths]
        return {"paths": paths, "shared_bottleneck": self.is_shared, "notes": self.notes()}


def read_server(text: str, token: str | None) -> Server:
    """`HOST` or `HOST:PORT`. Raises AdviceError."""
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host, port = text.strip(), str(PORT)
    if not host or not port.isdecimal() or not 0 < int(port) <= _HIGHEST_PORT:
        raise AdviceError("the server", show(text), f"HOST or HOST:PORT, such as server.example:{PORT}")
    if not token:
        raise AdviceError("--token", "none", "the token that mptcplab probe --server printed")
    return Server(host, int(port), token)


def read_sources(texts: Sequence[str], least: int) -> list[tuple[str, str]]:
    """`NAME: INTERFACE` or `NAME: ADDRESS`, each a name and where it leaves. Raises AdviceError."""
    found = []
    for text in texts:
        name, colon, source = (part.strip() for part in text.partition(":"))
        if not colon or not _NAME.fullmatch(name) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", source):
            expected = 'a name and an interface or address of this machine, such as "lte: wwan0" or "lte: 10.0.0.2"'
            raise AdviceError(f"--path {show(text)}", "no path of this machine", expected)
        found.append((name, source))
    names = [name for name, _ in found]
    if len(found) < least or len(set(names)) < len(names):
        expected = f"{least} or more, with different names" if least > 1 else "one or more, with different names"
        raise AdviceError("--path", f"{len(found)} paths: {', '.join(names) or 'none'}", expected)
    return found


def measure(server: Server, sources: Sequence[tuple[str, str]], say: Callable[[str], None]) -> Machine:
    """Measure each path, then all together. Raises ProbeError."""
    paths = []
    for name, source in sources:
        say(f"{name}: measuring, about half a minute")
        paths.append(look(name, source, server))
    is_shared = None
    if len(paths) > 1:
        say("all paths at once")
        is_shared = shared([(path, source) for path, (_, source) in zip(paths, sources, strict=True)], server)
    return Machine(tuple(paths), is_shared)
