"""Reads a result directory back."""

import json
from pathlib import Path
from typing import Any, Final

import polars as pl

from mptcplab.errors import Error
from mptcplab.provenance import Provenance
from mptcplab.results import inventory
from mptcplab.results.columns import FRAMES, RUN_COLUMNS, polars_schema
from mptcplab.results.result import Result, Run
from mptcplab.results.run_frames import Frames
from mptcplab.scenario import Scenario

_FOLDERS: Final = ("plugins", "traces")
"""What the scenario needs."""


class SavedResultError(Error):
    """The directory has no result, or one that cannot be read."""


def load(directory: Path) -> Result:
    """The result of a directory. Raises SavedResultError."""
    try:
        needed = ("result.json", "scenario.toml", *(f"{name}.parquet" for name in FRAMES))
        inventory.require(directory, _FOLDERS, needed)
        document = json.loads((directory / "result.json").read_text(encoding="utf-8"))
        provenance = Provenance(**document["provenance"])
        frames = {name: pl.read_parquet(directory / f"{name}.parquet") for name in FRAMES}
        scenario = Scenario.load(directory / "scenario.toml")
    except (OSError, ValueError, KeyError, TypeError, Error, pl.exceptions.PolarsError) as error:
        raise SavedResultError(
            f"{directory}: no readable result ({error}); expected a directory written with --out"
        ) from None
    for name, frame in frames.items():
        known = polars_schema(name)
        # Behind them, `samples` has the congestion controls' own.
        found = frame.select(frame.columns[: len(known)]) if name == "samples" else frame
        if found.schema != known:
            raise SavedResultError(f"{directory / name}.parquet: its columns differ from those of this version")
    runs = document.get("runs") or [{"repeat": 0, **document}]
    several = tuple((each["repeat"], _run(each, frames)) for each in runs)
    return Result(scenario=scenario, engine=document["engine"], provenance=provenance, runs=several)


def _run(document: dict[str, Any], frames: dict[str, pl.DataFrame]) -> Run:
    of_run = {
        name: frame.filter(repeat=document["repeat"]).select(frame.columns[RUN_COLUMNS:])
        for name, frame in frames.items()
    }
    said = {key: tuple(document.get(key, ())) for key in ("notes", "failures")}
    return Run(document["seed"], Frames(**of_run), live=document.get("live"), **said)
