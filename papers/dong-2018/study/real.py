"""Points of §6 on `sim` and on real packets, side by side: the same scenarios with the same seeds.

The rule was set before any of it was run. A point is a network, a size and a scheduler; its transfers form pairs, one
of each engine, with the same seed and the same place in the scenario. Real packets *say the same* if the means of the
completion times differ by at most 5 %. They differ *by chance* if it is more, but within the 95 % interval of the mean
of the pairs' differences, and else they *differ*. A run that the engine calls INVALID is made again, at most twice.

For points that differ, the simulator is asked for the cause: it delivers packets at exact times, so that two of them
may compete for the same place of a queue, every time with the same outcome. Real packets are late by some tens of
microseconds. So these points are run again on `sim` with as much jitter, over several seeds: exact times are the cause
if the real mean is among the means of these seeds, or at most 5 % away.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from mptcplab.reproduce import Context, Outcome
from mptcplab.reproduce.context import Wanted
from mptcplab.sweeps.frames import Runs
from scipy import stats

from .bundles import Bundle, Key, Make, scenario, transfers

SAME: Final = 0.05
ATTEMPTS: Final = 3
"""Of a run that the engine calls INVALID."""
JITTERS: Final = ("50 us", "500 us")
"""What packets are late on average, and what a few of them are."""
JITTER_SEEDS: Final = range(1, 21)

Study = Callable[[Context], Outcome]


def beside(study: Study, bundle: Bundle, make: Make) -> Study:
    """The item as on `sim`; on another engine with the bundle on both."""

    def item(context: Context) -> Outcome:
        outcome = study(context)
        if context.engine == "sim":
            return outcome
        if context.quick and not bundle.quick:
            return _noted(outcome, f"A quick repetition runs few items on {context.engine}: this one is on sim only.")
        table, notes = compare(context, bundle, make)
        return _noted(outcome, *notes, tables=[(f"{context.engine} and sim side by side", table)])

    return item


def simulated(study: Study) -> Study:
    """An item of §5 or of theory, which has no testbed."""

    def item(context: Context) -> Outcome:
        outcome = study(context)
        if context.engine == "sim":
            return outcome
        return _noted(outcome, f"Not an item of the paper's testbed: on sim only, not on {context.engine}.")

    return item


def _noted(outcome: Outcome, *notes: str, tables: Sequence[tuple[str, pl.DataFrame]] = ()) -> Outcome:
    return replace(outcome, notes=[*notes, *outcome.notes], tables=[*tables, *outcome.tables])


def compare(context: Context, bundle: Bundle, make: Make) -> tuple[pl.DataFrame, list[str]]:
    """A row for each point and scheduler, and what they say together."""
    made, keys = scenario(bundle, make)
    pairs, notes = [], []
    for seed in range(1, (1 if context.quick else bundle.seeds) + 1):
        ours = transfers(context.run_many([({}, made, seed)]), keys)
        runs, complaint = _in_real_time(context, made, seed)
        if complaint:
            notes.append(f"Seed {seed} on {context.engine}, after {ATTEMPTS} attempts: {complaint}")
        real = transfers(runs, keys).select(
            "name", real="seconds", real_second="second", real_segments="segments", real_again="again"
        )
        pairs.append(ours.join(real, on="name"))
    whole = pl.concat(pairs)
    rows = []
    for (point, scheme), part in whole.group_by("point", "scheme", maintain_order=True):
        total = part.select(pl.exclude("name", "point", "scheme").sum()).row(0, named=True)
        rows.append(
            {
                "point": point,
                "scheduler": scheme,
                **told(part["seconds"].to_list(), part["real"].to_list()),
                "on the second path, %, sim": 100 * total["second"] / total["segments"],
                "on the second path, %, real": 100 * total["real_second"] / total["real_segments"],
                "sent again, %, sim": 100 * total["again"] / total["segments"],
                "sent again, %, real": 100 * total["real_again"] / total["real_segments"],
            }
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    causes = _jittered(context, made, keys, frame.filter(pl.col("verdict") == "differs"))
    return frame, [_together(context.engine, frame, whole), *causes, *notes]


def told(ours_s: Sequence[float | None], real_s: Sequence[float | None]) -> dict[str, Any]:
    """What the pairs of a point say; a transfer without a time did not end."""
    ended = [
        (mine, other) for mine, other in zip(ours_s, real_s, strict=True) if mine is not None and other is not None
    ]
    row: dict[str, Any] = {"pairs": len(ended), "not ended": len(ours_s) - len(ended)}
    if not ended:
        return {**row, "verdict": "none ended"}
    ours, real = np.array(ended).T
    off, half = interval((real - ours) / ours.mean())
    verdict = "the same" if abs(off) <= SAME else "by chance" if abs(off) <= half else "differs"
    times = {"sim, ms": 1e3 * float(ours.mean()), "real, ms": 1e3 * float(real.mean())}
    return {**row, **times, "difference, %": 100 * off, "± (95 %)": 100 * half, "verdict": verdict}


def interval(values: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """Mean, and half of its 95 % interval; not a number for a single value."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) if len(values) > 1 else np.nan
    return float(values.mean()), float(half)


def _in_real_time(context: Context, made: Mapping[str, Any], seed: int) -> tuple[Runs, str]:
    """The first valid run of up to three, else the last and what is wrong with it."""
    for attempt in range(1, ATTEMPTS + 1):
        # The journal tells runs apart by their scenarios; a title changes nothing else.
        runs = context.run_many([({}, {"title": f"attempt {attempt}", **made}, seed)], engine=context.engine)
        complaint = next((note for notes in runs.notes.values() for note in notes if note.startswith("INVALID")), "")
        if not complaint:
            break
    return runs, complaint


def _together(engine: str, frame: pl.DataFrame, whole: pl.DataFrame) -> str:
    verdicts = frame["verdict"].to_list()
    ended = whole.drop_nulls(["seconds", "real"])
    mean = pl.col("seconds").mean().over("point", "scheme")
    apart = ended.select((pl.col("real") - pl.col("seconds")) / mean).to_series().to_numpy()
    off, half = interval(apart)
    words = {"the same": "say the same", "by chance": "differ by chance", "differs": "differ"}
    counts = ", ".join(f"{verdicts.count(verdict)} {word}" for verdict, word in words.items())
    return (
        f"Of {len(verdicts)} points on {engine} and sim {counts}; the {len(apart)} pairs together are "
        f"{100 * off:+.1f} ± {100 * half:.1f} % apart."
    )


def _jittered(context: Context, made: Mapping[str, Any], keys: Mapping[str, Key], differing: pl.DataFrame) -> list[str]:
    """For points that differ, what `sim` finds when packets are not on time to the nanosecond."""
    if differing.is_empty():
        return []
    found = {}
    for jitter in JITTERS:
        links = {name: {**link, "jitter": jitter} for name, link in made["link"].items()}
        wanted: list[Wanted] = [({}, {**made, "link": links}, seed) for seed in JITTER_SEEDS]
        found[jitter] = pl.concat(
            transfers(context.run_many([each]), keys).with_columns(seed=pl.lit(each[2])) for each in wanted
        )
    notes = []
    for row in differing.iter_rows(named=True):
        parts = []
        reached = False
        for jitter, made_with in found.items():
            own = made_with.filter((pl.col("point") == row["point"]) & (pl.col("scheme") == row["scheduler"]))
            means = own.group_by("seed").agg(ms=1e3 * pl.col("seconds").mean())["ms"].drop_nulls().to_numpy()
            reached |= means.min() * (1 - SAME) <= row["real, ms"] <= means.max() * (1 + SAME)
            late = jitter.replace("us", "µs")
            parts.append(
                f"{means.mean():.0f} ms with {late} of jitter ({means.min():.0f} to {means.max():.0f} by seeds)"
            )
        ending = "exact times are the cause" if reached else "exact times do not explain it; the cause is not known"
        notes.append(
            f"{row['point']}, {row['scheduler']}: {row['real, ms']:.0f} ms on {context.engine}, "
            f"{row['sim, ms']:.0f} on sim, {' and '.join(parts)}: {ending}."
        )
    return notes
