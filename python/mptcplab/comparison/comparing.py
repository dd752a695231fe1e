"""`compare`: settings of a scenario on the same seeds, or one scenario through several engines."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mptcplab.comparison.side_by_side import EngineComparison, side_by_side

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison
    from mptcplab.scenario import Scenario

Tell = Callable[[str, float], None]


@overload
def compare(
    scenario: "Scenario",
    engines: Sequence[str] = ...,
    *,
    vary: None = None,
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    progress: Tell | None = None,
) -> EngineComparison: ...
@overload
def compare(
    scenario: "Scenario",
    engines: Sequence[str] | None = ...,
    *,
    vary: Mapping[str, Sequence[Any]],
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    metric: str | None = None,
    baseline: Mapping[str, object] | None = None,
    until: float | None = None,
    most: int = ...,
    out: str | PathLike[str] | None = None,
    progress: Tell | None = None,
) -> "Comparison": ...
def compare(
    scenario: "Scenario",
    engines: Sequence[str] | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    metric: str | None = None,
    baseline: Mapping[str, object] | None = None,
    until: float | None = None,
    most: int = 200,
    out: str | PathLike[str] | None = None,
    progress: Tell | None = None,
) -> "Comparison | EngineComparison":
    """Compare settings on the same seeds: `vary` has keys of the scenario with their values, all of them combined.

    Each combination runs `repeat` times (20 by default) on each of `engines` ("sim" by default), with `jobs` runs at a
    time, by default as many as there are cores. `metric` is what they are compared by, as in `Dataset.compare`;
    `baseline` what to compare to, the first setting by default. `until` (0.02 is 2 %) adds seeds, up to `most`, until
    half of every interval is that part of its mean. `out` is a directory for the runs, the comparison and its report.
    Returns a Comparison: `settings`, `effects`, `frame`, `plot`, `report()`, `save()`.

    Without `vary` the scenario runs once (or `repeat` times) on each of `engines`, "sim" and "model" by default, for an
    EngineComparison: the results by engine, and `frames["connections"]`, `["subflows"]` and `["links"]` with
    `column:engine` and `column:sd:engine` per quantity, side by side.

    `progress` is called with what is under way and the fraction that is done, 0 to 1.

    Raises ScenarioError for keys and values that there are not, MetricError, UnsupportedError, before anything runs, if
    an engine does not support a setting; ValueError for fewer than two engines or a repeated one; and what `run` and
    `sweep` raise.

    >>> import mptcplab
    >>> base = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "1 s"}, duration="3 s")
    >>> key = f"connection.{next(iter(base.document.connections))}.congestion"
    >>> found = mptcplab.compare(base, vary={key: ["reno", "lia"]}, repeat=2, jobs=1)
    >>> [each.mean.n for each in found.settings]
    [2, 2]
    >>> comparison = mptcplab.compare(base)
    >>> comparison.frames["links"].select("name", "utilization:sim", "utilization:model").height > 0
    True
    """
    if vary is None:
        given = {"metric": metric, "baseline": baseline, "until": until, "out": out}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is for a comparison of settings, which vary=… names")
        return side_by_side(
            scenario, engines or ("sim", "model"), seed=seed, repeat=repeat or 1, jobs=jobs or 1, progress=progress
        )
    from mptcplab.comparison.varied import REPEAT, Until, compare_settings
    from mptcplab.sweeps.file import Sweep

    if until is not None and not 0 < until < 1:
        raise ValueError(f"until = {until!r}: expected a part of the mean, such as 0.02 for 2 %")
    base = scenario if seed is None else scenario.with_(seed=seed)
    return compare_settings(
        Sweep.build(base, vary, engine=tuple(engines or ("sim",)), repeat=repeat or REPEAT),
        metric=metric,
        baseline=baseline,
        until=None if until is None else Until(until, most),
        jobs=jobs,
        out=None if out is None else Path(out),
        progress=progress,
    )
