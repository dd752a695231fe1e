"""The tables of a run: data frames, or what they are made of when somebody asks for them.

A short simulation takes less time than its four data frames, and most of a long series are never looked at one by one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mptcplab.results.columns import FRAMES, polars_schema
from mptcplab.results.outcome_rows import Named, Names, Rows, named_links, rows_of

if TYPE_CHECKING:
    import polars as pl
    from polars.datatypes import DataTypeClass

    from mptcplab._core import LinkSamples, Outcome, SimulatedOutcome, SimulatedSamples, SubflowSamples

C = TypeVar("C")


class Tables(Protocol):
    """The tables `connections`, `subflows`, `links` and `samples` of one run."""

    def frame(self, name: str) -> "pl.DataFrame":
        """A table as a data frame without the columns `repeat` and `seed`; the same one each time."""
        ...

    def rows(self, name: str) -> Rows | None:
        """The same as rows; None where there is only the frame."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Tables that are data frames already."""

    connections: "pl.DataFrame"
    subflows: "pl.DataFrame"
    links: "pl.DataFrame"
    samples: "pl.DataFrame"

    def frame(self, name: str) -> "pl.DataFrame":
        """See `Tables`."""
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def rows(self, name: str) -> None:
        """See `Tables`."""


class OutcomeTables:
    """Tables made of an outcome of the core when they are asked for."""

    __slots__ = ("_frames", "_names", "_outcome")

    def __init__(self, names: Names, outcome: "Outcome | SimulatedOutcome") -> None:
        self._names = names
        self._outcome: Outcome | SimulatedOutcome | None = outcome
        self._frames: dict[str, pl.DataFrame] = {}

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """With arrays for the samples, which the core alone can hold otherwise."""
        outcome = self._outcome
        if outcome is not None:
            outcome = {
                "summary": outcome["summary"],
                "subflow_samples": _arrays(outcome["subflow_samples"]),
                "link_samples": _arrays(outcome["link_samples"]),
            }
        return None, {"_names": self._names, "_outcome": outcome, "_frames": self._frames}

    def frame(self, name: str) -> "pl.DataFrame":
        """See `Tables`."""
        outcome = self._outcome
        frame = self._frames.get(name)
        if frame is None:
            assert outcome is not None, "it is there until there are all frames"
            frame = self._frame(outcome, name)
            self._frames[name] = frame
            if len(self._frames) == len(FRAMES):
                self._outcome = None
        return frame

    def rows(self, name: str) -> Rows | None:
        """See `Tables`."""
        outcome = self._outcome
        return None if outcome is None or name == "samples" else self._rows(outcome, name)

    def _frame(self, outcome: "Outcome | SimulatedOutcome", name: str) -> "pl.DataFrame":
        if name == "samples":
            return _samples(self._names, outcome)
        return frame_of_rows(name, self._rows(outcome, name))

    def _rows(self, outcome: "Outcome | SimulatedOutcome", name: str) -> Rows:
        return rows_of(name, self._names, json.loads(outcome["summary"]))


def frame_of_rows(name: str, rows: Iterable[Sequence[object]], *, with_run: bool = False) -> "pl.DataFrame":
    """Rows as a data frame; `with_run` when each begins with its `repeat` and `seed`."""
    import polars as pl  # loads slowly, and many runs are never looked at as frames

    schema = polars_schema(name, with_run=with_run)
    # By columns: polars reads rows of mixed types one value at a time.
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [_series(column, cells, dtype) for (column, dtype), cells in zip(schema.items(), columns, strict=True)]
    )


def _series(name: str, cells: Sequence[object], dtype: "DataTypeClass | pl.DataType") -> "pl.Series":
    import polars as pl

    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.List) and any(cell is not None for cell in cells):
        # polars makes a series of each inner list, and for the requests of many runs that takes longer than to simulate
        # them; as JSON it reads them in a tenth of the time.
        texts = [None if cell is None else json.dumps(cell, allow_nan=False) for cell in cells]
        return pl.Series(name, texts, dtype=pl.String).str.json_decode(dtype)
    return pl.Series(name, cells, dtype=dtype, strict=True)


def _samples(names: Names, outcome: "Outcome | SimulatedOutcome") -> "pl.DataFrame":
    import polars as pl

    summary = json.loads(outcome["summary"])
    parts = [pl.DataFrame(schema=polars_schema("samples", with_run=False))]
    subflows, links = _arrays(outcome["subflow_samples"]), _arrays(outcome["link_samples"])
    if subflows is not None:
        parts.append(_subflow_samples(subflows, names, summary["connections"]))
    if links is not None:
        parts.append(_link_samples(links, named_links(names, summary)))
    # Columns of congestion controls' own stand last.
    return pl.concat(parts, how="diagonal")


def _arrays(samples: "C | SimulatedSamples[C] | None") -> "C | None":
    """The columns of samples, which a simulation leaves to be asked for."""
    from mptcplab._core import SimulatedSamples

    return samples.columns() if isinstance(samples, SimulatedSamples) else samples


def _subflow_samples(
    samples: "SubflowSamples", names: Names, connections: Sequence[Mapping[str, Any]]
) -> "pl.DataFrame":
    import polars as pl

    # One row per subflow, found by (connection, subflow): the samples carry indices only.
    who = pl.DataFrame(
        [
            (number, position, names.kinds[row["kind"]]["name"], row["index"], names.paths[subflow["path"]])
            for number, row in enumerate(connections)
            for position, subflow in enumerate(row["subflows"])
        ],
        schema={"who": pl.UInt32, "subflow": pl.UInt32, "connection": pl.String, "index": pl.UInt32, "path": pl.String},
        orient="row",
    )
    own = samples["own"]
    plain = {"who" if name == "connection" else name: column for name, column in samples.items() if name != "own"}
    values = pl.DataFrame({**plain, **own})
    joined = values.join(who, on=["who", "subflow"], how="left", maintain_order="left", validate="m:1")
    return _as_samples(joined, "subflow", tuple(own))


def _link_samples(samples: "LinkSamples", links: Named) -> "pl.DataFrame":
    import polars as pl

    values = pl.DataFrame(dict(samples))
    which = values["link"]
    named = values.with_columns(
        link=pl.Series("link", [row["name"] for row in links], dtype=pl.String).gather(which),
        direction=pl.Series("direction", [row["direction"] for row in links], dtype=pl.String).gather(which),
    )
    return _as_samples(named, "link")


def _as_samples(values: "pl.DataFrame", kind: str, own: Sequence[str] = ()) -> "pl.DataFrame":
    """The columns of `samples` in their order, and behind them `own`; those of the other kind null, NaN null."""
    import polars as pl

    columns = [
        (pl.lit(kind) if name == "kind" else pl.col(name) if name in values.columns else pl.lit(None))
        .cast(dtype)
        .alias(name)
        for name, dtype in polars_schema("samples", with_run=False).items()
    ]
    return values.select(*columns, *own).with_columns(pl.col(pl.Float64).fill_nan(None))
