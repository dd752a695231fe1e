"""Answers from the journal as data frames: the columns of docs/results.md behind those that say which run it was."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from mptcplab.results.columns import FRAMES as SCHEMAS
from mptcplab.results.columns import RUN_COLUMNS
from mptcplab.results.run_frames import frame_of_rows
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.planned import Planned

Label = str | int | float | bool | None
TABLES: Final = ("connections", "subflows", "links")
_TAKEN: Final = {column.name for name in SCHEMAS for column in SCHEMAS[name][RUN_COLUMNS:]} | {"run", "seed"}


@dataclass(frozen=True)
class Runs:
    """Many runs as data frames. Every row begins with the labels of its run, its seed and its name."""

    connections: pl.DataFrame
    subflows: pl.DataFrame
    links: pl.DataFrame
    samples: pl.DataFrame | None
    """Only where they were asked for."""
    notes: Mapping[str, tuple[str, ...]]
    """What each distinct run says of its numbers, by its name; that it is not valid, above all."""
    live: Mapping[str, Mapping[str, Any]]
    """Of each run in real time, by its name: how late packets were, the kernel, what programs said."""
    took_s: Mapping[str, float]
    """Computing time of each distinct run by its name, of those found in the journal too."""

    def frames(self) -> dict[str, pl.DataFrame]:
        """The three tables by their names."""
        return {name: getattr(self, name) for name in TABLES}


def check_labels(labels: Sequence[Mapping[str, Label]]) -> None:
    """Raise ValueError for a label that would hide a column of the results."""
    wrong = sorted({name for each in labels for name in each} & _TAKEN)
    if wrong:
        raise ValueError(f"a label cannot be called {wrong[0]!r}: the results have a column of that name")


def label_frame(labels: Sequence[Mapping[str, Label]], planned: Sequence[Planned]) -> pl.DataFrame:
    """A row per run: its labels, `seed` and `run`, the name."""
    names = list(dict.fromkeys(name for each in labels for name in each))
    columns = [pl.Series(name, [each.get(name) for each in labels], strict=False) for name in names]
    return pl.DataFrame(
        [
            *columns,
            pl.Series("seed", [run.seed for run in planned], dtype=pl.UInt64),
            pl.Series("run", [run.name for run in planned], dtype=pl.String),
        ]
    )


def collect(
    labels: Sequence[Mapping[str, Label]], planned: Sequence[Planned], journal: Journal, *, samples: bool = False
) -> Runs:
    """The frames of runs that are all in the journal, in the order given."""
    check_labels(labels)
    described = label_frame(labels, planned)
    answers: dict[str, dict[str, Any]] = {}
    rows: dict[str, list[list[object]]] = {name: [] for name in TABLES}
    owners: dict[str, list[int]] = {name: [] for name in TABLES}
    series: list[pl.DataFrame] = []
    for at, run in enumerate(planned):
        if run.name not in answers:
            answers[run.name] = json.loads(journal.read(run.name))
        answer = answers[run.name]
        for name in TABLES:
            found = answer[name]
            assert isinstance(found, list)
            rows[name] += found
            owners[name] += [at] * len(found)
        if samples:
            packed = base64.b64decode(str(answer["samples"]))
            taken = pl.read_ipc(io.BytesIO(packed))
            series.append(pl.concat([described[[at] * taken.height], taken], how="horizontal"))
    took_s = {name: float(str(answer["took_s"])) for name, answer in answers.items()}
    frames = {
        name: pl.concat([described[owners[name]], frame_of_rows(name, rows[name])], how="horizontal") for name in TABLES
    }
    live = {name: answer["live"] for name, answer in answers.items() if "live" in answer}
    notes = {name: tuple(answer["notes"]) for name, answer in answers.items()}
    whole = pl.concat(series, how="diagonal") if series else None
    return Runs(**frames, samples=whole, notes=notes, live=live, took_s=took_s)
