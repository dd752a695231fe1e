"""Figures 4.7 to 4.10 and 5.1 to 5.4: throughput over time, second by second as iperf3 prints it."""

import statistics
from collections.abc import Mapping
from typing import Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Claim, Context, below, mean_of
from mptcplab.reproduce import Found as Mean

from .lab import Cell, Found
from .networks import PATHS, WORDS
from .study import Judged, Results, Study, truth

_SAMPLE_MS: Final = 1000


def variation(found: Found, path: str) -> Mean:
    """Standard deviation over mean of the rates of the seconds 3 to 9, of all runs.

    In real time a program begins and ends a little later than the scenario.
    """
    each = []
    for samples in found.samples:
        rates = samples.filter((pl.col("path") == path) & pl.col("time_s").is_between(2.5, 9.5))[
            "goodput_bps"
        ].to_list()
        if len(rates) > 1 and statistics.fmean(rates) > 0:
            each.append(statistics.stdev(rates) / statistics.fmean(rates))
    return mean_of(each)


def _alone(direction: str) -> Mapping[str, Cell]:
    return {path: Cell("B", (path,), direction, sample_ms=_SAMPLE_MS, varying=1) for path in PATHS["B"]}


def _both(direction: str) -> Mapping[str, Cell]:
    return {"both": Cell("B", PATHS["B"], direction, sample_ms=_SAMPLE_MS, varying=1)}


def _chart(series: Mapping[str, pl.DataFrame]) -> alt.TopLevelMixin:
    frame = pl.concat(
        [
            samples.select("time_s", rate=pl.col("goodput_bps") / 1e6, path=pl.lit(WORDS[path]))
            for path, samples in series.items()
        ]
    )
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("rate:Q", title="goodput, Mbit/s"),
            color=alt.Color("path:N", sort=None, title=None),
        )
        .properties(width=420, height=200)
    )
    return chart


def _claims(key: str, wifi: Mean, ethernet: Mean, where: str) -> list[Claim]:
    told = f"coefficient of variation {wifi:.3f} by Wi-Fi, {ethernet:.3f} by Ethernet"
    if key == "unsteady":
        return [
            truth(
                key,
                f"{where}: the rate by Wi-Fi varies",
                told,
                below(Mean(0.0), wifi, whole=1.0),
            )
        ]
    return [truth(key, f"{where}: Ethernet is steadier than Wi-Fi", told, below(ethernet, wifi))]


def _a(key: str, direction: str) -> Study:
    def judge(found: Results, _: Context) -> Judged:
        each = {path: variation(found[path], path) for path in PATHS["B"]}
        series = {path: found[path].samples[0] for path in PATHS["B"]}
        frame = pl.DataFrame(
            [{"path": WORDS[path], "Mbit/s": found[path].mbps, "variation": v} for path, v in each.items()]
        )
        return Judged(
            _claims(key, each["wifi"], each["ethernet"], "A"),
            [("Scenario A: TCP with one path", frame)],
            [("Scenario A: TCP over Wi-Fi and over Ethernet, second by second", _chart(series))],
        )

    return Study(lambda _: _alone(direction), judge)


def _b(key: str, direction: str, *, beside_a: bool = False) -> Study:
    def cells(_: bool) -> Mapping[str, Cell]:
        return {**_both(direction), **(_alone(direction) if beside_a else {})}

    def judge(found: Results, _: Context) -> Judged:
        each = {path: variation(found["both"], path) for path in PATHS["B"]}
        series = {path: found["both"].samples[0].filter(pl.col("path") == path) for path in PATHS["B"]}
        frame = pl.DataFrame([{"subflow": WORDS[path], "variation": v} for path, v in each.items()])
        claims = _claims(key, each["wifi"], each["ethernet"], "B")
        if beside_a:
            alone = variation(found["ethernet"], "ethernet")
            claims.append(
                truth(
                    "less-than-a",
                    "The Ethernet subflow of B is less steady than TCP over Ethernet in A",
                    f"{each['ethernet']:.3f} against {alone:.3f}",
                    below(alone, each["ethernet"]),
                )
            )
        return Judged(
            claims,
            [("Scenario B: variation of the subflows", frame)],
            [("Scenario B: the subflows of one connection, second by second", _chart(series))],
        )

    return Study(cells, judge)


figure_4_7 = _a("unsteady", "down")
figure_4_8 = _a("steady", "down")
figure_4_9 = _a("unsteady", "up")
figure_4_10 = _a("steady", "up")
figure_5_1 = _b("unsteady", "down")
figure_5_2 = _b("steady", "down")
figure_5_3 = _b("unsteady", "up")
figure_5_4 = _b("steady", "up", beside_a=True)
