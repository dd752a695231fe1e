"""Runs and what is read off them: mean completion times by scheme."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Check, Context, below, causes, every, mean_of
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.context import Wanted

from . import networks

Scenario = Mapping[str, Any]
Case = tuple[dict[str, Any], Callable[[int], Scenario]]
"""Labels, and the scenario of a seed."""

NS3_TCP: Final[dict[str, Any]] = {"initial_window": 1, "loss_detection": "newreno"}
"""§5 ran ns-3.14: NewReno without selective acknowledgments. Table 3's 20K on two subflows needs a window of 1."""
SCHEMES: Final = {"TCP": None, "MPTCP": "min-rtt", "DMPTCP": "dmptcp"}
ONLINE: Final = "DMPTCP without the size"
_SCHEDULERS: Final = {**SCHEMES, ONLINE: "dmptcp-online"}
TESTBED: Final = ("min-rtt", "blest", "daps", "otias", "dmptcp")
"""The five schedulers of §6."""
BLEST: Final = {"name": "blest", "slow_start": False}
"""As its paper prints it, and as Dong describes it: without slow start."""


def scheduler(name: str | None) -> Any:  # noqa: ANN401 - what the format takes
    """As a scenario names it; BLEST as §6.2.1 describes it."""
    return BLEST if name == "blest" else name


class Found:
    """The frames of many runs, looked up by their labels."""

    def __init__(self, context: Context, cases: Sequence[Case], seeds: Sequence[int]) -> None:
        """Run every case with every seed."""
        wanted: list[Wanted] = [(labels, make(seed), seed) for labels, make in cases for seed in seeds]
        runs = context.run_many(wanted)
        self.connections, self.subflows = runs.connections, runs.subflows

    def rows(self, frame: str = "connections", /, **labels: object) -> pl.DataFrame:
        """Those of a case."""
        found: pl.DataFrame = getattr(self, frame)
        for name, value in labels.items():
            found = found.filter(pl.col(name) == value)
        return found

    def mean_ms(self, column: str = "completion_s", **labels: object) -> Mean:
        """Mean completion; an infinite one where a transfer did not end."""
        rows = self.rows(**labels)
        if rows.is_empty() or rows[column].null_count():
            return Mean(float("inf"))
        return by_seed(rows, 1e3 * pl.col(column).mean())

    def used(self, **labels: object) -> Mean:
        """Mean number of subflows that carried data."""
        counts = pl.struct("name", "index").n_unique()
        transfers = self.rows(**labels).group_by("seed", maintain_order=True).agg(transfers=counts)
        used = (
            self.rows("subflows", **labels)
            .group_by("seed", maintain_order=True)
            .agg(used=(pl.col("segments_sent") > 0).sum())
            .join(transfers, on="seed", how="left", maintain_order="left", validate="1:1")
        )
        return across((used["used"] / used["transfers"]).to_list())

    def timeouts(self, **labels: object) -> Mean:
        """Mean number in a transfer."""
        transfers = self.rows(**labels).height / self.rows(**labels)["seed"].n_unique()
        return by_seed(self.rows("subflows", **labels), pl.col("timeouts").sum()) / transfers


ONE: Final = Mean(1.0)
"""What a ratio is compared with: exactly known."""


def across(values: Sequence[float]) -> Mean:
    """The mean of one value a seed. A single seed stands for a network in which nothing is drawn."""
    return Mean(values[0]) if len(values) == 1 else mean_of(values)


def by_seed(rows: pl.DataFrame, value: pl.Expr) -> Mean:
    """A value of each seed."""
    return across(rows.group_by("seed", maintain_order=True).agg(value.alias("value"))["value"].to_list())


def average(values: Sequence[Mean]) -> Mean:
    """Of several finds."""
    return sum(values[1:], start=values[0]) / len(values)


def mean(values: pl.Series) -> float:
    """Of a column without nulls."""
    return float(values.to_numpy().mean())


def cause(check: Check, text: str) -> str:
    """Only of a claim that does not hold as a whole; the kind is that of the experiments in it, else `algorithm`."""
    if check.holds:
        return ""
    for kind in ("setting", "unknown"):
        tried = f"{kind}: one thing"
        if tried in text:
            return f"{kind}: {text.replace(tried, 'One thing')}"
    return text if text.partition(":")[0] in causes.KINDS else f"algorithm: {text}"


def least(values: Mapping[str, Mean], name: str) -> Check:
    """That one of them is below all others."""
    return every(below(values[name], value) for other, value in values.items() if other != name)


def largest(values: Mapping[str, Mean], name: str) -> Check:
    """That one of them is above all others."""
    return every(below(value, values[name]) for other, value in values.items() if other != name)


def table(found: Found, keys: Sequence[str], *more: pl.Expr) -> pl.DataFrame:
    """Mean completions in ms by labels."""
    completion = 1e3 * pl.col("completion_s").mean()
    return found.connections.group_by(keys, maintain_order=True).agg(completion.alias("completion_ms"), *more)


def chart(
    rows: pl.DataFrame, x: str, title: str, *, y: str = "completion_ms", by: str = "scheme", log: bool = False
) -> alt.Chart:
    """Lines by scheme."""
    drawn: alt.Chart = (
        alt.Chart(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", title=title),
            y=alt.Y(f"{y}:Q", title="completion, ms", scale=alt.Scale(type="log") if log else alt.Scale()),
            color=alt.Color(f"{by}:N", title=None),
        )
        .properties(width=380, height=220)
    )
    return drawn


def burst(
    scheme: str,
    rtts_ms: Sequence[float],
    sizes: Sequence[int],
    *,
    loss: float = 0.0,
    rate_mbps: float = 100,
    one_way: bool = False,
    tcp: Mapping[str, Any] | None = None,
    shared: bool = False,
    at_once: bool = True,
    rivals: Sequence[int] = (),
    seconds: float = 300,
    queue: str = "1 BDP",
) -> Scenario:
    """Flows of these sizes that begin together, over disjoint paths or over a common link (`shared`).

    `at_once`: all subflows of a connection open together, as §4.2.2 says; else they join as RFC 8684 has it.
    `rivals`: flows of plain TCP beside them, over the first path.
    """
    options = {**NS3_TCP, **(tcp or {})}
    names = [f"p{index}" for index in range(len(rtts_ms))]
    paths: dict[str, Any] | None = None
    if shared:
        links: dict[str, Any] = {"common": networks.link(rate_mbps, 20, loss=loss, queue=queue)}
        paths = {}
        for name, rtt in zip(names, rtts_ms, strict=True):
            links[f"{name}-tail"] = networks.link(10 * rate_mbps, max(rtt - 20, 0.1), queue="100000 packets")
            paths[name] = {"links": [f"{name}-tail", "common"]}
    else:
        links = {
            name: networks.link(rate_mbps, rtt, loss=loss, one_way=one_way, queue=queue)
            for name, rtt in zip(names, rtts_ms, strict=True)
        }
    buffer = round(2 * len(rtts_ms) * rate_mbps / 8 * max(rtts_ms) * 1e3 * (2 if one_way else 1))
    more = {"receive_buffer": f"{max(buffer, 65536)} B"}
    joins = {"path_manager": {"name": "fullmesh", "at_once": True}} if at_once and _SCHEDULERS[scheme] else {}
    connections = {
        f"f{index}": networks.connection(names, networks.file(size), _SCHEDULERS[scheme], tcp=options, **more, **joins)
        for index, size in enumerate(sizes)
    }
    for index, size in enumerate(rivals):
        connections[f"tcp{index}"] = networks.connection(names, networks.file(size), None, tcp=options, **more)
    return networks.scenario(links, connections, seconds, paths)
