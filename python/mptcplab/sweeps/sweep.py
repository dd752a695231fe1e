"""A sweep from its file to its dataset: plan, carry out, write."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mptcplab.designs.plain import Floats
from mptcplab.engines.catalogue import available, find
from mptcplab.scenario import UnsupportedError
from mptcplab.sweeps.file import Sweep, plain
from mptcplab.sweeps.frames import Label
from mptcplab.sweeps.planned import Planned, plan


@dataclass(frozen=True)
class Plan:
    """Every run of a sweep, in the order of the dataset: by point, then variant, then kernel, then repeat."""

    sweep: Sweep
    points: Floats
    values: list[list[Any]]
    """Each point's factors as the scenario file has them."""
    labels: list[dict[str, Label]]
    runs: list[Planned]

    @property
    def simulated_s(self) -> float:
        """Virtual time of all runs."""
        return sum(run.duration_s for run in self.runs)


def make_plan(sweep: Sweep, *, progress: Callable[[float], None] | None = None) -> Plan:
    """Validate the scenario of every point and variant, and plan all runs.

    Raises ScenarioError, UnsupportedError for what the engine cannot do, EngineUnavailableError.
    """
    for engine in sweep.engines:
        available(engine)
    points = sweep.points()
    values = [[factor.at(float(x)) for factor, x in zip(sweep.factors, row, strict=True)] for row in points]
    keys = [factor.key for factor in sweep.factors]
    crossed = sweep.crossed()
    labels: list[dict[str, Label]] = []
    runs: list[Planned] = []
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
            for engine, kernel in zip(sweep.engines, sweep.kernels or (None,), strict=True):
                chosen: dict[str, Label] = {} if kernel is None else {"kernel": kernel}
                for repeat in range(sweep.repeat):
                    labels.append({**own, "variant": name, **told, **chosen, "repeat": repeat})
                    runs.append(plan(scenario, scenario.seed + repeat, engine=engine))
        if progress is not None:
            progress((number + 1) / len(values))
    return Plan(sweep, points, values, labels, runs)


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
