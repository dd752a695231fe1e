"""A sweep from its file to its dataset: plan, carry out, write."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mptcplab.designs.plain import Floats
from mptcplab.engines.catalogue import available, find
from mptcplab.scenario import UnsupportedError
from mptcplab.sweeps.file import Sweep
from mptcplab.sweeps.frames import Label
from mptcplab.sweeps.planned import Planned, plan


@dataclass(frozen=True)
class Plan:
    """Every run of a sweep, in the order of the dataset: by point, then variant, then repeat."""

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
    available(sweep.engine)
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
            refused = find(sweep.engine).unsupported(scenario)
            if refused:
                raise UnsupportedError(sweep.engine, sweep.refused(refused))
            name = " · ".join(_text(value) for value in variant.values())
            told = {key: _cell(value if _is_number(value) else None, value) for key, value in variant.items()}
            for repeat in range(sweep.repeat):
                labels.append({**own, "variant": name, **told, "repeat": repeat})
                runs.append(plan(scenario, scenario.seed + repeat, engine=sweep.engine))
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
        writer.writerow([number, *map(_text, row)])
    return text.getvalue()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(number: float | None, value: object) -> Label:
    return _text(value) if number is None else float(number)


def _text(value: object) -> str:
    """A string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
