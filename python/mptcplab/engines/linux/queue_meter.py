"""Rows and samples of links whose queues are the kernel's, from looks at its counters."""

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from mptcplab.engines.linux.kernel_links import Stage

_TYPES: Final = {
    "time_s": "d",
    "link": "I",
    "queue_packets": "I",
    "queue_bytes": "Q",
    "utilization": "d",
    "drops": "I",
}


class Seen(NamedTuple):
    """A direction at one moment."""

    sent_bytes: int = 0
    sent_packets: int = 0
    drops: int = 0
    """On the way in and on the wire."""
    queue_drops: int = 0
    queue_packets: int = 0
    queue_bytes: int = 0


def without_losses(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome without what subflows lost, which no discipline tells."""
    summary = json.loads(outcome["summary"])
    for connection in summary["connections"]:
        for subflow in connection["subflows"]:
            subflow["loss_rate"] = None
    return {**outcome, "summary": json.dumps(summary)}


class Meter:
    """Counters of all directions: down, then up, of each link."""

    def __init__(
        self,
        description: Mapping[str, Any],
        stages: "Mapping[tuple[int, bool], Sequence[Stage]]",
        interval_ns: int,
    ) -> None:
        """Nothing seen yet."""
        self._description = description
        self._stages = stages
        self._interval_ns = interval_ns
        self._rows = [(number, down) for number in range(len(description["links"])) for down in (True, False)]
        self._warm = [Seen()] * len(self._rows)
        self._sampled = [Seen()] * len(self._rows)
        self._last = [Seen()] * len(self._rows)
        self._packets = [0] * len(self._rows)
        self._most = [0] * len(self._rows)
        self._looks = 0
        self._end_ns = 0
        self._samples: dict[str, Any] = {name: array(kind) for name, kind in _TYPES.items()}

    def moments(self, duration_ns: int) -> Iterator[int]:
        """When to look: at the end of the warm-up, and at every interval up to the end."""
        regular = set(range(self._interval_ns, duration_ns + 1, self._interval_ns))
        return iter(sorted(regular | {self._description["warmup_ns"], duration_ns}))

    def look(self, at_ns: int) -> None:
        """Read the counters."""
        seen = [self._seen(*row) for row in self._rows]
        warmup_ns, sample_ns = self._description["warmup_ns"], self._description["sample_ns"]
        if at_ns == warmup_ns:
            self._warm = seen
        if at_ns > warmup_ns:
            self._looks += 1
            for row, each in enumerate(seen):
                self._packets[row] += each.queue_packets
                self._most[row] = max(self._most[row], each.queue_packets)
        if sample_ns and at_ns and at_ns % sample_ns == 0:
            for row, each in enumerate(seen):
                self._sample(at_ns, row, each, sample_ns)
            self._sampled = seen
        self._last, self._end_ns = seen, at_ns

    def told(self, outcome: Mapping[str, Any], *, raw: bool) -> dict[str, Any]:
        """The outcome with these rows."""
        summary = json.loads(outcome["summary"])
        summary["links"] = [self._row(row) for row in range(len(self._rows))]
        samples: dict[str, Any] = dict(self._samples)
        if raw:
            samples = {name: column.tobytes() for name, column in samples.items()}
        return without_losses({**outcome, "summary": json.dumps(summary), "link_samples": samples})

    def _seen(self, number: int, down: bool) -> Seen:
        stages = self._stages.get((number, down))
        if stages is None:
            return Seen()
        queue, *wire = (stage.counts.read() for stage in stages)
        drops = queue.drops + sum(each.drops for each in wire)
        return Seen(queue.bytes, queue.packets, drops, queue.drops, queue.queue_packets, queue.queue_bytes)

    def _utilization(self, row: int, sent_bytes: int, time_ns: int) -> float:
        number, down = self._rows[row]
        rate_bps: int = self._description["links"][number]["down" if down else "up"]["rate_bps"]
        return sent_bytes * 8e9 / (rate_bps * time_ns) if time_ns else 0.0

    def _sample(self, at_ns: int, row: int, seen: Seen, sample_ns: int) -> None:
        before = self._sampled[row]
        values = {
            "time_s": at_ns / 1e9,
            "link": row,
            "queue_packets": seen.queue_packets,
            "queue_bytes": seen.queue_bytes,
            "utilization": self._utilization(row, seen.sent_bytes - before.sent_bytes, sample_ns),
            "drops": seen.drops - before.drops,
        }
        for name, value in values.items():
            self._samples[name].append(value)

    def _row(self, row: int) -> dict[str, Any]:
        number, down = self._rows[row]
        last, warm = self._last[row], self._warm[row]
        drops = last.drops - warm.drops
        # What arrived, or waited when the warm-up ended: it left, was dropped before, or still waits.
        arrived = last.sent_packets - warm.sent_packets + last.queue_drops - warm.queue_drops + last.queue_packets
        return {
            "link": number,
            "down": down,
            "utilization": self._utilization(
                row, last.sent_bytes - warm.sent_bytes, self._end_ns - self._description["warmup_ns"]
            ),
            "loss_rate": drops / arrived if arrived else None,
            "drops": drops,
            "queue_mean_packets": self._packets[row] / self._looks if self._looks else 0.0,
            "queue_max_packets": self._most[row],
            "bytes_sent": last.sent_bytes,
            "dead_bytes": 0,
        }
