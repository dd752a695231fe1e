"""A scenario in several settings, all on the same seeds: carried out as a sweep, summarised as a comparison."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mptcplab import files
from mptcplab.comparison.asked import check
from mptcplab.comparison.max_min import shares_of, with_shares
from mptcplab.comparison.of_dataset import chosen
from mptcplab.comparison.saving import save
from mptcplab.comparison.summary import summarise
from mptcplab.sweeps import dataset
from mptcplab.sweeps.carry_out import carry_out, tally
from mptcplab.sweeps.facade import default_jobs
from mptcplab.sweeps.frames import collect
from mptcplab.sweeps.sweep import make_plan

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.comparison.settings import Comparison
    from mptcplab.sweeps.file import Sweep

REPEAT: Final = 20
"""Seeds of each setting, where nobody says how many."""
MOST: Final = 200
"""Seeds that `until` goes up to, where nobody says how many."""
_MARGIN: Final = 1.1
"""More seeds than the estimate: the spread of further seeds is not known yet."""


@dataclass(frozen=True)
class Until:
    """When there are enough seeds."""

    part: float
    """Half of every setting's interval, as a part of its mean."""
    most: int = MOST


def compare_settings(
    sweep: "Sweep",
    *,
    metric: str | None = None,
    baseline: Mapping[str, object] | None = None,
    until: Until | None = None,
    jobs: int | None = None,
    out: Path | None = None,
    resume: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> "Comparison":
    """Run every setting on the same seeds, and compare; a dataset and the comparison go to `out`.

    With `until` seeds are added, in a few steps, until the intervals are narrow enough or there are `until.most`; the
    notes say which, and how many more it would take. Raises what `mptcplab.sweep` raises, and MetricError.
    """
    made = make_plan(sweep)
    check(made, metric, baseline)
    shares = shares_of(sweep, metric)
    place = nullcontext(str(out)) if out is not None else files.scratch("mptcplab-compare-")
    with place as name, dataset.session(Path(name), resume=resume) as journal:
        directory = Path(name)
        while True:
            dataset.begin(directory, made)
            count = tally(made.runs, journal)
            left = max(1, count.runs - count.found)

            def tell(done: int, left: int = left, repeat: int = sweep.repeat) -> None:
                if progress is not None:
                    progress(f"{repeat} seeds", done / left)

            carry_out(made.runs, journal, jobs=jobs or default_jobs(*sweep.engines), progress=tell)
            frames = with_shares(collect(made.labels, made.runs, journal).frames(), shares)
            found = _summary(sweep, frames, metric, baseline, until)
            more = None if until is None else _more(found, sweep.repeat, until)
            if more is None:
                if out is not None:
                    dataset.write(directory, made, journal)
                    save(found, directory)
                return found
            sweep = sweep.with_repeat(more)
            made = make_plan(sweep)


def _summary(
    sweep: "Sweep",
    frames: "Mapping[str, pl.DataFrame]",
    metric: str | None,
    baseline: Mapping[str, object] | None,
    until: Until | None,
) -> "Comparison":
    connections = frames["connections"]
    found = summarise(
        frames,
        chosen(connections, [factor.key for factor in sweep.factors]),
        title=sweep.scenario.title,
        engine=", ".join(sweep.engines),
        metric=metric,
        baseline=baseline,
    )
    return found if until is None else found.with_notes(_said(found, sweep.repeat, until))


def _more(found: "Comparison", repeat: int, until: Until) -> int | None:
    """How many seeds to go on with; None when it is enough, or as many as there may be."""
    if repeat >= until.most or (found.widest is not None and found.widest <= until.part):
        return None
    # Not more than three times as many at once: an estimate from few seeds may be far off.
    estimate = round(found.wanted(until.part) * _MARGIN)
    return min(until.most, max(repeat + 1, min(estimate, 3 * repeat)))


def _said(found: "Comparison", repeat: int, until: Until) -> str:
    widest = found.widest
    if widest is None:
        return "How narrow the intervals are is not known for all settings: at least one has no mean, or none but 0."
    bound = f"± {100 * until.part:g} %"
    if widest <= until.part:
        widest_is = f"the widest is ± {100 * widest:.2f} %"
        return f"All intervals are within {bound} of their mean after {repeat} seeds; {widest_is}."
    return (
        f"The widest interval is ± {100 * widest:.2f} % of its mean after {repeat} seeds, the most allowed; "
        f"{bound} would take about {found.wanted(until.part)} seeds."
    )
