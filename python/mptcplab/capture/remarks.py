"""What a reader of an analysis must know: what was not read, and what the captures cannot tell."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mptcplab.capture.quantities import amount, duration

_HIDDEN: Final = (
    "encrypted",
    "IPsec",
    "L2TP",
    "compressed",
    "multilink",
    "fragments",
    "link type",
    "aggregated",
    "PPI",
)
"""What may carry TCP: it is named even if other packets could be read."""
_STALL_S: Final = 1.0
_LISTED: Final = 3
"""How many connections a remark is made of one by one."""


def of(summary: Mapping[str, Any]) -> Iterator[str]:
    """All remarks: of the files, of clocks, of connections."""
    for file in summary["files"]:
        yield from (f"{file['name']}: {note}" for note in _of_file(file))
        hidden = {what: count for what, count in file["not_read"].items() if any(word in what for word in _HIDDEN)}
        if hidden:
            yield f"{file['name']}: not read: {_counted(hidden)}"
    for clock in summary["clocks"]:
        name, ahead_s = summary["interfaces"][clock["interface"]], clock["ahead_s"]
        yield (
            f"{name}: its clock is {duration(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} the others', by "
            "the packets that several saw; its times are shifted by that, so delays between them are not exact"
        )
    for remark in (_only_acknowledged, _unacknowledged, _missed, _behind_a_gap, _unmapped, _stalled, _incomplete):
        yield from _of_connections(summary["connections"], remark)


def why_nothing(file: Mapping[str, Any]) -> str:
    """Why there is no connection in a file: what was found instead."""
    what = [*_of_file(file), *([_counted(file["not_read"])] if file["not_read"] else [])]
    return f"no TCP in its {file['packets']} packets" + (f" ({'; '.join(what)})" if what else "")


def _of_file(file: Mapping[str, Any]) -> Iterator[str]:
    if file["damage"]:
        yield file["damage"]
    if file["unknown_links"]:
        links = ", ".join(map(str, file["unknown_links"]))
        yield f"link type {links} is not supported (docs/analyze.md lists those that are)"
    if file["undecoded"]:
        yield f"{file['undecoded']} packets could not be decoded, the first: {file['first_error']}"
    if file["fragments"]:
        yield f"{file['fragments']} IP fragments were ignored"
    if file["lengths_of_frames"]:
        yield (
            f"{file['lengths_of_frames']} packets have IP length 0, as before segmentation offload or with BIG TCP; "
            "the length of the frame was taken"
        )
    if file.get("lengths_beyond_frames"):
        yield (
            f"{file['lengths_beyond_frames']} packets are longer by their IP header than their frame was, as in a "
            "capture that was edited; the length of the IP header was taken"
        )
    # A few alike are nothing special, such as acknowledgments that say the same again.
    if file["duplicates"] and file["duplicates"] * 20 >= file["tcp"]:
        yield (
            f"{file['duplicates']} of {file['tcp']} TCP packets are there twice, as on a router or a bridge whose "
            "interfaces are captured together; each is counted once"
        )
    for step in file["clock_steps"]:
        way = "forward" if step["step_s"] > 0 else "back"
        yield (
            f"packet {step['packet']}: the clock was set {way} by {duration(abs(step['step_s']))}; times go on from "
            "the packet before, and the time between the two is not known"
        )
    if file["clock_was_set"] > len(file["clock_steps"]):
        yield f"the clock was set {file['clock_was_set'] - len(file['clock_steps'])} more times"


def _counted(what: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(what.items(), key=lambda item: -item[1]))


def _of_connections(
    connections: list[dict[str, Any]], remark: Callable[[dict[str, Any], dict[str, Any]], str | None]
) -> Iterator[str]:
    found = [
        (number, stream["direction"], text)
        for number, connection in enumerate(connections)
        for stream in connection["streams"]
        if (text := remark(connection, stream)) is not None
    ]
    yield from (f"connection {number}, {direction}: {text}" for number, direction, text in found[:_LISTED])
    if len(found) > _LISTED:
        others = len({number for number, _, _ in found[_LISTED:]})
        yield f"{others} more connections: the same as {found[_LISTED - 1][0]}"


def _only_acknowledged(_: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if stream["segments_sent"] or not stream["missed_bytes"]:
        return None
    return f"its data are not in the capture, only their acknowledgments ({amount(stream['missed_bytes'], 'B')})"


def _unacknowledged(_: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if stream["acknowledged_bytes"] or not (stream["bytes"] or stream["outstanding_bytes"]):
        return None
    return "no acknowledgments of its data are in the capture: what arrived cannot be known, bytes are those seen"


def _missed(_: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if not stream["missed_bytes"] or not stream["segments_sent"]:
        return None
    missed, whole = amount(stream["missed_bytes"], "B"), amount(stream["bytes"], "B")
    return f"{missed} of {whole} were acknowledged and are not in the capture; which subflow brought them is not known"


def _behind_a_gap(_: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if not stream["outstanding_bytes"] or not stream["acknowledged_bytes"] + stream["bytes"]:
        return None
    outstanding = amount(stream["outstanding_bytes"], "B")
    return (
        f"{outstanding} more are in the capture, neither acknowledged nor in order up to its end; they are not counted"
    )


def _unmapped(connection: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if not stream["unmapped_bytes"] or connection["fallback"] is not None:
        return None
    return f"{amount(stream['unmapped_bytes'], 'B')} have no mapping in the capture and are not counted"


def stalled(stream: Mapping[str, Any]) -> str | None:
    """That the receiver acknowledged data on subflows and did not take them, for longer than any delayed DATA_ACK."""
    stall_s = stream["longest_data_ack_stall_s"]
    if stall_s is None or stall_s < _STALL_S:
        return None
    return (
        f"for {duration(stall_s)}, up to second {stream['data_ack_stall_end_s']:.6g}, the DATA_ACK stood still "
        "although the receiver had acknowledged on its subflow what comes next"
    )


def _stalled(connection: dict[str, Any], stream: dict[str, Any]) -> str | None:
    return stalled(stream) if connection["protocol"] == "mptcp" and connection["fallback"] is None else None


def _incomplete(connection: dict[str, Any], stream: dict[str, Any]) -> str | None:
    if connection["complete"] or stream["direction"] == "down":
        return None
    return (
        "its beginning is not in the capture: which end opened it is a guess, and bytes count from the first captured"
    )
