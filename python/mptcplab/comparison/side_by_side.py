"""One scenario through several engines: the same quantities side by side, with relative differences.

Connections of one kind are alike, so what is compared is their mean, over the connections of a name and over the runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from mptcplab.engines.catalogue import find, with_kernels
from mptcplab.engines.runner import run
from mptcplab.render.text_tables import Field, Table, decimals, formatter
from mptcplab.results.result import Result

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario


@dataclass(frozen=True)
class Quantity:
    """A column that is compared, and how it is shown."""

    column: str
    header: str
    unit: str
    scale: float
    expendable: int = 0


Frame = Literal["connections", "subflows", "links"]

QUANTITIES: Final[Mapping[Frame, tuple[Quantity, ...]]] = {
    "connections": (Quantity("goodput_bps", "goodput", "Mbit/s", 1e-6),),
    "subflows": (
        Quantity("goodput_bps", "goodput", "Mbit/s", 1e-6),
        Quantity("loss_rate", "loss", "%", 1e2, 3),
        Quantity("rtt_mean_s", "RTT", "ms", 1e3, 2),
        Quantity("cwnd_mean_segments", "window", "segments", 1.0, 1),
    ),
    "links": (
        Quantity("utilization", "utilization", "%", 1e2),
        Quantity("loss_rate", "loss", "%", 1e2, 2),
        Quantity("queue_mean_packets", "queue", "packets", 1.0, 1),
    ),
}

KEYS: Final[Mapping[Frame, tuple[str, ...]]] = {
    "connections": ("name",),
    "subflows": ("connection", "path"),
    "links": ("name", "direction"),
}


def difference(value: float | None, reference: float | None) -> float | None:
    """(value − reference)/reference; nothing where either is not known or the reference is 0."""
    return None if value is None or reference is None or reference == 0 else value / reference - 1


@dataclass(frozen=True)
class EngineComparison:
    """Results of one scenario, by engine, in the order asked for; differences are relative to the first."""

    results: Mapping[str, Result]

    def __repr__(self) -> str:
        from mptcplab.render import short

        return short.of_engines(self)

    def _repr_html_(self) -> str:
        from mptcplab.render import html_tables

        return html_tables.of_engines(self)

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines in their order."""
        return tuple(self.results)

    @cached_property
    def frames(self) -> dict[Frame, pl.DataFrame]:
        """A frame of each kind with the keys, and for every quantity `column:engine`, `column:sd:engine`.

        Rows are those of the first engine, and after them what only others have (a subflow that theory leaves out).
        """
        return {frame: self._frame(frame) for frame in QUANTITIES}

    def to_dict(self) -> dict[str, Any]:
        """The document of `mptcplab compare --json`."""
        first = next(iter(self.results.values()))
        return {
            "title": first.scenario.title,
            "duration_s": first.scenario.duration_ns / 1e9,
            "engines": list(self.engines),
            "provenance": {engine: result.provenance.to_dict() for engine, result in self.results.items()},
            "notes": {engine: list(result.notes) for engine, result in self.results.items()},
            **{frame: [self._row(frame, row) for row in rows.to_dicts()] for frame, rows in self.frames.items()},
        }

    def tables(self) -> tuple[Table, ...]:
        """The same for people."""
        return tuple(self._table(frame) for frame in QUANTITIES)

    def _frame(self, frame: Frame) -> pl.DataFrame:
        keys = list(KEYS[frame])
        joined: pl.DataFrame | None = None
        for engine, result in self.results.items():
            means = _means(result, frame, engine)
            joined = means if joined is None else joined.join(means, on=keys, how="full", coalesce=True)
        assert joined is not None, "a comparison needs engines"
        order = pl.concat([_means(result, frame, engine).select(keys) for engine, result in self.results.items()])
        return order.unique(maintain_order=True, keep="first").join(joined, on=keys, how="left", maintain_order="left")

    def _row(self, frame: Frame, row: Mapping[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = {key: row[key] for key in KEYS[frame]}
        for quantity in QUANTITIES[frame]:
            reference = row[f"{quantity.column}:{self.engines[0]}"]
            document[quantity.column] = {
                engine: {
                    "mean": row[f"{quantity.column}:{engine}"],
                    "sd": row[f"{quantity.column}:sd:{engine}"],
                    "difference": difference(row[f"{quantity.column}:{engine}"], reference),
                }
                for engine in self.engines
            }
        return document

    def _table(self, frame: Frame) -> Table:
        rows = self.frames[frame]
        what = "link" if frame == "links" else "connection"
        fields = [Field(what if key == "name" else key, "", tuple(rows[key].to_list()), "text") for key in KEYS[frame]]
        for quantity in QUANTITIES[frame]:
            values = {
                engine: [
                    None if value is None else value * quantity.scale
                    for value in rows[f"{quantity.column}:{engine}"].to_list()
                ]
                for engine in self.engines
            }
            show = formatter(decimals([value for of_engine in values.values() for value in of_engine]))
            field = partial(Field, kind="number", expendable=quantity.expendable, group=quantity.header)
            for engine in self.engines:
                first = engine == self.engines[0]
                header = f"{quantity.header} {engine}" if first else engine
                fields.append(field(header, quantity.unit, tuple(map(show, values[engine]))))
                if not first:
                    apart = map(difference, values[engine], values[self.engines[0]])
                    fields.append(field("differs", "%", tuple(map(_percent, apart))))
        return Table(frame.capitalize(), tuple(fields))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:+.1f}"


def _means(result: Result, frame: Frame, engine: str) -> pl.DataFrame:
    """Per key the mean over connections and runs; the deviation is of the runs' means, null for one run."""
    data: pl.DataFrame = getattr(result, frame)
    keys = list(KEYS[frame])
    columns = [quantity.column for quantity in QUANTITIES[frame]]
    if frame == "subflows":
        # Several subflows on one path, of one connection, are one: their rates add up, the rest are means.
        data = data.group_by("repeat", "index", *keys, maintain_order=True).agg(
            pl.col("goodput_bps").sum(), *(pl.col(column).mean() for column in columns if column != "goodput_bps")
        )
    of_run = data.group_by("repeat", *keys, maintain_order=True).agg(pl.col(columns).mean())
    return of_run.group_by(keys, maintain_order=True).agg(
        expression
        for column in columns
        for expression in (
            pl.col(column).mean().alias(f"{column}:{engine}"),
            pl.col(column).std(ddof=1).alias(f"{column}:sd:{engine}"),
        )
    )


def side_by_side(
    scenario: "Scenario",
    engines: Sequence[str] = ("sim", "model"),
    *,
    seed: int | None = None,
    repeat: int = 1,
    jobs: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> EngineComparison:
    """Run a scenario on several engines, with differences from the first; `seed`, `repeat` and `jobs` as in `run`.

    `progress` is called with the current engine and the fraction of its runs that is done, 0 to 1.

    Raises UnsupportedError, before anything runs, if one of the engines does not support the scenario; ValueError for
    fewer than two engines or a repeated one; and what `run` raises.
    """
    names = engine_names(",".join(engines))
    for name in names:
        find(name).refuse(scenario)
    for name in names:
        find(name).require()
    results = {}
    for name in names:
        tell = None if progress is None else partial(progress, name)
        results[name] = run(scenario, name, seed=seed, repeat=repeat, jobs=jobs, progress=tell)
    return EngineComparison(results)


def engine_names(text: str, kernels: Sequence[str] = ()) -> Sequence[str]:
    """The engines of a list with commas, two at least and none twice; the engine linux-virtual once for each kernel.

    Raises UnknownEngineError, or ValueError with what is wrong.
    """
    asked = [name.strip() for name in text.split(",")]
    names = with_kernels(asked, kernels)
    if len(names) < 2:
        raise ValueError(f"found {text!r}; expected at least two engines, such as model,sim")
    twice = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if twice is not None:
        raise ValueError(f"found {twice!r} twice in {text!r}; expected each engine once")
    return names
