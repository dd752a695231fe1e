"""A comparison for people: the table of settings, that of the factors, and what to know of both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mptcplab.analysis.statistics import CONFIDENCE
from mptcplab.comparison.settings import text_of
from mptcplab.render.text_tables import Field, Table, decimals, formatter

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison

_ALGORITHMS: Final = ("congestion", "scheduler")
_WHY: Final = {
    "scheduler": "schedulers differ only where two subflows have room in their windows at the same moment",
    "congestion": "congestion controls differ only after slow start, and only if windows limit the sender",
    "path_manager": "path managers differ only where they open other subflows",
}
"""Why values of a key may make no difference."""


def tables(comparison: "Comparison") -> tuple[Table, ...]:
    """The settings; with several factors, what each of them does."""
    return (_settings(comparison), *((_effects(comparison),) if comparison.effects else ()))


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Keys without what they need not have to be told apart."""
    found = {}
    for key in keys:
        parts = key.split(".")
        ends = [".".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]
        found[key] = next(
            end for end in ends if sum(other == key or other.endswith(f".{end}") for other in keys) == 1 or end == key
        )
    return found


def _settings(comparison: "Comparison") -> Table:
    metric, names = comparison.metric, short_names(list(comparison.factors))
    fields = [
        Field(
            names[key],
            "",
            tuple(text_of(each[key]) for each in comparison.combinations),
            "algorithm" if key.rpartition(".")[2] in _ALGORITHMS else "text",
        )
        for key in comparison.factors
    ]
    means = [each.mean for each in comparison.settings]
    apart = [each.difference for each in comparison.settings]
    reference = means[comparison.baseline]
    show = formatter(decimals([None if each is None else each.mean * metric.scale for each in means]))
    fields += [
        Field(
            "mean",
            metric.unit,
            tuple(show(_scaled(None if each is None else each.mean, metric.scale)) for each in means),
            "number",
        ),
        Field(
            "±",
            metric.unit,
            tuple(show(_scaled(None if each is None else each.half, metric.scale)) for each in means),
            "number",
        ),
    ]
    if len(comparison.settings) > 1:
        part = 100 / abs(reference.mean) if reference is not None and reference.mean else None
        cells = ["baseline" if at == comparison.baseline else "–" for at in range(len(apart))]
        signed = formatter(2)
        for at, each in enumerate(apart):
            if each is not None and part is not None:
                cells[at] = f"{each.mean * part:+.2f}"
        halves = [each.half * part if each and each.half is not None and part is not None else None for each in apart]
        fields += [
            Field("difference", "%", tuple(cells), "number"),
            Field("±", "%", tuple(map(signed, halves)), "number"),
            Field("rank", "", tuple(map(_rank, (each.rank for each in comparison.settings))), "number"),
        ]
    if any(each.same_packets_as for each in comparison.settings):
        letters = group_letters(comparison)
        fields.append(Field("same packets", "", tuple(letters.get(at, "") for at in range(len(means))), "text"))
    better = "higher" if metric.higher_is_better else "lower"
    count = len(comparison.blocks)
    runs = f"{count} {comparison.block}{'s' if count != 1 else ''}"
    return Table(f"{_capital(metric.words)}, {better} is better; {runs}, {CONFIDENCE:.0%} intervals", tuple(fields))


def _effects(comparison: "Comparison") -> Table:
    metric, names = comparison.metric, short_names(list(comparison.factors))
    rows = [(effect, level) for effect in comparison.effects for level in effect.levels]
    show = formatter(decimals([level.mean * metric.scale for _, level in rows]))
    heads = [effect.levels[0] is level for effect, level in rows]
    references = {
        effect.factor: next(each.mean for each in effect.levels if each.difference is None)
        for effect in comparison.effects
    }
    cells, halves = [], []
    for effect, level in rows:
        found, base = level.difference, references[effect.factor]
        part = 100 / abs(base) if base else None
        cells.append("baseline" if found is None else "–" if part is None else f"{found.mean * part:+.2f}")
        halves.append("–" if found is None or found.half is None or part is None else f"{found.half * part:.2f}")
    own = [names[effect.factor] if head else "" for (effect, _), head in zip(rows, heads, strict=True)]
    shares = [f"{100 * effect.explains:.0f}" if head else "" for (effect, _), head in zip(rows, heads, strict=True)]
    return Table(
        "What each factor does, over all values of the others",
        (
            Field("factor", "", tuple(own), "text"),
            Field("value", "", tuple(text_of(level.value) for _, level in rows), "text"),
            Field("mean", metric.unit, tuple(show(level.mean * metric.scale) for _, level in rows), "number"),
            Field("difference", "%", tuple(cells), "number"),
            Field("±", "%", tuple(halves), "number"),
            Field("explains", "% of variance", tuple(shares), "number"),
        ),
    )


def group_letters(comparison: "Comparison") -> dict[int, str]:
    """For each setting that has its like the letter of their group."""
    found: dict[int, str] = {}
    for at, each in enumerate(comparison.settings):
        if each.same_packets_as and at not in found:
            letter = _letter(len(set(found.values())))
            found |= dict.fromkeys((at, *each.same_packets_as), letter)
    return found


def _letter(number: int) -> str:
    return (_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def lines(comparison: "Comparison") -> list[str]:
    """Sentences below the tables."""
    found = []
    letters = group_letters(comparison)
    for letter in dict.fromkeys(letters.values()):
        members = [at for at, own in letters.items() if own == letter]
        named = ", ".join(comparison.names[at] for at in sorted(members))
        differ = [
            key.rpartition(".")[2]
            for key in comparison.factors
            if len({comparison.combinations[at][key] for at in members}) > 1
        ]
        reasons = "; ".join(_WHY[key] for key in differ if key in _WHY)
        found.append(
            f"{letter}: {named} sent the same packets in every run{f' ({reasons})' if reasons else ''}: all counters, "
            "bytes, times and loads are equal."
        )
    found += _several_states(comparison)
    found += _equal_but_not_alike(comparison)
    if all(each.mean is None for each in comparison.settings):
        found.append(f"{comparison.metric.words} is not known in any run.")
    elif comparison.unfinished:
        whole = comparison.matrix.size if comparison.block == "seed" else None
        of = f" of {whole}" if whole else ""
        found.append(
            f"{comparison.metric.words} is not known in {comparison.unfinished}{of} runs, such as those that ended "
            "before the transfer: they are left out, which flatters a slow setting. A longer duration would do."
        )
    if len(comparison.blocks) < 2:
        found.append("One run says nothing about chance: intervals need --repeat 2 or more, better 20.")
    elif len(comparison.settings) > 1:
        test = "on the same seeds" if comparison.block == "seed" else "on the same networks"
        how = f"{test} (paired t)" if comparison.paired else "of independent runs (Welch)"
        found.append(
            f"Differences are {how}, to {comparison.names[comparison.baseline]}. "
            "A rank is a range where the runs leave the order open."
        )
    return [*found, *comparison.notes]


def _several_states(comparison: "Comparison") -> list[str]:
    """Settings whose mean is of several outcomes."""
    metric, found = comparison.metric, []
    for name, states in zip(comparison.names, comparison.states, strict=True):
        if len(states) > 1:
            show = formatter(decimals([each.mean * metric.scale for each in states]))
            told = " and ".join(f"{show(each.mean * metric.scale)} {metric.unit} in {each.runs}" for each in states)
            found.append(f"{name}: several stable states, {told} {comparison.block}s; the mean describes neither.")
    return found


def _equal_but_not_alike(comparison: "Comparison") -> list[str]:
    """Settings of equal values in every block whose packets are not all the same: equal by luck, or all but equal."""
    import numpy as np

    found = []
    for at, each in enumerate(comparison.settings):
        if at == comparison.baseline or comparison.baseline in each.same_packets_as or each.mean is None:
            continue
        if np.array_equal(comparison.matrix[at], comparison.matrix[comparison.baseline], equal_nan=True):
            found.append(comparison.names[at])
    if not found:
        return []
    quantity = comparison.metric.words.partition(" of ")[0]
    return [
        f"{', '.join(found)}: the same {quantity} as {comparison.names[comparison.baseline]} in every run, but not the "
        "same packets in all of them; another --metric may tell them apart."
    ]


def short(comparison: "Comparison") -> str:
    """The repr: a line for the whole and one for each setting, ten at most."""
    metric = comparison.metric
    head = f"<Comparison of {len(comparison.settings)} settings by {metric.words}, {len(comparison.blocks)} "
    rows = [f"{head}{comparison.block}s, on {comparison.engine}>"]
    width = max(map(len, comparison.names[:8]))
    show = formatter(decimals([each.mean.mean * metric.scale for each in comparison.settings if each.mean is not None]))
    for name, each in list(zip(comparison.names, comparison.settings, strict=True))[:8]:
        value = "not known" if each.mean is None else show(each.mean.mean * metric.scale)
        half = "" if each.mean is None or each.mean.half is None else f" ± {show(each.mean.half * metric.scale)}"
        rows.append(f"  {name:<{width}}  {value}{half}  rank {_rank(each.rank)}")
    if len(comparison.settings) > 8:
        rows.append(f"  … and {len(comparison.settings) - 8} more: .frame has all")
    return "\n".join(rows)


def _rank(rank: tuple[int, int]) -> str:
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
