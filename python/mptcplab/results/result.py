"""What an engine returns: four data frames, the document of `--json`, and a directory of files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.provenance import Provenance
from mptcplab.results import directory as files
from mptcplab.results import json_document, remarks
from mptcplab.results.columns import FRAMES, polars_schema
from mptcplab.results.outcome_rows import named_rows
from mptcplab.results.run_frames import Tables, frame_of_rows

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars as pl

    from mptcplab.plots.charts import Plots
    from mptcplab.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a scenario with one seed: the frames of docs/results.md without `repeat` and `seed`.

    A frame is made when it is asked for first.
    """

    seed: int
    tables: Tables
    notes: tuple[str, ...] = ()
    """Remarks on how to read these numbers, one sentence each."""
    live: "Mapping[str, Any] | None" = None
    """Of an engine in real time: how late packets came, whether the run is valid, counters of the kernel, programs."""
    failures: tuple[str, ...] = ()
    """What the scenario asked for and did not happen, such as a program that ended with an error."""

    @property
    def connections(self) -> "pl.DataFrame":
        """One row per connection."""
        return self.tables.frame("connections")

    @property
    def subflows(self) -> "pl.DataFrame":
        """One row per subflow."""
        return self.tables.frame("subflows")

    @property
    def links(self) -> "pl.DataFrame":
        """One row per direction of a link."""
        return self.tables.frame("links")

    @property
    def samples(self) -> "pl.DataFrame":
        """The time series of subflows and links."""
        return self.tables.frame("samples")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of `connections`, `subflows` or `links` by the names of their columns; makes no data frame."""
        rows = self.tables.rows(name)
        if rows is None:
            return self.tables.frame(name).to_dicts()
        return named_rows(name, rows)

    def __eq__(self, other: object) -> bool:
        """Whether all that was found is the same; null equals null."""
        if not isinstance(other, Run):
            return NotImplemented
        ours = (self.seed, self.notes, self.live, self.failures)
        if ours != (other.seed, other.notes, other.live, other.failures):
            return False
        return all(self.tables.frame(name).equals(other.tables.frame(name)) for name in FRAMES)

    __hash__ = None  # type: ignore[assignment]  # as the frames


@dataclass(frozen=True)
class Result:
    """The runs of one scenario on one engine; docs/results.md describes every column and its unit."""

    scenario: "Scenario"
    engine: str
    provenance: Provenance
    runs: tuple[tuple[int, Run], ...]
    """Each run with its number, in the order of the numbers; an interrupted series has fewer than were asked for."""

    def __repr__(self) -> str:
        from mptcplab.render import short

        return short.of_result(self)

    @cached_property
    def connections(self) -> "pl.DataFrame":
        """One row per connection and run."""
        return self._frame("connections")

    @cached_property
    def subflows(self) -> "pl.DataFrame":
        """One row per subflow and run."""
        return self._frame("subflows")

    @cached_property
    def links(self) -> "pl.DataFrame":
        """One row per direction of a link and run."""
        return self._frame("links")

    @cached_property
    def samples(self) -> "pl.DataFrame":
        """The time series of subflows and links, one long frame."""
        return self._frame("samples")

    @cached_property
    def transfers(self) -> "pl.DataFrame":
        """One row per transfer of `requests` and `flows` that became complete, in the order of completion.

        >>> import mptcplab
        >>> application = {"kind": "requests", "size": "100 kB"}
        >>> changes = {"measure.warmup": "0 s", "connection.download.application": application}
        >>> result = mptcplab.run(mptcplab.Scenario.load("two-equal-paths").with_(changes, duration="2 s"))
        >>> result.transfers["size_bytes"].unique().to_list()
        [100000]
        """
        import polars as pl

        names = {
            "transfer_starts_s": "start_s",
            "transfer_sizes_bytes": "size_bytes",
            "transfer_times_s": "time_s",
            "transfer_sender_times_s": "sender_time_s",
            **{f"transfer_{name}": name for name in ("paths", "path_bytes", "path_segments", "timeout_times_s")},
        }
        rows = self.connections.select("repeat", "seed", "name", "index", *names)
        rows = rows.filter(pl.col("transfer_times_s").list.len() > 0)
        return rows.explode(list(names)).rename(names)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of `connections`, `subflows` or `links`, each with `repeat` and `seed`; makes no data frame.

        >>> import mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> [row["path"] for row in mptcplab.run(scenario).rows("subflows")]
        ['left', 'right']
        """
        return [{"repeat": number, "seed": run.seed} | row for number, run in self.runs for row in run.rows(name)]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how to read these numbers, each once: those of the runs, and several stable states over seeds."""
        of_runs = dict.fromkeys(note for _, run in self.runs for note in run.notes)
        return (*of_runs, *remarks.of_seeds(self.rows("connections")))

    @property
    def failures(self) -> tuple[str, ...]:
        """What went wrong in runs that otherwise completed, each once."""
        return tuple(dict.fromkeys(failure for _, run in self.runs for failure in run.failures))

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> "Result":
        """Load the result that `save` or `mptcplab run --out` wrote to `directory`.

        Raises results.saved.SavedResultError, an `mptcplab.Error`, when the
        directory has no result.

        >>> import tempfile, mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> result = mptcplab.run(scenario)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     again = mptcplab.Result.load(result.save(directory + "/out"))
        >>> again.samples.equals(result.samples), again == result
        (True, True)
        """
        from mptcplab.results import saved

        return saved.load(Path(directory))

    @property
    def plot(self) -> "Plots":
        """The figures: `result.plot.goodput()`, `.windows()`, `.rtts()`, `.queues()`, `.runs()`."""
        from mptcplab.plots.charts import Plots  # altair loads slowly

        return Plots(self)

    def to_pandas(self, frame: str = "connections") -> "pandas.DataFrame":
        """A frame (`connections`, `subflows`, `links` or `samples`) as a pandas data frame; needs pandas.

        Raises ValueError for any other name, ImportError if pandas is not installed.

        >>> import mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> mptcplab.run(scenario).to_pandas("links")["name"].unique().tolist()
        ['left', 'right']
        """
        if frame not in FRAMES:
            raise ValueError(f"there is no frame {frame!r}; choose from {', '.join(FRAMES)}")
        import pandas as pd  # pyright: ignore[reportMissingImports]  # optional

        data: pl.DataFrame = getattr(self, frame)
        return pd.DataFrame(data.to_dict(as_series=False), columns=data.columns)

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        from mptcplab.render import html_tables

        return html_tables.of_result(self)

    def to_dict(self, *, samples_file: str | None = None) -> dict[str, Any]:
        """The JSON document (docs/results.md); its key `samples` is `samples_file`, the name of the file next to it.

        >>> import mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> mptcplab.run(scenario, seed=7).to_dict()["provenance"]["seed"]
        7
        """
        return json_document.build(self, samples_file=samples_file)

    def to_json(self, *, samples_file: str | None = None) -> str:
        """`to_dict` as text: two spaces of indentation, a line feed at the end.

        >>> import json, mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> result = mptcplab.run(scenario)
        >>> json.loads(result.to_json()) == result.to_dict()
        True
        """
        return json.dumps(self.to_dict(samples_file=samples_file), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def report(self) -> str:
        """The report: one HTML page with tables, plots and provenance, which works offline.

        >>> import mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> mptcplab.run(scenario).report().startswith("<!doctype html>")
        True
        """
        from mptcplab import plots
        from mptcplab.render import report  # altair and vl-convert load slowly

        return report.render(self, plots.figures(self))

    def save(self, directory: str | PathLike[str], captures: str | PathLike[str] | None = None) -> Path:
        """Write the frames (Parquet), result.json, scenario.toml, report.html and plots/ to `directory`.

        The directory is written completely or not at all. An earlier result is replaced. The captures (*.pcapng) in
        the directory `captures`, which must be on the same file system, are moved to captures/ there.

        Raises results.directory.OccupiedError if `directory` contains anything else, OSError if it cannot be written.

        >>> import tempfile, mptcplab
        >>> scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     written = mptcplab.run(scenario).save(directory + "/out")
        ...     sorted(file.name for file in written.glob("*.parquet"))
        ['connections.parquet', 'links.parquet', 'samples.parquet', 'subflows.parquet']
        """
        return files.save(self, Path(directory), None if captures is None else Path(captures))

    def _frame(self, name: str) -> "pl.DataFrame":
        import polars as pl  # loads slowly, and a table on the terminal needs none

        schema = polars_schema(name)
        if len(self.runs) > 1 and name != "samples":
            # One frame out of all rows: a frame for each of many runs takes longer than the runs.
            rows = [(number, run.seed, run.tables.rows(name)) for number, run in self.runs]
            if all(each is not None for _, _, each in rows):
                return frame_of_rows(
                    name, ((number, seed, *row) for number, seed, each in rows for row in each or ()), with_run=True
                )
        frames = [
            run.tables.frame(name).select(
                pl.lit(number, dtype=schema["repeat"]).alias("repeat"),
                pl.lit(run.seed, dtype=schema["seed"]).alias("seed"),
                pl.all(),
            )
            for number, run in self.runs
        ]
        return pl.concat(frames, how="diagonal") if frames else schema.to_frame()
