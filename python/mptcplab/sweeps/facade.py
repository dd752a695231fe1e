"""`sweep`: from a sweep file to its dataset, in one call."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.engines.catalogue import find
from mptcplab.sweeps import dataset
from mptcplab.sweeps.carry_out import Workers, carry_out, tally
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.sweep import make_plan

if TYPE_CHECKING:
    import polars as pl

_log = logging.getLogger("mptcplab.sweep")


@dataclass(frozen=True)
class Dataset:
    """A directory of `sweep`: docs/sweeps.md has its columns. Each row begins with what says which run it is."""

    directory: Path

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

    def _frame(self, name: str) -> "pl.DataFrame":
        import polars as pl

        return pl.read_parquet(self.directory / name / "*.parquet")


def sweep(
    file: str | PathLike[str] | Sweep,
    out: str | PathLike[str],
    *,
    jobs: int | None = None,
    resume: bool = False,
    workers: Workers | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Run a scenario at every point of a design (docs/sweeps.md) and write one dataset to the directory `out`.

    Up to `jobs` runs are executed in parallel, by default one per core (one in all for real-time engines), or on
    `workers`. `resume` continues the sweep in `out` and runs only what is missing. `progress` is called with the number
    of finished runs and the total.

    Raises ScenarioError for errors in the file, UnsupportedError, OccupiedError if `out` contains something else, and
    RunsFailedError, after all other runs are done; all derive from `mptcplab.Error`.

    >>> import tempfile, mptcplab
    >>> from pathlib import Path
    >>> base = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "base.toml").write_text(base.to_toml())
    ...     _ = Path(place, "sweep.toml").write_text('scenario = "base.toml"\\nrepeat = 2')
    ...     dataset = mptcplab.sweep(Path(place, "sweep.toml"), Path(place, "out"), jobs=1)
    ...     sorted(set(dataset.connections["repeat"]))
    [0, 1]
    """
    read = file if isinstance(file, Sweep) else Sweep.load(Path(file))
    made = make_plan(read)
    directory = Path(out)
    dataset.check(directory, resume=resume)
    dataset.begin(directory, made)
    with Journal(directory / dataset.JOURNAL) as journal:
        count = tally(made.runs, journal)
        _log.info("%d points, %d runs, %d of them finished before", len(made.values), len(made.runs), count.found)
        if count.found < count.runs:
            dataset.drop(directory)

        def tell(done: int) -> None:
            if progress is not None:
                progress(count.found + done, count.runs)

        tell(0)
        carry_out(made.runs, journal, jobs=jobs or default_jobs(read.engine), workers=workers, progress=tell)
        dataset.write(directory, made, journal)
    _log.info("wrote %s", directory)
    return Dataset(directory)


def default_jobs(engine: str) -> int:
    """All cores where the clock is virtual; runs in real time would disturb one another."""
    return (os.cpu_count() or 1) if find(engine).virtual_time else 1
