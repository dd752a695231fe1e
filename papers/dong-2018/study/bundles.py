"""Points of §6 as networks of one scenario that do not touch, for runs in real time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from mptcplab.sweeps.frames import Runs

from .measure import TESTBED

Make = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Point:
    """A network and a size, for every scheduler."""

    label: str
    given: Mapping[str, Any]
    """The arguments of `downloads.download`."""
    lanes: int = 1
    """Networks side by side for each scheduler: each draws losses of its own."""
    transfers: int = 1
    """One after another over each of them."""


@dataclass(frozen=True)
class Bundle:
    """Points that share their runs, as networks that do not touch; transfers begin one after another, so that the
    emulator, which is a single thread, carries little at a time.
    """

    points: Sequence[Point]
    spacing_s: float
    """Between the transfers over a network; longer than one takes."""
    seconds: float
    seeds: int
    quick: bool = False
    """Whether a quick repetition runs it, with one seed."""


class Key(NamedTuple):
    """What a transfer belongs to."""

    point: str
    scheme: str


def scenario(bundle: Bundle, make: Make) -> tuple[dict[str, Any], dict[str, Key]]:
    """All networks of a bundle in one scenario, and what its transfers belong to, by their connections' names."""
    cells = [(point, scheme) for point in bundle.points for scheme in TESTBED for _ in range(point.lanes)]
    links: dict[str, Any] = {}
    connections: dict[str, Any] = {}
    keys: dict[str, Key] = {}
    for place, (point, scheme) in enumerate(cells):
        own = make(scheme, **{**point.given, "seconds": bundle.seconds})
        prefix = f"n{place} "
        links |= {prefix + name: link for name, link in own["link"].items()}
        for name, each in own["connection"].items():
            connection = {**each, "paths": [prefix + path for path in each["paths"]]}
            if name != "file":
                connections[prefix + name] = connection
                continue
            begin_s = float(each["start"].split()[0]) + bundle.spacing_s * place / len(cells)
            for turn in range(point.transfers):
                start_us = round(1e6 * (begin_s + turn * bundle.spacing_s))
                connections[f"{prefix}{turn}"] = {**connection, "start": f"{start_us} us"}
                keys[f"{prefix}{turn}"] = Key(point.label, scheme)
    made = {"duration": f"{bundle.seconds:g} s", "link": links, "connection": connections}
    return {**made, "measure": {"sample": "never"}}, keys


def transfers(runs: Runs, keys: Mapping[str, Key]) -> pl.DataFrame:
    """A row for each transfer: seconds, segments, those on the second path, retransmissions."""
    sent = pl.col("segments_sent")
    by_name = runs.subflows.group_by(name="connection").agg(
        segments=sent.sum(),
        second=sent.filter(pl.col("path").str.ends_with("p1")).sum(),
        again=pl.col("retransmissions").sum(),
    )
    own = pl.DataFrame([(name, *key) for name, key in keys.items()], ["name", "point", "scheme"], orient="row")
    times = runs.connections.select("name", seconds="completion_s")
    return own.join(times, on="name", maintain_order="left").join(by_name, on="name", maintain_order="left")
