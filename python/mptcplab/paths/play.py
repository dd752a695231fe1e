"""The transport's own path managers, played on a scenario's network with hardly any traffic.

There is no second copy of their rules: a simulation of some seconds, without loss, in which each connection sends
little, and of which the captures tell what happened.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core, files
from mptcplab.paths.seen import Seen, read

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

_RATE_BPS: Final = 100_000
_AFTER_NS: Final = 3_000_000_000
"""How long it goes on after the last event."""
_ROUND_TRIPS: Final = 20
_SNAP_BYTES: Final = 128
_MOST_EVENTS_NS: Final = 600_000_000_000
"""Later events are not played."""


@dataclass(frozen=True)
class Opened:
    """What became of one connection."""

    name: str
    paths: tuple[str, ...]
    told: Mapping[str, Any] | None
    """What the path manager `linux` was told; None for another one."""
    manager: str
    seen: Seen


def play(scenario: "Scenario") -> list[Opened]:
    """What the scenario's connections of Multipath TCP open, in the order of the file.

    Raises UnsupportedError for what the simulator cannot run.
    """
    description = scenario.description()
    return [_played(description, each) for each in description["connections"] if each["protocol"] == "mptcp"]


def _played(description: Mapping[str, Any], connection: Mapping[str, Any]) -> Opened:
    paths = [description["paths"][path] for path in connection["paths"]]
    with files.scratch("mptcplab-paths-") as place:
        with files.named_by_core(place):
            quiet = json.dumps(_quiet(description, connection, paths))
            _core.simulate(quiet, None, capture=place, snap_length=_SNAP_BYTES)
        seen = read([place / f"client-{number}.pcapng" for number in range(len(paths))])
    manager = connection["path_manager"]
    names = tuple(path["name"] for path in paths)
    named = str(manager.get("plugin", manager["name"]))
    return Opened(connection["name"], names, connection.get("kernel_paths"), named, seen)


def _quiet(
    description: Mapping[str, Any], connection: Mapping[str, Any], paths: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The description of one connection alone, with little traffic and no loss; paths are called by their number."""
    links = [
        {**link, **{way: {**link[way], "loss": {"kind": "none"}} for way in ("down", "up")}}
        for link in description["links"]
    ]
    alone = {
        **connection,
        "count": 1,
        "paths": list(range(len(paths))),
        "application": {"kind": "rate", "rate_bps": _RATE_BPS},
        "start_ns": [0, 0],
        "stop_ns": None,
    }
    events = [
        {**event, "set": {**event["set"], "loss": None}}
        for event in description["events"]
        if event["at_ns"] <= _MOST_EVENTS_NS
    ]
    last_ns = max((event["at_ns"] for event in events), default=0)
    rtt_ns = 2 * max(
        sum(max(links[link][way]["delay_ns"] for way in ("down", "up")) for link in path["links"]) for path in paths
    )
    return {
        **description,
        "duration_ns": last_ns + max(_AFTER_NS, _ROUND_TRIPS * rtt_ns),
        "warmup_ns": 0,
        "sample_ns": None,
        "links": links,
        "paths": [{**path, "name": str(number)} for number, path in enumerate(paths)],
        "connections": [alone],
        "events": events,
    }
