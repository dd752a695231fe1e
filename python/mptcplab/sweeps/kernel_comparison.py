"""Are kernels different? Effects over the networks of a sweep, and where the runs part on those that differ most."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mptcplab import files
from mptcplab.analysis.statistics import CONFIDENCE
from mptcplab.capture.divergence import Divergence, divergence
from mptcplab.capture.settings import Capture
from mptcplab.engines.runner import captures, run
from mptcplab.render.text_tables import Field, Table
from mptcplab.results.effects import Effect, effect

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.sweeps.sweep import Plan

Network = tuple[int, str]
"""A point and a variant."""
_QUANTITIES: Final = ("goodput_bps", "completion_s")


@dataclass(frozen=True)
class Over:
    """What one quantity of a connection differs by on all networks; of each network its mean over the seeds."""

    connection: str
    quantity: str
    by_network: Mapping[Network, Effect]
    most: Mapping[Network, int]
    """Of each network the repeat that differs most."""

    @property
    def known(self) -> dict[Network, float]:
        """The relative difference of each network where there is one."""
        return {network: found.mean for network, found in self.by_network.items() if found.mean is not None}

    def interval(self) -> tuple[float, float | None] | None:
        """Mean over the networks and half of its interval, which one network has not; None without any."""
        values = list(self.known.values())
        if not values:
            return None
        # Networks are the sample: each is one pair, of 1 and of what it is with the other kernel.
        whole = effect(self.connection, self.quantity, [(1.0, 1 + value) for value in values])
        assert whole.mean is not None, "no reference is 0"
        return whole.mean, whole.half


def over(connections: "pl.DataFrame", first: str, other: str) -> list[Over]:
    """Of a sweep's connections what the kernel `other` makes different from `first`."""
    values: dict[tuple[str, str], dict[Network, dict[int, dict[str, list[float]]]]] = {}
    for row in connections.to_dicts():
        for quantity in _QUANTITIES:
            if row["kernel"] in (first, other) and row[quantity] is not None:
                runs = values.setdefault((row["name"], quantity), {}).setdefault((row["point"], row["variant"]), {})
                runs.setdefault(row["repeat"], {}).setdefault(row["kernel"], []).append(row[quantity])
    found = []
    for (name, quantity), networks in values.items():
        by_network, most = {}, {}
        for network, runs in networks.items():
            pairs = {at: (_mean(both[first]), _mean(both[other])) for at, both in runs.items() if len(both) == 2}
            if pairs:
                by_network[network] = effect(name, quantity, list(pairs.values()))
                most[network] = max(pairs, key=lambda at: abs(pairs[at][1] - pairs[at][0]))
        if by_network:
            found.append(Over(name, quantity, by_network, most))
    return found


def table(first: str, other: str, found: list[Over]) -> Table:
    """For people."""
    networks = len({network for each in found for network in each.by_network})
    intervals = [each.interval() for each in found]
    sizes = [sorted(abs(value) for value in each.known.values()) for each in found]
    return Table(
        f"{other} against {first} on {networks} networks: mean difference with its {CONFIDENCE:.0%} interval over them",
        (
            Field("connection", "", tuple(each.connection for each in found), "text"),
            Field("quantity", "", tuple(each.quantity.partition("_")[0] for each in found), "text"),
            Field(
                "differs", "%", tuple("–" if each is None else f"{each[0]:+.2%}"[:-1] for each in intervals), "number"
            ),
            Field("±", "%", tuple(_half(each) for each in intervals), "number"),
            Field("median size", "%", tuple(_quantile(each, 0.5) for each in sizes), "number"),
            Field("p90", "%", tuple(_quantile(each, 0.9) for each in sizes), "number"),
            Field("largest", "%", tuple(_largest(each) for each in found), "number"),
            Field("the same", "", tuple(_count(each, lambda e: e.same == e.seeds) for each in found), "text"),
            Field("differ beyond the seeds", "", tuple(_count(each, lambda e: e.differs) for each in found), "text"),
        ),
    )


def differing(found: list[Over], most: int) -> list[tuple[Network, float, int]]:
    """The networks that differ most in any quantity, those with an effect beyond their seeds first.

    Each with its mean difference and the repeat that differs most.
    """
    size: dict[Network, tuple[bool, float]] = {}
    told: dict[Network, tuple[float, int]] = {}
    for each in found:
        for network, value in each.known.items():
            one = each.by_network[network]
            if one.same == one.seeds:
                continue
            ranked = (one.differs, abs(value))
            if ranked > size.get(network, (False, -1.0)):
                size[network], told[network] = ranked, (value, each.most[network])
    ordered = sorted(size, key=lambda network: (not size[network][0], -size[network][1], network))
    return [(network, *told[network]) for network in ordered[:most]]


def part(made: "Plan", network: Network, repeat: int, first: str, other: str) -> Divergence | None:
    """Where the runs of one seed part on a network: both kernels run it again, with captures.

    Raises ValueError when it has more interfaces than are captured.
    """
    point, variant = network
    sweep = made.sweep
    names = {sweep.name_of(values): values for values in sweep.crossed()}
    keys = [factor.key for factor in sweep.factors]
    scenario = sweep.at({**dict(zip(keys, made.values[point], strict=True)), **names[variant]})
    scenario = scenario.with_(seed=scenario.seed + repeat)
    captures(f"linux-virtual:{first}", scenario)
    with files.scratch("mptcplab-kernels-") as place:
        directories = []
        for number, kernel in enumerate((first, other)):
            directories.append(Path(place, str(number)))
            directories[-1].mkdir()
            run(scenario, f"linux-virtual:{kernel}", capture=Capture(directories[-1]))
        return divergence(*directories)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _half(interval: tuple[float, float | None] | None) -> str:
    return "–" if interval is None or interval[1] is None else f"{100 * interval[1]:.2f}"


def _quantile(ordered: list[float], part_of: float) -> str:
    return f"{100 * ordered[math.ceil(part_of * len(ordered)) - 1]:.2f}" if ordered else "–"


def _largest(each: Over) -> str:
    return f"{100 * max(each.known.values(), key=abs):+.2f}" if each.known else "–"


def _count(each: Over, what: Callable[[Effect], bool]) -> str:
    return f"{sum(map(what, each.by_network.values()))}/{len(each.by_network)}"
