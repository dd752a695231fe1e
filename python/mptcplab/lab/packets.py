"""What packets tell that samples do not: how they move, what waits at the receiver for earlier data, and the handshake.

The run is made once more with its packets captured, which changes none of its numbers.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core, files
from mptcplab.capture.settings import Capture
from mptcplab.engines import runner
from mptcplab.lab import acks, capture_files, handshake
from mptcplab.lab.limits import Limits
from mptcplab.scenario import describe
from mptcplab.scenario.beginning import beginning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mptcplab.scenario import Scenario

_Place = tuple[int, int, int, int]
"""Where data belong: connection, direction, subflow, offset in the stream."""

_LISTENED: Final = 1024
"""The port of the first kind of connection; each has one."""
_FIRST: Final = 20_000
"""How many packets of an interface the handshake is looked for in."""
_FIRST_OF_KIND: Final = 60
"""How many of those are read for each kind of connection."""
_SHOWN: Final = 24
_SNAP: Final = 100


def look(
    scenario: "Scenario", from_s: float, for_s: float, limits: Limits, progress: Callable[[float], None]
) -> dict[str, Any]:
    """Packets sent in a window of time, waiting data and handshakes; `until_s` is where a long run was cut."""
    duration_s = scenario.duration_ns / 1e9
    runner.captures("sim", scenario)
    whole = runner.run(scenario, progress=lambda part: progress(part / 4))
    sent = sum(row["segments_sent"] for row in whole.rows("subflows"))
    until_s = duration_s
    if sent > limits.captured:
        until_s = duration_s * limits.captured / sent
        scenario = beginning(scenario, until_s) or scenario
    with files.scratch("mptcplab-lab-") as folder:
        runner.run(scenario, capture=Capture(Path(folder), _SNAP), progress=lambda part: progress(0.25 + part / 4))
        recorded = sorted(Path(folder).glob("*.pcapng"))
        analysis = _core.analyze(recorded)
        progress(0.75)
        summary = json.loads(analysis["summary"])
        paths = [name.split("-", 1)[1] for name in summary["interfaces"]]
        names = list(scenario.document.connections)
        connections = [_connection(each, paths, names) for each in summary["connections"]]
        ends = capture_files.ends(Path(folder), _paths(scenario))
        shaken = _handshakes(ends, names)
        offset_s = (summary["start_ns"] or 0) / 1e9
        moving = _moving(analysis, connections, offset_s, (from_s, from_s + for_s), limits)
        ports = {_LISTENED + kind: name for kind, name in enumerate(names)}
        window = (moving["from_s"], moving["to_s"])
        alone = acks.moving(ends, ports, window, _rewritten(scenario), limits.packets)
    sample_ns = scenario.document.measure.sample or scenario.duration_ns // 300 or 1
    return {
        "until_s": until_s,
        "packets": _together(moving, alone),
        "waiting": _waiting(analysis["received"], connections, offset_s, sample_ns / 1e9),
        "handshakes": shaken,
    }


def _paths(scenario: "Scenario") -> list[str]:
    """The paths in the order in which the core numbers them."""
    description: dict[str, Any] = describe.description(scenario.document, scenario.seed, False)
    return [path["name"] for path in description["paths"]]


def _rewritten(scenario: "Scenario") -> frozenset[str]:
    """The paths with a middlebox."""
    told: dict[str, Any] = describe.description(scenario.document, scenario.seed, False)
    boxed = [bool(link["middleboxes"]) for link in told["links"]]
    return frozenset(path["name"] for path in told["paths"] if any(boxed[link] for link in path["links"]))


def _together(data: dict[str, Any], alone: dict[str, list[Any]]) -> dict[str, Any]:
    """Packets with and without data, in the order in which they were sent."""
    sent = [*data["sent"], *alone["sent"]]
    order = sorted(range(len(sent)), key=sent.__getitem__)
    columns = {name: [*data[name], *values] for name, values in alone.items()}
    return data | {name: [values[at] for at in order] for name, values in columns.items()}


def _connection(found: Mapping[str, Any], paths: list[str], names: list[str]) -> dict[str, Any]:
    kind = int(found["server"].rsplit(":", 1)[1]) - _LISTENED
    return {
        "name": names[kind] if 0 <= kind < len(names) else found["server"],
        "paths": [paths[each["seen_at"][0]] if each["seen_at"] else "" for each in found["subflows"]],
    }


def _moving(
    analysis: "_core.CaptureAnalysis",
    connections: list[dict[str, Any]],
    offset_s: float,
    window: tuple[float, float],
    limits: Limits,
) -> dict[str, Any]:
    """Each data packet that was sent in the window, with its arrival; none where it was lost."""
    sent, received = analysis["sent"], analysis["received"]
    first, last = (edge - offset_s for edge in window)
    chosen = ((sent["time_s"] >= first) & (sent["time_s"] < last)).nonzero()[0]
    cut = len(chosen) > limits.packets
    chosen = chosen[: limits.packets]
    after = (received["time_s"] >= first).nonzero()[0]
    arrivals: dict[_Place, list[float]] = {}
    for time_s, place in zip(received["time_s"][after].tolist(), _places(received, after), strict=True):
        arrivals.setdefault(place, []).append(time_s)
    packets: dict[str, list[Any]] = {name: [] for name in ("sent", "arrived", "connection", "path", "down", "kind")}
    times, notes = sent["time_s"][chosen].tolist(), sent["note"][chosen].tolist()
    # The last sent first: of several copies an arrival is of the latest that was sent before it.
    for sent_s, note, place in reversed(list(zip(times, notes, _places(sent, chosen), strict=True))):
        later = arrivals.get(place, [])
        at = next((number for number, time_s in enumerate(later) if time_s > sent_s), None)
        who, direction, subflow, _ = place
        packets["sent"].append(sent_s + offset_s)
        packets["arrived"].append(None if at is None else later.pop(at) + offset_s)
        packets["connection"].append(connections[who]["name"])
        packets["path"].append(connections[who]["paths"][subflow])
        packets["down"].append(direction == 1)
        packets["kind"].append(note)
    until = float(sent["time_s"][chosen[-1]]) + offset_s if cut else window[1]
    return {"from_s": window[0], "to_s": until, **{name: values[::-1] for name, values in packets.items()}}


def _places(segments: "_core.CaptureSegments", rows: "NDArray[np.intp]") -> "list[_Place]":
    columns = (segments["connection"], segments["direction"], segments["subflow"], segments["offset"])
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def _waiting(
    received: "_core.CaptureSegments", connections: list[dict[str, Any]], offset_s: float, step_s: float
) -> list[dict[str, Any]]:
    """By connection's name, the most bytes in each interval that had arrived and waited for earlier ones.

    Transfers of one name, one after another or at the same time, are one line, of their sum.
    """
    fronts: dict[int, int] = {}
    arrived: dict[int, int] = {}
    early: dict[int, list[tuple[int, int]]] = {}
    most: dict[int, dict[int, int]] = {}
    columns = (received["connection"], received["offset"], received["length"], received["note"])
    times = received["time_s"].tolist()
    for time_s, who, offset, length, new in zip(times, *(column.tolist() for column in columns), strict=True):
        if not new:
            continue
        front = fronts.get(who, 0)
        held = early.setdefault(who, [])
        arrived[who] = arrived.get(who, 0) + new
        if offset <= front:
            front = max(front, offset + length)
            while held and held[0][0] <= front:
                front = max(front, heappop(held)[1])
            fronts[who] = front
        else:
            heappush(held, (offset, offset + length))
        step = int((time_s + offset_s) / step_s)
        of = most.setdefault(who, {})
        of[step] = max(of.get(step, 0), arrived[who] - front)
    sums: dict[str, Counter[int]] = {}
    for who, steps in most.items():
        sums.setdefault(connections[who]["name"], Counter()).update(steps)
    lines = []
    for name, steps in list(sums.items())[:48]:
        last = max(steps)
        lines.append(
            {
                "connection": name,
                "time_s": [(step + 1) * step_s for step in range(last + 1)],
                "waiting_bytes": [steps.get(step, 0) for step in range(last + 1)],
            }
        )
    return lines


def _handshakes(files: Mapping[str, tuple[Path, Path]], names: list[str]) -> list[dict[str, Any]]:
    """Of each connection, its first packets that say something: as sent and, where it differs, as arrived."""
    messages: list[dict[str, Any]] = []
    for path, (client, server) in files.items():
        messages += _exchanged(path, _first(client), _first(server))
    messages.sort(key=lambda message: message["sent_s"])
    shown = []
    for kind, name in enumerate(names):
        own = [message for message in messages if message["port"] == _LISTENED + kind]
        callers = list(dict.fromkeys(m["caller"] for m in own if m["up"] and m["flags"] == ["SYN"]))
        shown.append({"connection": name, "messages": _telling(own)[:_SHOWN], "subflows": len(callers)})
    return shown


def _first(file: Path) -> list[dict[str, Any]]:
    """The first packets of each kind of connection."""
    counts: Counter[int] = Counter()
    read = []
    for time_s, data in capture_files.packets(file, _FIRST):
        found = handshake.packet(data)
        if found is None:
            continue
        kind = min(_port(found["from"]), _port(found["to"]))
        counts[kind] += 1
        if counts[kind] <= _FIRST_OF_KIND:
            read.append({"time_s": time_s, **found})
    return read


def _exchanged(path: str, client: list[dict[str, Any]], server: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for up, leaving, arriving in ((True, client, server), (False, server, client)):
        port, other = ("to", "from") if up else ("from", "to")
        rest = [each for each in arriving if _is_listened(each[port])]
        for each in leaving:
            if not _is_listened(each[port]):
                continue
            same = next(
                (
                    number
                    for number, late in enumerate(rest)
                    if late["time_s"] >= each["time_s"]
                    and late["flags"] == each["flags"]
                    and late["bytes"] == each["bytes"]
                    and _port(late[port]) == _port(each[port])
                ),
                None,
            )
            got = None if same is None else rest.pop(same)
            found.append(
                {
                    "path": path,
                    "up": up,
                    "port": _port(each[port]),
                    "caller": each[other],
                    "sent_s": each["time_s"],
                    "arrived_s": None if got is None else got["time_s"],
                    "flags": each["flags"],
                    "bytes": each["bytes"],
                    "options": each["options"],
                    "arrived_options": None if got is None or got["options"] == each["options"] else got["options"],
                }
            )
    return found


def _telling(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what only carries data: of that the first packet on each path, and its acknowledgment."""
    chosen = []
    seen: set[tuple[str, bool]] = set()
    for message in messages:
        speaks = any(option.startswith(("MP_", "ADD_", "REMOVE_")) for option in message["options"])
        key = (message["path"], message["up"])
        plain_first = not speaks and "SYN" not in message["flags"] and key not in seen
        if plain_first:
            seen.add(key)
        if speaks or plain_first or "SYN" in message["flags"] or "RST" in message["flags"]:
            chosen.append(message)
    return chosen


def _is_listened(end: str) -> bool:
    return _port(end) < 49152


def _port(end: str) -> int:
    return int(end.rsplit(":", 1)[1])
