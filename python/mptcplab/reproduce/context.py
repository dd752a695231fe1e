"""What the study of an item is given: the published numbers, and the means to run scenarios."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.engines.catalogue import available, find
from mptcplab.reproduce.machine import Machine, Reading
from mptcplab.reproduce.published import Item
from mptcplab.scenario import Scenario, UnsupportedError
from mptcplab.sweeps.carry_out import Workers, carry_out
from mptcplab.sweeps.frames import Label, Runs, check_labels, collect
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.planned import Planned, plan

Wanted = tuple[Mapping[str, Label], Scenario | Mapping[str, Any], int]
"""Labels, scenario (or the parsed TOML of one) and seed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost."""

    simulated_s: float
    computed_s: float
    """Computing time on one core; of a run that was kept from before, what it took then."""
    earlier: bool
    """Whether an earlier call of the command made it."""


Work = dict[str, Cost]
"""The distinct runs that an item looked at, by name. Items share runs: several are joined by `|`."""


class Context:
    """For one item of one paper."""

    def __init__(
        self,
        published: Item,
        journal: Journal,
        directory: Path,
        *,
        quick: bool = False,
        jobs: int = 1,
        workers: Workers | None = None,
        engine: str = "sim",
        progress: Callable[[str, float], None] | None = None,
        machine: Machine | None = None,
        by_text: bool = False,
    ) -> None:
        """`engine` is the engine to repeat on; a study can also run others for comparison, above all `sim`.

        Runs in virtual time are carried out by `workers`, or by `jobs` processes that `run_many` starts and ends.

        `progress` gets what is being done and the part of it that is done, 0 to 1. `by_text` takes of the paper's
        `machine` what the text alone says.
        """
        self.machine = Reading(machine or Machine(), by_text=by_text)
        """The settings of the paper's machine, by the ids of `machine.toml`."""
        self.published = published
        self.directory = directory
        """Where what takes long may be kept; the runs of `run_many` are already."""
        self.quick = quick
        """Whether a thinner design is wanted, for minutes instead of the full time."""
        self.jobs = jobs
        self.engine = engine
        self.work: Work = {}
        self.labels: set[str | float] = set()
        """Of all runs that the item looked at."""
        self._journal = journal
        self._workers = workers
        self._progress = progress

    def progress(self, what: str, part: float) -> None:
        """Say how far work is that is not done by `run_many`."""
        if self._progress is not None:
            self._progress(what, part)

    def run_many(self, wanted: Sequence[Wanted], *, engine: str = "sim", samples: bool = False) -> Runs:
        """Run all of `wanted`, in parallel, and answer the frames in this order; labels are the first columns.

        What the journal has is not run again. Equal runs under several labels are run once. `samples` keeps the time
        series too: each scenario's own `measure.sample` says how dense; without it none is taken.

        Raises ScenarioError, UnsupportedError, RunsFailedError, ValueError for a label that a column is called too.
        """
        available(engine)
        check_labels([labels for labels, _, _ in wanted])
        told = (label for labels, _, _ in wanted for label in labels.values())
        self.labels.update(label for label in told if isinstance(label, str | int | float))
        planned: list[Planned] = []
        virtual = find(engine).virtual_time
        carry_out(
            self._planned(wanted, engine, samples, planned),
            self._journal,
            # Two runs in real time at once would make each other late.
            jobs=self.jobs if virtual else 1,
            workers=self._workers if virtual else None,
            progress=lambda _: self.progress(f"{len(wanted)} runs", len(planned) / len(wanted)),
        )
        runs = collect([labels for labels, _, _ in wanted], planned, self._journal, samples=samples)
        for run in planned:
            earlier = self._journal.is_earlier(run.name)
            self.work[run.name] = Cost(run.duration_s, runs.took_s[run.name], earlier)
        return runs

    def _planned(
        self, wanted: Sequence[Wanted], engine: str, samples: bool, planned: list[Planned]
    ) -> Iterator[Planned]:
        """Each run of `wanted`, put into `planned` as well."""
        checked: dict[int, Scenario] = {}
        for _, given, seed in wanted:
            scenario = checked.get(id(given))
            if scenario is None:
                scenario = checked[id(given)] = given if isinstance(given, Scenario) else Scenario.from_dict(given)
                refused = find(engine).unsupported(scenario)
                if refused:
                    raise UnsupportedError(engine, refused)
            run = plan(scenario, seed, engine=engine, samples=samples)
            planned.append(run)
            yield run
