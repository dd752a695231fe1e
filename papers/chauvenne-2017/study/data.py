"""The runs of the two-path experiments, one row per network: goodputs, aggregation benefits, shares."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path as Directory
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
from mptcplab import analysis
from mptcplab.reproduce import Context
from mptcplab.reproduce.context import Work

from . import scenarios
from .networks import BULK_DESIGNS, DESIGNS, DOMAINS, HIGH, LOW, Domain, Network, networks

Floats = npt.NDArray[np.float64]

WINDOW_STEP: Final = {LOW.name: 1, HIGH.name: 3}
"""Of the networks of high BDP, every third shows what another window does."""
PAYLOAD_BYTES: Final = 1420
"""Of a packet of 1,500 bytes: 20 of IP, 20 of TCP, 12 of timestamps, 28 of the data sequence mapping."""
_TEXT_STEP: Final = 3
"""Of the networks with random losses every third by the text alone."""
LARGE_SIZES_KB: Final = (16_000, 32_000)
LARGE_FILES: Final = tuple(scenarios.file(size) for size in LARGE_SIZES_KB)
_KEY: Final = ["domain", "design", "point"]
_kept: dict[tuple[Directory, bool, str], tuple[pl.DataFrame, Work, set[str]]] = {}
"""Several items read the same runs; planning thousands of them anew for each would take longer than many a run.

With the work and the entries of the machine that were asked for: an item that is given what another made rests on
both as well.
"""


def keep(context: Context, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """What `make` answers, for all items of one repetition."""
    key = (context.directory.parent, context.quick, f"{name}{', by the text' if context.machine.by_text else ''}")
    if key not in _kept:
        before, asked = context.work.keys() | set(), context.machine.asked
        context.machine.asked = set()
        table = make()
        work = {name: cost for name, cost in context.work.items() if name not in before}
        _kept[key] = table, work, context.machine.asked
        context.machine.asked = asked
    table, work, asked = _kept[key]
    context.work |= work
    context.machine.asked |= asked
    return table


def all_networks(context: Context, *, lossy: bool = False, designs: int = 1) -> list[Network]:
    """Both domains, as many designs."""
    return [
        network
        for domain in DOMAINS
        for design in range(designs)
        for network in networks(domain, lossy=lossy, design=design, quick=context.quick)
    ]


def factors(points: Iterable[Network]) -> pl.DataFrame:
    """The factors of each network, and their differences, first path minus second."""
    return pl.DataFrame([network.factors for network in points]).with_columns(
        capacity_difference=pl.col("capacity_mbps_1") - pl.col("capacity_mbps_2"),
        delay_difference=pl.col("delay_ms_1") - pl.col("delay_ms_2"),
    )


def _designs(context: Context, count: int) -> int:
    """The first alone by the text: what it reads otherwise is no matter of the sensitivity."""
    return 1 if context.machine.by_text else count


def bulk(context: Context) -> pl.DataFrame:
    """iPerf for 30 s: Multipath TCP with LIA over all designs, TCP on each path of the first."""
    return keep(context, "bulk", lambda: _transfers(context, [("bulk", {}, _designs(context, BULK_DESIGNS))]))


def bulk_setting(
    context: Context, setting: str, *, domain: Domain, window: str | None = None, delay_line: bool = False
) -> pl.DataFrame:
    """iPerf again with one thing of the testbed changed: the window, or how its queues count."""

    def make() -> pl.DataFrame:
        points = networks(domain, quick=context.quick)[:: 1 if window is None else WINDOW_STEP[domain.name]]
        return _experiment(context, points, "bulk", window=window, delay_line=delay_line, compare=True)

    return keep(context, f"{setting} {domain.name}", make)


def files(context: Context, sizes: Sequence[int]) -> pl.DataFrame:
    """cURL: files of so many kB, at most 30 s; both schedulers on the first design, min-rtt on all."""
    wanted: list[tuple[str | dict[str, Any], Mapping[str, Any], int]] = [
        (scenarios.file(size), {"size": size}, _designs(context, DESIGNS)) for size in sizes
    ]
    return keep(context, "files", lambda: _transfers(context, wanted, schedulers=tuple(scenarios.SCHEDULERS)))


def large_files(context: Context) -> pl.DataFrame:
    """cURL: 16 and 32 MB."""
    wanted: list[tuple[str | dict[str, Any], Mapping[str, Any], int]] = [
        (application, {"size": size}, 1) for size, application in zip(LARGE_SIZES_KB, LARGE_FILES, strict=True)
    ]
    return keep(context, "large files", lambda: _transfers(context, wanted))


def lossy(context: Context) -> pl.DataFrame:
    """iPerf for 30 s with random losses: four controls over all designs, TCP on each path of the first."""

    def make() -> pl.DataFrame:
        tables = []
        for design in range(_designs(context, DESIGNS)):
            points = [n for n in all_networks(context, lossy=True, designs=DESIGNS) if n.design == design]
            points = points[:: _TEXT_STEP if context.machine.by_text else 1]
            tables += [
                _experiment(context, points, "bulk", control=control, compare=design == 0).with_columns(
                    control=pl.lit(control)
                )
                for control in scenarios.CONTROLS
            ]
        return pl.concat(tables, how="diagonal").with_columns(
            mean_loss=mean_loss("loss_percent_1", "loss_percent_2", "share")
        )

    return keep(context, "lossy", make)


def mean_loss(first: str, second: str, share: str) -> pl.Expr:
    """Mean loss probability in %, each path weighted by its part of the traffic (section 5.2.2)."""
    return pl.col(first) * pl.col(share) + pl.col(second) * (1 - pl.col(share))


def _transfers(
    context: Context,
    wanted: Sequence[tuple[str | dict[str, Any], Mapping[str, Any], int]],
    *,
    schedulers: Sequence[str] = ("min-rtt",),
) -> pl.DataFrame:
    tables = []
    for application, labels, designs in wanted:
        points = all_networks(context, designs=designs)
        for scheduler in schedulers:
            first = scheduler == schedulers[0]
            chosen = points if first else [network for network in points if network.design == 0]
            baseline = [network for network in chosen if network.design == 0]
            others = [network for network in chosen if network.design > 0]
            for group, compare in ((baseline, True), (others, False)):
                if group:
                    table = _experiment(context, group, application, scheduler=scheduler, compare=compare)
                    constants = {"scheduler": scheduler, **labels}
                    tables.append(table.with_columns(**{key: pl.lit(value) for key, value in constants.items()}))
    return pl.concat(tables, how="diagonal")


def _experiment(
    context: Context,
    points: Sequence[Network],
    application: str | dict[str, Any],
    *,
    control: str = "lia",
    scheduler: str = "min-rtt",
    window: str | None = None,
    delay_line: bool = False,
    compare: bool,
) -> pl.DataFrame:
    """Multipath TCP over each network and, to `compare`, TCP over each of its paths."""
    who = ("multi", "one", "two") if compare else ("multi",)
    wanted = []
    for network in points:
        own = _window(network, application) if window is None else window
        for each in who:
            connection = (
                scenarios.mptcp(
                    congestion=scenarios.control(control, context.machine["form"]),
                    scheduler=scenarios.SCHEDULERS[scheduler],
                    application=application,
                    window=own,
                )
                if each == "multi"
                else scenarios.tcp(each, application=application, window=own)
            )
            scenario = scenarios.over(network, connection, delay_line=delay_line)
            wanted.append(({"who": each, **network.labels}, scenario, network.seed))
    runs = context.run_many(wanted)
    goodput = runs.connections.select(
        "who", *_KEY, value=goodput_mbps(pl.col("bytes_delivered"), pl.col("completion_s"))
    ).pivot(on="who", index=_KEY, values="value")
    goodput = goodput.rename({name: f"goodput_{name}" for name in who})
    table = factors(points).join(goodput, on=_KEY, how="left", maintain_order="left", validate="1:1")
    delivered = runs.connections.filter(pl.col("who") == "multi").select(*_KEY, "bytes_delivered")
    table = table.join(delivered, on=_KEY, how="left", maintain_order="left", validate="1:1")
    table = table.join(_subflows(runs.subflows, "multi"), on=_KEY, how="left", maintain_order="left", validate="1:1")
    if compare:
        for path, each in ((1, "one"), (2, "two")):
            alone = runs.subflows.filter(pl.col("who") == each).select(
                *_KEY, pl.col("segments_sent", "retransmissions", "loss_rate").name.suffix(f"_tcp_{path}")
            )
            table = table.join(alone, on=_KEY, how="left", maintain_order="left", validate="1:1")
    # How the authors' scripts count what was sent again: all that was sent, less what arrived.
    table = table.with_columns(sent_beyond=pl.col("sent_bytes") / pl.col("bytes_delivered") - 1)
    return table.with_columns(**_benefits(compare=compare))


def _window(network: Network, application: str | dict[str, Any]) -> str:
    """The automatic window, but for long transfers with high BDP the largest that the testbed's kernel announces."""
    long = application == "bulk" or application in LARGE_FILES
    return scenarios.LARGEST_WINDOW if long and network.domain == HIGH.name else scenarios.AUTOMATIC


def goodput_mbps(delivered: pl.Expr, completion_s: pl.Expr) -> pl.Expr:
    """Mbit/s over the time that a transfer took, 30 s where it was not complete by then."""
    return delivered * 8e-6 / completion_s.fill_null(float(scenarios.TRANSFER_S))


def _subflows(subflows: pl.DataFrame, who: str) -> pl.DataFrame:
    """The part of the first path in the data, and retransmissions and reinjections in the segments with new data."""
    own = subflows.filter(pl.col("who") == who)
    new = pl.col("segments_sent").sum() - pl.col("retransmissions").sum() - pl.col("reinjections").sum()
    return own.group_by(_KEY, maintain_order=True).agg(
        share=pl.col("segments_sent").filter(pl.col("path") == "one").sum() / pl.col("segments_sent").sum(),
        retransmissions=pl.col("retransmissions").sum() / new,
        reinjections=pl.col("reinjections").sum() / new,
        sent_bytes=PAYLOAD_BYTES * (pl.col("segments_sent").sum() - pl.col("reinjections").sum()),
    )


def _benefits(*, compare: bool) -> dict[str, pl.Expr]:
    found = {"ab": analysis.aggregation_benefit("goodput_multi", ["capacity_mbps_1", "capacity_mbps_2"])}
    if compare:
        found["eab"] = analysis.experimental_aggregation_benefit("goodput_multi", ["goodput_one", "goodput_two"])
        found["first_is_better"] = pl.col("goodput_one") >= pl.col("goodput_two")
    return found
