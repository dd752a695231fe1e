"""The networks of a study as files: each scenario that an item runs, and a sweep that runs them as the item does."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import tomli_w

from mptcplab import files
from mptcplab.engines.catalogue import available
from mptcplab.reproduce.context import Context, Wanted
from mptcplab.reproduce.papers import Paper, PaperError
from mptcplab.reproduce.report import RUNS, check
from mptcplab.results.inventory import OccupiedError
from mptcplab.scenario import Scenario
from mptcplab.sweeps.frames import Label, Runs
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.pool import Pool

SWEEP: Final = "sweep"


@dataclass
class _Point:
    """A scenario of an item, and the seeds that it runs with on an engine."""

    scenario: Scenario
    labels: Mapping[str, Label]
    engine: str
    seeds: set[int] = field(default_factory=set)

    def spans(self) -> Iterator[tuple[int, int]]:
        """The seeds as first ones and counts of consecutive ones."""
        for _, group in itertools.groupby(enumerate(sorted(self.seeds)), lambda each: each[1] - each[0]):
            seeds = [seed for _, seed in group]
            yield seeds[0], len(seeds)

    def title(self, item: str) -> str:
        """`Figure 9: control lia, n1 10`."""
        labels = ", ".join(f"{key} {value}" for key, value in self.labels.items())
        return f"{item}: {labels}" if labels else item


class _Recording(Context):
    """Remembers what the item has it run."""

    points: dict[tuple[str, str], _Point]

    def run_many(self, wanted: Sequence[Wanted], *, engine: str = "sim", samples: bool = False) -> Runs:
        """As the base, and kept."""
        read: dict[int, Scenario] = {}
        for labels, given, seed in wanted:
            scenario = read.get(id(given))
            if scenario is None:
                scenario = read[id(given)] = given if isinstance(given, Scenario) else Scenario.from_dict(given)
            key = (scenario.sha256(), engine)
            self.points.setdefault(key, _Point(scenario, labels, engine)).seeds.add(seed)
        return super().run_many(wanted, engine=engine, samples=samples)


def export(
    paper: Paper,
    item_id: str,
    target: Path,
    directory: Path,
    *,
    quick: bool = False,
    jobs: int = 1,
    progress: Callable[[str, float], None] | None = None,
) -> list[Path]:
    """Carry out an item and write its scenarios, one design point a file, and sweeps of those with equally many seeds.

    `directory`/runs keeps the runs as a repetition does. What the item runs is known only when it has run, as a later
    design may follow from what an earlier one found. Answers the files.

    Raises PaperError for an unknown item, or one without runs; OccupiedError when `target` holds something; and what
    `repeat` raises.
    """
    (study,) = paper.choose((item_id,)).values()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OccupiedError(f"{target} is not an empty directory; name another one")
    check(directory)
    available("sim")
    item = paper.published.items[item_id]
    with files.named(directory), Journal(directory / RUNS) as journal, Pool(jobs) as pool:
        kept = directory / "kept" / item_id
        context = _Recording(
            item, journal, kept, quick=quick, jobs=jobs, workers=pool, progress=progress, machine=paper.machine
        )
        context.points = {}
        study(context)
    if not context.points:
        raise PaperError(f"{paper.name}: {item.name} is calculated, not run")
    return _write(target, item_id, item.name, list(context.points.values()))


def _write(target: Path, item_id: str, name: str, points: Sequence[_Point]) -> list[Path]:
    spans = [(point, first, count) for point in points for first, count in point.spans()]
    width = len(str(len(spans)))
    texts: dict[str, str] = {}
    sweeps: dict[tuple[str, int], list[str]] = {}
    for number, (point, first, count) in enumerate(spans, start=1):
        file = f"{item_id}-{number:0{width}}.toml"
        texts[file] = point.scenario.with_(title=point.title(name), seed=first).to_toml()
        sweeps.setdefault((point.engine, count), []).append(file)
    for number, ((engine, count), names) in enumerate(sweeps.items(), start=1):
        table: dict[str, Any] = {"scenario": names, "engine": engine, "repeat": count}
        texts[f"{SWEEP}.toml" if len(sweeps) == 1 else f"{SWEEP}-{number}.toml"] = tomli_w.dumps(table)
    target.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (target / file).write_text(text, encoding="utf-8")
    return [target / file for file in texts]
