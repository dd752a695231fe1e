"""Which subflows share a bottleneck: the correlation of delays (Singh 2012) and RFC 8382 on random networks.

Three subflows of which the first and the third cross the same link, as in figure 10 of the thesis; both methods watch
and change nothing, so that they see the same traffic. A network counts as right when the two were found to share and
no other pair.
"""

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import mptcplab
import polars as pl
import tomli_w

from .runs import show

START_S: Final = 20
LASTS_S: Final = 40
"""Of the multipath flow."""
STEP_S: Final = 0.5
LOADS: Final = ("pert", "reno")
METHODS: Final[Mapping[str, Mapping[str, Any]]] = {"correlation": {}, "rfc8382": {"shared_by": "rfc8382"}}
AFTER_S: Final = (15, 24, 40)
"""Moments of the table: 15 s, soon after RFC 8382's first decision at 21 s, and the end."""
BLIND: Final = range(10_001, 11_001)
"""Seeds of networks that nothing was chosen with; the lengths of the correlation's averages were with 1 to 100."""


def network(seed: int, load: str, congestion: Mapping[str, Any], lasts_s: float = LASTS_S) -> dict[str, Any]:
    """Two links of 10 to 40 Mbit/s, with a flow for each 0.7 to 2 Mbit/s; one RTT of 40 to 120 ms for all flows."""
    draw = random.Random(seed)
    rtt_ms = draw.uniform(40, 120)
    link, path, connection = {}, {}, {}
    common: dict[str, Any] = {"mss": "960 B", "tcp": {"segments_per_ack": 1}}
    for name in ("one", "two"):
        rate_kbps = round(draw.uniform(10_000, 40_000))
        flows = max(4, int(rate_kbps / draw.uniform(700, 2000)))
        buffer = max(20, round(rate_kbps * rtt_ms / 8000))
        link[name] = {
            "rate": f"{rate_kbps} kbit/s",
            "delay": f"{round(rtt_ms * 500)} us",
            "queue": f"{buffer} packets",
        }
        path[f"only {name}"] = {"links": [name]}
        kinds = ("pert", "reno") if load == "mix" else (load,)
        for kind in kinds:
            connection[f"{name} {kind}"] = {
                "paths": [f"only {name}"],
                "protocol": "tcp",
                "congestion": kind,
                "count": max(1, flows // len(kinds)),
                "start": ["0 s", "10 s"],
                **common,
            }
    for number, name in enumerate(("one", "two", "one")):
        path[f"p{number}"] = {"links": [name]}
    connection["multi"] = {
        "paths": ["p0", "p1", "p2"],
        "congestion": {"name": "mppert", **congestion},
        "start": f"{START_S} s",
        **common,
    }
    return {
        "duration": f"{START_S + lasts_s:g} s",
        "seed": seed,
        "link": link,
        "path": path,
        "connection": connection,
        "measure": {"warmup": f"{START_S} s", "sample": f"{STEP_S:g} s"},
    }


@dataclass(frozen=True)
class Found:
    """What one network shows every `STEP_S`: with whom each of the three shares, by the least place."""

    groups: Sequence[tuple[int, ...]]

    def at(self, after_s: float) -> tuple[int, ...]:
        """So long after the start."""
        return self.groups[round(after_s / STEP_S) - 1]

    def settled_s(self) -> float | None:
        """From when on it is right to the end; None: it is not at the end."""
        wrong = [number for number, group in enumerate(self.groups, 1) if group != RIGHT]
        last = wrong[-1] if wrong else 0
        return None if last == len(self.groups) else (last + 1) * STEP_S


PATHS: Final = ("p0", "p1", "p2")
RIGHT: Final = (0, 1, 0)


def detected(group: tuple[int, ...]) -> bool:
    """The sharers were found."""
    return group[2] == group[0]


def false_alarm(group: tuple[int, ...]) -> bool:
    """The subflow on the other link was taken for a sharer."""
    return group[1] in (group[0], group[2])


def watch(seed: int, load: str, method: str) -> Found:
    """One network."""
    data = network(seed, load, {"shared": "watch", **METHODS[method]})
    samples = mptcplab.run(mptcplab.Scenario.from_toml(tomli_w.dumps(data))).samples
    rows = samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow"))
    wide = rows.pivot("path", index="time_s", values="shares_with").sort("time_s").filter(pl.col("time_s") > START_S)
    # Where the connection fell back to TCP, as its SYN was lost time and again, there is one subflow: nothing is found.
    absent = [pl.lit(f"no {path}").alias(path) for path in PATHS if path not in wide.columns]
    groups = wide.with_columns(absent).select(PATHS).iter_rows()
    return Found([tuple(row.index(value) for value in row) for row in groups])


def measure(load: str, method: str, seeds: Sequence[int]) -> list[Found]:
    """Of every network."""
    return [watch(seed, load, method) for seed in seeds]


@dataclass(frozen=True)
class Rates:
    """Of so many networks, the parts of which this holds at a moment."""

    right: float
    detected: float
    false_alarms: float


def rates(found: Sequence[Found], after_s: float) -> Rates:
    """So long after the start."""
    groups = [each.at(after_s) for each in found]
    count = len(groups)
    return Rates(
        sum(group == RIGHT for group in groups) / count,
        sum(map(detected, groups)) / count,
        sum(map(false_alarm, groups)) / count,
    )


def time_to_decide_s(found: Sequence[Found], part: float) -> float | None:
    """Within which this part of all networks is right and remains so; None: fewer are right in the end."""
    times = sorted(time for each in found if (time := each.settled_s()) is not None)
    needed = math.ceil(part * len(found))
    return times[needed - 1] if needed <= len(times) else None


def changes(found: Sequence[Found]) -> float:
    """Mean number of times that a network's groups changed, the first decision counted."""
    return sum(sum(a != b for a, b in pairwise(each.groups)) for each in found) / len(found)


def _rows(seeds: Sequence[int]) -> Iterator[Mapping[str, str]]:
    for load in LOADS:
        for method in METHODS:
            found = measure(load, method, seeds)
            for after_s in AFTER_S:
                now, median_s = rates(found, after_s), time_to_decide_s(found, 0.5)
                yield {
                    "load": load,
                    "method": method,
                    "after, s": f"{after_s}",
                    "right": f"{100 * now.right:.1f} %",
                    "sharers found": f"{100 * now.detected:.1f} %",
                    "false alarms": f"{100 * now.false_alarms:.1f} %",
                    "half are right for good after, s": "–" if median_s is None else f"{median_s:.1f}",
                    "changes": f"{changes(found):.2f}",
                }


def main() -> None:
    """Print the table of 1 000 networks, in a quarter of an hour."""
    sys.stdout.write(f"{len(BLIND)} networks a row\n")
    show("Shared bottlenecks", _rows(BLIND))
