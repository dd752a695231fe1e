"""A sweep from its file to its dataset: plan, carry out, write."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from mptcplab.designs.plain import Floats
from mptcplab.engines.catalogue import find
from mptcplab.scenario import UnsupportedError
from mptcplab.sweeps.file import Sweep, plain
from mptcplab.sweeps.frames import Label
from mptcplab.sweeps.planned import Planned, plans

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Plan:
    """Every run of a sweep, in the order of the dataset: by point, then variant, then engine or kernel, then repeat."""

    sweep: Sweep
    points: Floats
    values: list[list[Any]]
    """Each point's factors as the scenario file has them."""
    labels: Sequence[dict[str, Label]]
    runs: Sequence[Planned]
    simulated_s: float
    """Virtual time of all runs."""


def make_plan(sweep: Sweep, *, progress: Callable[[float], None] | None = None) -> Plan:
    """Validate the scenario of every point and variant, and plan all runs.

    Raises ScenarioError, UnsupportedError for what the engine cannot do, EngineUnavailableError.
    """
    for engine in sweep.engines:
        find(engine)
    points = sweep.points()
    values = [[factor.at(float(x)) for factor, x in zip(sweep.factors, row, strict=True)] for row in points]
    keys = [factor.key for factor in sweep.factors]
    crossed = sweep.crossed()
    # What the repeats have in common; labels and runs are made of it when they are wanted.
    common: list[dict[str, Label]] = []
    planning: list[Callable[[int], Planned]] = []
    seeds: list[int] = []
    simulated_s = 0.0
    for number, row in enumerate(values):
        own: dict[str, Label] = {"point": number}
        own |= {f.key: _cell(f.number(value), value) for f, value in zip(sweep.factors, row, strict=True)}
        for variant in crossed:
            scenario = sweep.at({**dict(zip(keys, row, strict=True)), **variant})
            for engine in sweep.engines:
                refused = find(engine).unsupported(scenario)
                if refused:
                    raise UnsupportedError(engine, sweep.refused(refused))
            name = sweep.name_of(variant)
            told = {key: _cell(value if _is_number(value) else None, value) for key, value in variant.items()}
            for engine, chosen in sweep.labels():
                common.append({**own, "variant": name, **told, **chosen})
                planning.append(plans(scenario, engine=engine))
                seeds.append(scenario.seed)
                simulated_s = sum(itertools.repeat(scenario.duration_ns / 1e9, sweep.repeat), simulated_s)
        if progress is not None:
            progress((number + 1) / len(values))

    for engine in sweep.engines:
        find(engine).require()

    def label(at: int) -> dict[str, Label]:
        which, repeat = divmod(at, sweep.repeat)
        return {**common[which], "repeat": repeat}

    def run(at: int) -> Planned:
        which, repeat = divmod(at, sweep.repeat)
        return planning[which](seeds[which] + repeat)

    count = len(common) * sweep.repeat
    return Plan(sweep, points, values, Computed(count, label), Computed(count, run), simulated_s)


def design_csv(made: Plan) -> str:
    """The points with their factors as the scenario file has them."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["point", *(factor.key for factor in made.sweep.factors)])
    for number, row in enumerate(made.values):
        writer.writerow([number, *map(plain, row)])
    return text.getvalue()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(number: float | None, value: object) -> Label:
    return plain(value) if number is None else float(number)


class Computed(Sequence[T]):
    """A sequence whose item `i` is `at(i)`, made when it is asked for: a million of them take no memory."""

    def __init__(self, length: int, at: Callable[[int], T]) -> None:
        self._length = length
        self._at = at

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        places = range(self._length)[place]
        return self._at(places) if isinstance(places, int) else [self._at(each) for each in places]
