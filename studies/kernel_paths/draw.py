"""Configurations of `ip mptcp` at both ends, drawn at random, each with its network and what happens to addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mptcplab.scenario.endpoints import Endpoint, HostLimits, Limits, described

DURATION_S: Final = 4
FLAGS_OF_CLIENTS: Final = (
    *(("subflow",),) * 6,
    ("subflow", "backup"),
    *(("subflow", "fullmesh"),) * 2,
    ("subflow", "fullmesh", "backup"),
    ("fullmesh",),
    ("signal",),
    ("signal", "subflow"),
    ("backup",),
)
FLAGS_OF_SERVERS: Final = (
    *(("signal",),) * 6,
    *(("signal", "backup"),) * 2,
    ("subflow",),
    ("signal", "subflow"),
    ("subflow", "fullmesh"),
)


@dataclass(frozen=True)
class Case:
    """One configuration."""

    number: int
    paths: int
    endpoints: tuple[Endpoint, ...]
    limits: Limits
    goes: tuple[tuple[int, float, float | None], ...]
    """Addresses of the client that go: the path, when, and when they come back."""

    def told(self, kernel: str) -> dict[str, Any]:
        """What both ends are told."""
        return described(self.endpoints, self.limits, [str(path) for path in range(self.paths)], kernel)

    def text(self) -> str:
        """For people."""
        lines = [f"case {self.number}: {self.paths} paths"]
        for host in ("client", "server"):
            limits: HostLimits = getattr(self.limits, host)
            flag_c = "" if limits.allow_join_initial_addr_port else ", allow_join_initial_addr_port 0"
            lines.append(f"  {host}: subflows {limits.subflows}, add_addr_accepted {limits.add_addr_accepted}{flag_c}")
            lines += [
                f"    endpoint path {each.path} {' '.join(each.flags)}" + (f" port {each.port}" if each.port else "")
                for each in self.endpoints
                if each.host == host
            ]
        lines += [f"  address of path {path} goes at {at} s, back {back}" for path, at, back in self.goes]
        return "\n".join(lines)


def case(number: int, *, events: bool) -> Case:
    """The configuration of this number."""
    draw = Random(number)
    paths = draw.choice((1, 2, 2, 3, 3, 4))
    endpoints = []
    places = [place for place in range(paths) if draw.random() < (0.35 if place == 0 else 0.8)]
    draw.shuffle(places)
    endpoints += [_endpoint("client", place, _flags(draw, FLAGS_OF_CLIENTS)) for place in places]
    for place in _server_places(draw, paths):
        flags = _flags(draw, FLAGS_OF_SERVERS)
        has_port = place is not None and "subflow" not in flags and draw.random() < 0.15
        endpoints.append(_endpoint("server", place, flags, 7777 if has_port else None))
    limits = Limits.model_validate({"client": _limits(draw), "server": _limits(draw, flag_c=0.12)})
    goes = _goes(draw, paths) if events else ()
    return Case(number, paths, tuple(endpoints), limits, goes)


def _endpoint(host: str, place: int | None, flags: tuple[str, ...], port: int | None = None) -> Endpoint:
    table: dict[str, object] = {"host": host, "flags": list(flags)}
    if place is not None:
        table["path"] = str(place)
    if port is not None:
        table["port"] = port
    return Endpoint.model_validate(table)


def _flags(draw: Random, of: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return draw.choice(of)


def _server_places(draw: Random, paths: int) -> list[int | None]:
    found: list[int | None] = [place for place in range(paths) if draw.random() < (0.15 if place == 0 else 0.35)]
    if draw.random() < 0.2:
        found.append(None)
    draw.shuffle(found)
    return found


def _limits(draw: Random, flag_c: float = 0.0) -> dict[str, object]:
    return {
        "subflows": draw.choice((0, 1, 2, 2, 2, 3, 4, 8)),
        "add_addr_accepted": draw.choice((0, 0, 1, 1, 2, 4, 8)),
        "allow_join_initial_addr_port": draw.random() >= flag_c,
    }


def _goes(draw: Random, paths: int) -> tuple[tuple[int, float, float | None], ...]:
    found = []
    for place in range(paths):
        if draw.random() < 0.4:
            at = draw.choice((1.0, 1.3, 1.3))
            found.append((place, at, draw.choice((None, 2.0, 2.5))))
    return tuple(found)
