"""What holds for every result, whatever was measured: a result that breaks a law is wrong and is not given.

`check` is for the rows of one run of any engine. The laws of `analyze` are in `crates/capture/src/analysis/laws.rs`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mptcplab.errors import Error

COUNTER: Final = 2**31
"""No counter of a run reaches it; a negative one, read as a positive number, does."""
HANDSHAKE: Final = 64
"""SYN and FIN, which the kernel counts among retransmissions and not among data segments, and its probes."""
ROUNDING: Final = 1e-6
RECEIVE_BUFFER: Final = 6 * 2**20
"""What may wait at a receiver whose buffer the scenario does not set: Linux's `tcp_rmem` at most."""

Row = Mapping[str, Any]

_COUNTERS: Final = {
    "connections": ("bytes_delivered", "transfers_begun", "transfers_complete", "video_stalls", "video_switches"),
    "subflows": ("segments_sent", "retransmissions", "timeouts", "reinjections"),
    "links": ("drops", "queue_max_packets", "bytes_sent", "dead_bytes"),
}
_BYTES: Final = frozenset({"bytes_delivered", "bytes_sent", "dead_bytes"})
_FRACTIONS: Final = {"subflows": ("share", "loss_rate"), "links": ("loss_rate",)}
"""Not utilization: a packet counts whole at one moment, so over a time of few packets it may exceed 1."""


class LawError(Error, RuntimeError):
    """A result contradicts itself."""

    def __init__(self, broken: Sequence[str], send: str) -> None:
        laws = "\n".join(f"  {text}" for text in broken)
        super().__init__(
            f"the result contradicts itself, so it is not shown:\n{laws}\nPlease report this error with {send}."
        )
        self.broken = tuple(broken)


def check(description: Mapping[str, Any], rows: Mapping[str, Sequence[Row]]) -> None:
    """Raise LawError if the rows (`connections`, `subflows`, `links`) of a run break a law.

    `description` is the scenario's, which says how much each application sends.
    """
    broken = [*_numbers(rows), *_delivered(description, rows["connections"]), *_of_subflows(description, rows)]
    if broken:
        raise LawError(broken, "the scenario file, the command and the output of `mptcplab --version`")


def _numbers(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    for table in ("connections", "subflows", "links"):
        for row in rows[table]:
            name = _name(table, row)
            for column, value in row.items():
                if isinstance(value, float) and not (
                    math.isfinite(value) and (value >= 0 or column == "packet_overhead")
                ):
                    yield f"{name}: a measured number is finite and not negative ({column} = {value})"
            for column in _COUNTERS[table]:
                value = row.get(column)
                if value is not None and not 0 <= value < (2**63 if column in _BYTES else COUNTER):
                    yield f"{name}: a counter is below 2^31 and not negative ({column} = {value})"
            for column in _FRACTIONS.get(table, ()):
                value = row.get(column)
                if value is not None and value > 1 + ROUNDING:
                    yield f"{name}: a fraction is at most 1 ({column} = {value})"


def _delivered(description: Mapping[str, Any], connections: Sequence[Row]) -> Iterator[str]:
    sizes = {
        kind["name"]: kind["application"]["size_bytes"]
        for kind in description["connections"]
        if kind["application"]["kind"] == "file" and kind["application"].get("size_bytes") is not None
    }
    for row in connections:
        size, delivered = sizes.get(row["name"]), row.get("bytes_delivered")
        if size is not None and delivered is not None and delivered > size:
            yield (
                f"{_name('connections', row)}: no more is delivered than the application sends "
                f"({delivered} of {size} bytes)"
            )
        begun, complete = row.get("transfers_begun"), row.get("transfers_complete")
        if begun is not None and complete is not None and complete > begun:
            yield f"{_name('connections', row)}: no more transfers end than begin ({complete} of {begun})"


def _of_subflows(description: Mapping[str, Any], rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    of_connection: dict[tuple[str, int], list[Row]] = {}
    for row in rows["subflows"]:
        of_connection.setdefault((row["connection"], row["index"]), []).append(row)
        sent, again = row.get("segments_sent"), row.get("retransmissions")
        if sent is not None and again is not None and again > sent + HANDSHAKE:
            yield f"{_name('subflows', row)}: no more is sent again than is sent ({again} of {sent} segments)"
    for (name, index), subflows in of_connection.items():
        shares = [row["share"] for row in subflows if row.get("share") is not None]
        if any(share > 0 for share in shares) and abs(math.fsum(shares) - 1) > ROUNDING:
            yield f"{name} {index}: shares sum to one ({shares})"
    yield from _brought(description, rows["connections"], of_connection)


def _brought(
    description: Mapping[str, Any], connections: Sequence[Row], subflows: Mapping[tuple[str, int], Sequence[Row]]
) -> Iterator[str]:
    """What is delivered came on a subflow: within the measurement, or before it, and waited."""
    kinds = {kind["name"]: kind for kind in description["connections"]}
    measured_s = (description["duration_ns"] - description["warmup_ns"]) / 1e9
    for row in connections:
        kind = kinds.get(row["name"])
        of_row = subflows.get((row["name"], row["index"]), ())
        rates = [each["goodput_bps"] for each in of_row if each["goodput_bps"] is not None]
        whole_bps = row.get("goodput_bps")
        if kind is None or kind["application"]["kind"] not in ("bulk", "file") or whole_bps is None:
            continue
        # An engine that does not report what a subflow brought cannot be checked.
        if len(rates) < max(1, len(of_row)):
            continue
        brought_bps = math.fsum(rates)
        span_s = min(measured_s, row.get("completion_s") or measured_s)
        waiting = (kind["receive_buffer_bytes"] or RECEIVE_BUFFER) * 8
        if (whole_bps - brought_bps) * span_s > max(waiting, 0.05 * whole_bps * span_s):
            yield (
                f"{_name('connections', row)}: the subflows bring what the connection delivers "
                f"({brought_bps:.0f} and {whole_bps:.0f} bit/s)"
            )


def _name(table: str, row: Row) -> str:
    if table == "connections":
        return f"{row['name']} {row['index']}"
    if table == "subflows":
        return f"{row['connection']} {row['index']}, subflow {row['subflow']} on {row['path']}"
    return f"{row['name']} {row['direction']}"
