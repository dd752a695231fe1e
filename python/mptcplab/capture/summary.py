"""The summary of an analysis: what was captured, over which paths it went, and which connections fared worst."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mptcplab.capture.quantities import MISSING, amount, duration, percent
from mptcplab.render.text_tables import Field, Table

if TYPE_CHECKING:
    from mptcplab.capture.analysis import Analysis

WORST: Final = 3
"""How many connections each list of the worst has, unless asked for more."""
LARGEST: Final = 10

Row = Mapping[str, Any]


def tables(analysis: "Analysis", top: int = WORST) -> tuple[Table, ...]:
    """The whole, the paths, the largest connections, the worst `top` by silence, reinjections and retransmissions."""
    connections = analysis.summary["connections"]
    several = [_whole(analysis.summary), _paths(connections), _largest(connections, max(top, LARGEST))]
    if len(connections) > 1:
        several += [table for table in _worst(connections, top) if table.length]
    return tuple(several)


def _whole(summary: Row) -> Table:
    connections = summary["connections"]
    kinds: dict[str, int] = {}
    for connection in connections:
        kinds[protocol(connection)] = kinds.get(protocol(connection), 0) + 1
    carried = {way: sum(_stream(connection, way)["bytes"] for connection in connections) for way in ("up", "down")}
    cells = {
        "connections": str(len(connections)),
        **{name: str(count) for name, count in sorted(kinds.items())},
        "back to TCP": str(sum(connection["fallback"] is not None for connection in connections)),
        "subflows": str(sum(len(connection["subflows"]) for connection in connections)),
        "reset": str(sum(_resets(connection) > 0 for connection in connections)),
        "up": amount(carried["up"], "B"),
        "down": amount(carried["down"], "B"),
        "time": duration(summary["duration_s"]),
    }
    return Table("Summary", tuple(Field(header, "", (cell,), "number") for header, cell in cells.items()))


def _paths(connections: Sequence[Row]) -> Table:
    """By the pairs of addresses that subflows run between."""
    paths: dict[tuple[str, str], dict[str, int]] = {}
    shortest: dict[tuple[str, str], list[float]] = {}
    for connection in connections:
        for subflow in connection["subflows"]:
            ends = host(subflow["client"]), host(subflow["server"])
            path = paths.setdefault(ends, dict.fromkeys(("subflows", "up", "down", "sent", "again", "reinjected"), 0))
            path["subflows"] += 1
            rtts = shortest.setdefault(ends, [])
            rtts += [subflow["handshake_rtt_s"]] if subflow["handshake_rtt_s"] is not None else []
            for flow in subflow["flows"]:
                path[flow["direction"]] += flow["bytes"]
                path["sent"] += flow["segments_sent"]
                path["again"] += flow["retransmissions"]
                path["reinjected"] += flow["reinjections"]
                rtts += [flow["rtt"]["min_s"]] if flow["rtt"] is not None else []
    whole = {way: sum(path[way] for path in paths.values()) for way in ("up", "down")}
    ordered = sorted(paths.items(), key=lambda item: -item[1]["up"] - item[1]["down"])[: 2 * LARGEST]

    def share(way: str) -> list[str]:
        return [percent(_ratio(path[way], whole[way])) for _, path in ordered]

    fields = (
        _text("client", [client for (client, _), _ in ordered]),
        _text("server", [server for (_, server), _ in ordered]),
        _cells("subflows", [str(path["subflows"]) for _, path in ordered]),
        _cells("up", [amount(path["up"], "B") for _, path in ordered]),
        _cells("share", share("up"), 2, unit="up"),
        _cells("down", [amount(path["down"], "B") for _, path in ordered]),
        _cells("share", share("down"), 2, unit="down"),
        _cells("shortest", [duration(min(shortest[ends], default=None)) for ends, _ in ordered], 1, unit="RTT"),
        _cells("sent again", [percent(_ratio(path["again"], path["sent"])) for _, path in ordered], 3),
        _cells("reinjected", [percent(_ratio(path["reinjected"], path["sent"])) for _, path in ordered], 3),
    )
    return Table("Paths", fields)


def _largest(connections: Sequence[Row], most: int) -> Table:
    def carried(item: tuple[int, Row]) -> int:
        return sum(stream["bytes"] for stream in item[1]["streams"])

    rows = sorted(enumerate(connections), key=lambda item: (-carried(item), item[0]))[:most]
    rows.sort()
    main = [max(connection["streams"], key=lambda stream: stream["bytes"]) for _, connection in rows]
    fields = [
        _text("connection", [str(number) for number, _ in rows]),
        _text("protocol", [protocol(connection) for _, connection in rows]),
        _text("client", [connection["client"] for _, connection in rows]),
        _text("server", [connection["server"] for _, connection in rows]),
        _cells("up", [amount(_stream(connection, "up")["bytes"], "B") for _, connection in rows]),
        _cells("down", [amount(_stream(connection, "down")["bytes"], "B") for _, connection in rows]),
        _cells("goodput", [amount(stream["goodput_bps"], "bit/s") for stream in main]),
        _cells("longest", [duration(stream["longest_silence_s"]) for stream in main], 1, unit="silence"),
        _cells("timeouts", [_whole_number(stream["timeouts"]) for stream in main], 3),
        _text("closing", [connection["closing"] for _, connection in rows], 4),
    ]
    fallback = [
        ""
        if connection["fallback"] is None
        else f"{connection['fallback']['time_s']:.3f} s: {connection['fallback']['reason']}"
        for _, connection in rows
    ]
    if any(fallback):
        fields.insert(2, _text("back to TCP", fallback))
    title = (
        "Connections"
        if len(rows) == len(connections)
        else f"Connections, the largest {len(rows)} of {len(connections)}"
    )
    return Table(title, tuple(fields))


def _worst(connections: Sequence[Row], top: int) -> Iterator[Table]:
    streams = [(number, stream) for number, connection in enumerate(connections) for stream in connection["streams"]]

    def worst(by: Callable[[Row], float | None]) -> list[tuple[int, Row]]:
        return sorted((each for each in streams if by(each[1])), key=lambda each: -(by(each[1]) or 0))[:top]

    def named(rows: list[tuple[int, Row]]) -> list[Field]:
        return [
            _text("connection", [str(number) for number, _ in rows]),
            _text("direction", [stream["direction"] for _, stream in rows]),
            _text("client", [connections[number]["client"] for number, _ in rows], 2),
        ]

    rows = worst(lambda stream: stream["longest_silence_s"])
    silence = [
        _cells("silence", [duration(stream["longest_silence_s"]) for _, stream in rows]),
        _cells("until", [duration(stream["silence_end_s"]) for _, stream in rows]),
        _cells("timeouts", [_whole_number(stream["timeouts"]) for _, stream in rows]),
    ]
    yield Table("Longest silences", (*named(rows), *silence))
    for title, key in (("Most reinjections", "reinjections"), ("Most retransmissions", "retransmissions")):
        rows = worst(lambda stream, key=key: _ratio(stream[key], stream["segments_sent"]))  # type: ignore[misc]
        counts = [
            _cells("segments", [str(stream[key]) for _, stream in rows]),
            _cells("of those sent", [percent(_ratio(stream[key], stream["segments_sent"])) for _, stream in rows]),
        ]
        yield Table(title, (*named(rows), *counts))


def protocol(connection: Row) -> str:
    """`mptcp v1`, `mptcp` where no handshake was seen, or `tcp`."""
    name: str = connection["protocol"]
    return name if connection["version"] is None else f"{name} v{connection['version']}"


def host(end: str) -> str:
    """The address of an end without its port and brackets."""
    return end.rpartition(":")[0].strip("[]")


def _stream(connection: Row, way: str) -> Row:
    stream: Row = next(stream for stream in connection["streams"] if stream["direction"] == way)
    return stream


def _resets(connection: Row) -> int:
    return sum(subflow["resets"] for subflow in connection["subflows"])


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _whole_number(value: int | None) -> str:
    return MISSING if value is None else str(value)


def _text(header: str, cells: Sequence[str], expendable: int = 0) -> Field:
    return Field(header, "", tuple(cells), "text", expendable)


def _cells(header: str, cells: Sequence[str], expendable: int = 0, *, unit: str = "") -> Field:
    return Field(header, unit, tuple(cells), "number", expendable)
