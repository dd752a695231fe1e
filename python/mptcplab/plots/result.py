"""The figures of a Result: what each shows, panel by panel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from mptcplab import registry
from mptcplab.plots import series, style
from mptcplab.plots.distributions import step_rows, steps, times_over_starts
from mptcplab.plots.panels import Frame, lines, runs_strip, stacked, waiting_bars
from mptcplab.registry import Column
from mptcplab.render.text_tables import numbered_names
from mptcplab.scenario import describe

if TYPE_CHECKING:
    from mptcplab.plots.series import Thinned
    from mptcplab.results.result import Result, Run


@dataclass(frozen=True)
class Panel:
    """One plot with its data; the data stand apart so that a page can hold them compactly."""

    spec: Mapping[str, Any]
    """Vega-Lite, without the data."""
    data: Mapping[str, pl.DataFrame]

    def __post_init__(self) -> None:
        """Vega keeps groups, scales and titles in plain objects of JavaScript, which have members of their own."""
        object.__setattr__(self, "spec", _with_other_names(self.spec))
        object.__setattr__(self, "data", {name: _with_other_values(frame) for name, frame in self.data.items()})


_TAKEN: Final = (
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf"),
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__"),
)
"""Members of every object."""
_NOTHING: Final = "\u200b"
"""A space without width: the name looks the same."""


def _with_other_values(frame: pl.DataFrame) -> pl.DataFrame:
    columns = frame.select(pl.col(pl.String))
    if not any(column.is_in(_TAKEN).any() for column in columns):
        return frame
    return frame.with_columns(pl.col(pl.String).replace({name: name + _NOTHING for name in _TAKEN}))


def _with_other_names(part: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same with the other names: alone, as in a domain, or quoted in an expression."""
    if isinstance(part, Mapping):
        return {key: _with_other_names(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_other_names(item) for item in part]
    if not isinstance(part, str):
        return part
    if part in _TAKEN:
        return part + _NOTHING
    for name in _TAKEN if '"' in part else ():
        part = part.replace(f'"{name}"', f'"{name}{_NOTHING}"')
    return part


@dataclass(frozen=True)
class Figure:
    """Panels under one another that show the same quantity."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    over_time: bool = True
    """Whether its panels have an axis of time, which zoom together."""


def figures(result: "Result", *, without_colour: bool = False) -> tuple[Figure, ...]:
    """Every figure of this result; time series show the first run. `without_colour` lines differ by dash and marker."""
    run = result.runs[0][1]
    drawn = [_across_runs(result)] if len(result.runs) > 1 else []
    drawn += [figure for figure in (transfers(result),) if figure.panels]
    if run.samples.is_empty():
        return tuple(drawn)
    frame, colours = _frame(result), colours_of(result)
    more = len(set(colours.values())) < len(colours)
    marks = style.path_lines(colours, without_colour=without_colour) if more or without_colour else None
    which = f" Run {result.runs[0][0]}, seed {run.seed}." if len(result.runs) > 1 else ""
    by_path = {
        row["name"]: row["paths"] for row in run.connections.unique("name", maintain_order=True).iter_rows(named=True)
    }

    def of_connections(
        name: str, title: str, caption: str, unit: str, pick: Callable[[str], "Thinned"], *, stack: bool = False
    ) -> Figure:
        panels: list[Panel] = []
        behind = 1
        for connection in list(by_path)[: series.PANELS]:
            thinned = pick(connection)
            if thinned.points.is_empty():
                continue
            behind = max(behind, thinned.samples_per_point)
            heading = _heading(run, connection, summed=stack)
            draw = stacked if stack else lines
            own = {path: colours[path] for path in by_path[connection]}
            alike = len(set(own.values())) < len(own) or (without_colour and len(own) > 1)
            chart = draw(heading, unit, frame, thinned.points, own, marks=marks if alike else None)
            panels.append(_panel(chart, {"points": thinned.points}))
        notes = _notes(behind, "mean", len(by_path), "connections")
        return Figure(name, title, f"{caption}{notes}{which}", tuple(panels))

    drawn += [
        of_connections(
            "goodput",
            "Goodput by subflow",
            "New data in order on its subflow, by path; the line is the total. A spike follows the repair of a loss.",
            "goodput (Mbit/s)",
            lambda name: series.goodput(run, name, by_path[name]),
            stack=True,
        ),
        of_connections(
            "windows",
            "Congestion windows",
            "Congestion window of each subflow.",
            "window (segments)",
            lambda name: series.of_subflows(run, name, "cwnd_segments", 1.0),
        ),
        of_connections(
            "rtts",
            "Smoothed RTTs",
            "The sender's smoothed round-trip time of each subflow.",
            "smoothed RTT (ms)",
            lambda name: series.of_subflows(run, name, "srtt_s", 1e3),
        ),
        *(
            of_connections(
                column.name,
                _titled(column),
                f"{column.summary[:1].upper()}{column.summary[1:]}; as recorded by the congestion control.",
                column.name.replace("_", " ") if not column.unit else f"{column.name} ({column.unit})",
                lambda name, column=column: series.of_subflows(run, name, column.name, 1.0),  # type: ignore[misc]
            )
            for column in shown_columns(result)
        ),
        _waiting(run, by_path, which),
        _queues(run, frame, colours, which),
    ]
    return tuple(figure for figure in drawn if figure.panels)


_CAPITALS: Final = ("lia", "olia", "rtt")


def _titled(column: Column) -> str:
    """`path_rtt_s` is "Path RTT", `lia_alpha` "LIA alpha"."""
    words = column.name.removesuffix("_s").removesuffix("_bps").split("_")
    spelled = [word.upper() if word in _CAPITALS else word for word in words]
    return " ".join([spelled[0][:1].upper() + spelled[0][1:], *spelled[1:]])


_MOST_TRANSFERS: Final = 3000
"""The most points of the figure of transfers."""


def transfers(result: "Result") -> Figure:
    """The times of transfers: their distribution by connection, and each over its start. No panels without any."""
    title = "Times of transfers"
    repeating = [row["name"] for row in result.rows("connections") if row["transfers_complete"]]
    names = list(dict.fromkeys(repeating))[: series.PANELS]
    if not names:
        return Figure("transfers", title, "", ())
    frame = result.transfers.select(
        pl.col("name").alias("series"), pl.col("start_s").alias("start"), pl.col("time_s").alias("value")
    ).drop_nulls()
    corners: list[dict[str, object]] = []
    for name in names:
        corners += step_rows(name, frame.filter(series=name)["value"].sort().to_list())
    least, middle, most = frame.select(
        pl.col("value").min(), pl.col("value").median().alias("middle"), pl.col("value").max().alias("most")
    ).row(0)
    log = least > 0 and most > 20 * middle  # few that take very long would press the rest together
    points = frame.filter(pl.col("series").is_in(names))
    behind = -(-points.height // _MOST_TRANSFERS)
    shown = points.gather_every(behind) if behind > 1 else points
    cut = f" Every {behind}th transfer is drawn below." if behind > 1 else ""
    whole = f" All {len(result.runs)} runs." if len(result.runs) > 1 else ""
    caption = f"The part of a connection's transfers that took at most so long, and how long each took.{cut}{whole}"
    panels = (
        _panel(steps("time of a transfer (s)", names, log=log), {"points": pl.DataFrame(corners)}),
        _panel(times_over_starts(names), {"points": shown}),
    )
    return Figure("transfers", title, caption, panels, over_time=False)


def shown_columns(result: "Result") -> "list[Column]":
    """The columns of `samples` that congestion controls of this result have of their own, with unit and meaning."""
    from mptcplab.plugins import loading

    document = result.scenario.document
    declared: dict[str, Column] = {}
    for sender in (*document.connections.values(), *document.traffic.values()):
        named = sender.congestion
        if named.is_plugin:
            columns = [Column(*each) for each in loading.columns(document.plugins["congestion", named.name].load())]
        else:
            entry = registry.find("congestion", named.name)
            columns = [] if entry is None else list(entry.columns)
        for column in columns:
            declared.setdefault(column.name, column)
    present = result.runs[0][1].samples.columns
    return [column for column in declared.values() if column.name in present]


def _panel(chart: alt.TopLevelMixin, data: Mapping[str, pl.DataFrame]) -> Panel:
    # The tests check every form against the schema of Vega-Lite; to do it at run time takes longer than all the rest.
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return Panel(spec, data)


def colours_of(result: "Result") -> dict[str, str]:
    """The colours of the paths and links of a result."""
    connections = result.connections["paths"].explode().drop_nulls().to_list()
    return style.path_colours([*connections, *result.subflows["path"].to_list(), *result.links["name"].to_list()])


def _queues(run: "Run", frame: Frame, colours: Mapping[str, str], which: str) -> Figure:
    names = list(dict.fromkeys(run.links["name"].to_list()))
    panels, behind = [], 1
    for name in names[: series.PANELS]:
        thinned = series.of_link(run, name, "queue_packets")
        if thinned.points.is_empty():
            continue
        behind = max(behind, thinned.samples_per_point)
        # Both directions in the link's colour, told apart by the line.
        chart = lines(
            name, "queue (packets)", frame, thinned.points, {"down": colours[name], "up": colours[name]}, dash=True
        )
        panels.append(_panel(chart, {"points": thinned.points}))
    caption = "Packets in the queue of each link, including the one being sent; down is from server to client."
    return Figure(
        "queues", "Queues", f"{caption}{_notes(behind, 'largest', len(names), 'links')}{which}", tuple(panels)
    )


_SENDINGS: Final = {
    "waited_first_s": "first sending",
    "waited_retransmission_s": "retransmission",
    "waited_timeout_s": "retransmission after a timeout",
    "waited_reinjection_s": "reinjection",
}


def _waiting(run: "Run", by_path: Mapping[str, object], which: str) -> Figure:
    """For which path, and why it was sent there, bytes waited after they had arrived."""
    panels = []
    for connection in by_path:
        points = (
            run.subflows.filter(connection=connection)
            .group_by("path", maintain_order=True)
            .agg(pl.col(name).mean() * 1e3 for name in _SENDINGS)
            .unpivot(index="path", variable_name="column", value_name="value")
            .drop_nulls("value")
            .select("path", "value", kind=pl.col("column").replace_strict(_SENDINGS))
        )
        if points["value"].sum() > 0:
            panels.append(_panel(waiting_bars(connection, list(_SENDINGS.values())), {"points": points}))
        if len(panels) == series.PANELS:
            break
    caption = (
        "How long bytes that had arrived waited for earlier ones, the mean over all bytes of the connection: by the "
        "path that brought what they waited for, and why it had been sent there."
    )
    return Figure("waiting", "Waiting for order", f"{caption}{which}", tuple(panels), over_time=False)


def _across_runs(result: "Result") -> Figure:
    several = pl.col("name").is_in(list(numbered_names(result.rows("connections"))))
    points = result.connections.select(
        connection=pl.when(several).then(pl.format("{} {}", "name", "index")).otherwise("name"),
        congestion="congestion",
        seed="seed",
        value=pl.col("goodput_bps") / 1e6,
    ).drop_nulls("value")
    caption = (
        "Goodput of each connection in each run; the bar is the mean. Colour and marker show the congestion control."
    )
    panels = () if points.is_empty() else (_panel(runs_strip(points), {"points": points}),)
    return Figure("runs", "Goodput over the runs", caption, panels, over_time=False)


def _frame(result: "Result") -> Frame:
    scenario = result.scenario
    # Also of what only another engine than the simulator can run.
    description: dict[str, Any] = describe.description(scenario.document, scenario.seed, False)
    events = [
        (event["at_ns"] / 1e9, f"{description['links'][event['link']]['name']}: {_change(event)}")
        for event in description["events"]
    ]
    return Frame(description["duration_ns"] / 1e9, description["warmup_ns"] / 1e9, tuple(sorted(events)))


def _change(event: Mapping[str, Any]) -> str:
    words = []
    for key, value in event["set"].items():
        if value is None:
            continue
        if key == "dead":
            words.append("goes down" if value else "comes back")
        elif key == "rate_bps":
            words.append(f"{value / 1e6:g} Mbit/s")
        elif key == "delay_ns":
            words.append(f"{value / 1e6:g} ms")
        else:
            words.append(f"new {key}")
    return ", ".join(words)


def _heading(run: "Run", name: str, *, summed: bool) -> str:
    rows = run.connections.filter(name=name)
    first = rows.row(0, named=True)
    kind = f"{name}: {first['protocol'].upper()}, {first['congestion']}"
    if rows.height == 1:
        return kind
    shown = f"sum of {rows.height}" if summed else f"{min(rows.height, series.MEMBERS)} of {rows.height}"
    return f"{kind} ({shown} connections)"


def _notes(behind: int, what: str, count: int, of: str) -> str:
    thinned = f" Each point is the {what} of up to {behind} samples." if behind > 1 else ""
    cut = f" The first {series.PANELS} of {count} {of} are shown." if count > series.PANELS else ""
    return thinned + cut
