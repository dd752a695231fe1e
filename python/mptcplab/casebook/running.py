"""Runs a case: its variants over its seeds on an engine, and the checks on what came of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from mptcplab.casebook.book import NEAR, Bound, Case, CaseError, Check
from mptcplab.engines.catalogue import find
from mptcplab.engines.runner import run as run_scenario
from mptcplab.scenario import UnsupportedError

if TYPE_CHECKING:
    from mptcplab.results.result import Result


@dataclass(frozen=True)
class Found:
    """A value over the seeds."""

    mean: float
    low: float
    high: float
    """The least and the largest of any seed."""


@dataclass(frozen=True)
class Verdict:
    """A check with what was found."""

    check: Check
    found: Found
    bound: float
    """What it was held against, in the same unit."""
    holds: bool

    @property
    def relation(self) -> str:
        """`at least`, `at most` or `near`."""
        return self.check.bounds[0][0]


def run(
    case: Case,
    *,
    engine: str = "sim",
    seeds: int | None = None,
    jobs: int = 1,
    progress: Callable[[float], None] | None = None,
) -> list[Verdict]:
    """Run all variants and judge the checks, by means over `seeds` runs (the case's own number by default).

    Raises UnsupportedError for a variant that the engine cannot run, CaseError for a value that there is not, and what
    `mptcplab.run` raises.
    """
    for scenario in case.scenarios.values():
        problems = find(engine).unsupported(scenario)
        if problems:
            raise UnsupportedError(engine, problems)
    results: dict[str, Result] = {}
    for number, (variant, scenario) in enumerate(case.scenarios.items()):

        def told(part: float, done: int = number) -> None:
            if progress is not None:
                progress((done + part) / len(case.scenarios))

        results[variant] = run_scenario(
            scenario, engine=engine, repeat=seeds or case.file.seeds, jobs=jobs, progress=told
        )
    return [_judge(check, results) for check in case.file.check]


def _judge(check: Check, results: "Mapping[str, Result]") -> Verdict:
    found = _value(results[check.variant], check.what)
    kind, bound = check.bounds[0]
    limit = bound if not isinstance(bound, Bound) else bound.times * _of(bound, check, results).mean
    holds = {
        "at least": found.mean >= limit,
        "at most": found.mean <= limit,
        "near": abs(found.mean - limit) <= NEAR * abs(limit),
    }[kind]
    return Verdict(check, found, limit, holds)


def _of(bound: Bound, check: Check, results: "Mapping[str, Result]") -> Found:
    return _value(results[bound.variant], bound.what or check.what)


def _value(result: "Result", what: str) -> Found:
    """`connection.column`, `connection@path.column` or `link:NAME:WAY.column`."""
    name, _, column = what.rpartition(".")
    if name.startswith("link:"):
        _, link, way = name.split(":")
        frame = result.links.filter((pl.col("name") == link) & (pl.col("direction") == way))
    elif "@" in name:
        connection, _, path = name.partition("@")
        frame = result.subflows.filter((pl.col("connection") == connection) & (pl.col("path") == path))
    else:
        frame = result.connections.filter(pl.col("name") == name)
    if column not in frame.columns or frame.is_empty():
        raise CaseError(f"found nothing called {what!r}; expected connection.column, connection@path.column or "
                        f"link:NAME:WAY.column with a column of {', '.join(frame.columns)}")  # fmt: skip
    by_seed: Sequence[float | None] = (
        frame.group_by("seed", maintain_order=True).agg(pl.col(column).cast(pl.Float64).mean())[column].to_list()
    )
    values = [math.inf if value is None else value for value in by_seed]
    return Found(sum(values) / len(values), min(values), max(values))


def shown(what: str, value: float) -> str:
    """A value of a column with its unit: `12.3 Mbit/s`, `0.51 s`, `3.7 MB`, `0.25`."""
    column = what.rpartition(".")[2]
    if column.endswith("_bps"):
        return f"{value / 1e6:.3g} Mbit/s"
    if column.endswith("_s"):
        return f"{value:.3g} s"
    return f"{value / 1e6:.3g} MB" if "bytes" in column else f"{value:.3g}"
