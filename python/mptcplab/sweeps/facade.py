"""`sweep`: from a sweep file to its dataset, in one call."""

import logging
import os
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab import files
from mptcplab.engines.catalogue import find
from mptcplab.scenario import Scenario
from mptcplab.sweeps import dataset
from mptcplab.sweeps.carry_out import Workers, carry_out, tally
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.growing import grown
from mptcplab.sweeps.sweep import make_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from mptcplab.comparison.settings import Comparison

_log = logging.getLogger("mptcplab.sweep")


@dataclass(frozen=True)
class Dataset:
    """A directory of `sweep`: docs/sweeps.md has its columns. Each row begins with what says which run it is."""

    directory: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", Path(self.directory))

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

    def summary(self, metric: str | None = None) -> "Comparison":
        """The variants (and kernels or engines) compared, or without any the points; see `compare`."""
        return self.compare(metric=metric)

    def compare(
        self,
        factors: "Sequence[str] | None" = None,
        *,
        metric: str | None = None,
        baseline: "Mapping[str, object] | None" = None,
        paired: bool = True,
    ) -> "Comparison":
        """Compare the runs by `factors`, columns such as "connection.m.congestion"; without any, the sweep's variants.

        `metric` is what they are compared by: "goodput", "completion", "transfer-p95", a numeric column of connections,
        "NAME.COLUMN" for a connection of that name, or "link.NAME.DIRECTION.COLUMN". `baseline` has values of factors;
        by default the first setting is the one that others are compared to. With several networks a network is a
        sample, with one network a seed is. `paired=False` treats samples as independent.

        Raises MetricError for names that there are not.
        """
        from mptcplab.comparison.of_dataset import compare_dataset

        return compare_dataset(self, factors, metric=metric, baseline=baseline, paired=paired)

    def _frame(self, name: str) -> "pl.DataFrame":
        import polars as pl

        from mptcplab.results import inventory

        inventory.require(self.directory, (name,), ["provenance.json"])
        return pl.read_parquet(self.directory / name / "*.parquet")


def sweep(
    file: str | PathLike[str] | Sweep | Scenario,
    out: str | PathLike[str] | None = None,
    *,
    vary: "Mapping[str, Sequence[Any]] | None" = None,
    factors: "Mapping[str, Any] | None" = None,
    design: "Mapping[str, Any] | None" = None,
    engine: "str | Sequence[str]" = "sim",
    repeat: int = 1,
    jobs: int | None = None,
    resume: bool = False,
    workers: Workers | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Run a scenario at every point of a design (docs/sweeps.md) and write one dataset to the directory `out`.

    `file` is a sweep file, a `Sweep`, or a scenario with `vary`, `factors`, `design`, `engine` and `repeat`, which are
    those of `Sweep.build`. Without `out` the dataset is in a temporary directory, for as long as the Dataset is used.

    Up to `jobs` runs are executed in parallel, by default one per core (one in all for real-time engines), or on
    `workers`. `resume` continues the sweep in `out` and runs only what is missing. `progress` is called with the number
    of finished runs and the total.

    Raises ScenarioError for errors in the file, UnsupportedError, OccupiedError if `out` contains something else,
    MetricError for an adaptive design that cannot follow its response, and RunsFailedError, after all other runs are
    done; all derive from `mptcplab.Error`.

    >>> import mptcplab
    >>> base = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    >>> dataset = mptcplab.sweep(base, vary={"duration": ["1 s", "2 s"]}, repeat=2, jobs=1)
    >>> sorted(set(dataset.connections["variant"]))
    ['1 s', '2 s']
    """
    if isinstance(file, Scenario):
        read = Sweep.build(file, vary, factors=factors, design=design, engine=engine, repeat=repeat)
    elif vary is not None or factors is not None or design is not None or engine != "sim" or repeat != 1:
        raise ValueError("vary, factors, design, engine and repeat are for a scenario; a sweep has its own")
    else:
        read = file if isinstance(file, Sweep) else Sweep.load(Path(file))
    made = make_plan(read)
    temporary = ExitStack()
    written = Dataset(temporary.enter_context(files.scratch("mptcplab-sweep-")) if out is None else Path(out))
    directory = written.directory
    if out is None:
        weakref.finalize(written, temporary.close)
    with dataset.session(directory, resume=resume) as journal:
        limit = jobs or default_jobs(*read.engines)
        made = grown(made, journal, lambda plan: carry_out(plan.runs, journal, jobs=limit, workers=workers))
        dataset.begin(directory, made)
        count = tally(made.runs, journal)
        _log.info("%d points, %d runs, %d of them finished before", len(made.values), len(made.runs), count.found)
        if count.found < count.runs:
            dataset.drop(directory)

        def tell(done: int) -> None:
            if progress is not None:
                progress(count.found + done, count.runs)

        tell(0)
        carry_out(made.runs, journal, jobs=limit, workers=workers, progress=tell)
        dataset.write(directory, made, journal)
    _log.info("wrote %s", directory)
    return written


def default_jobs(*engines: str) -> int:
    """All cores where the clock is virtual; runs in real time would disturb one another."""
    return (os.cpu_count() or 1) if all(find(engine).virtual_time for engine in engines) else 1
