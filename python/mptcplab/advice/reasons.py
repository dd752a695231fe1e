"""Why: sentences made of what was measured in the same runs, one choice of the setting at a time."""

import math
from collections.abc import Sequence
from dataclasses import replace

from mptcplab.advice import formats
from mptcplab.advice.answer import Recommendation, values_of
from mptcplab.advice.candidates import UNCOUPLED, Candidate, shown
from mptcplab.advice.limits import limits
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race

_WORTH = 0.01
_SURE = 0.03
"""A difference that may be larger than this is not called none."""
_MUCH = 0.1
"""What others on the links lose, or win, from here on is among the first things said."""
_SEEN_S = 0.002
_MAY_COST = math.log(1.10)
"""What a preference may cost."""


def sentences(
    race: Race, question: Question, best: Candidate, single: Candidate, others: Sequence[Candidate]
) -> list[str]:
    """Of a setting, beside TCP on the better path and `others`, which differ from it."""
    said = [_gain(race, question, best, single)] if best != single else []
    if best.backup and len(best.paths) == 1:
        said.append(f"If {best.paths[0]} fails, connections continue over {formats.listed(list(best.backup), 'or')}.")
    said += _neighbours(race, question, best, single, least=_MUCH)
    said += _left_out(race, question, best, others)
    said += limits(race, question, best)
    if len(best.paths) > 1:
        said.append(_shares(race, question, best))
    said += _metered(race, question, best)
    said += _uncoupled(best)
    said += _contrasts(race, question, best, others)
    said += _queueing(race, question, best, [single, *others])
    said += _waiting(race, question, best, others)
    said += _neighbours(race, question, best, single, most=_MUCH)
    return said


def _left_out(race: Race, question: Question, best: Candidate, others: Sequence[Candidate]) -> list[str]:
    """What a path that is not used would have cost."""
    said = []
    unit = _unit(race, question, best)
    for path in (path for path in question.paths if path not in best.used):
        rivals = [each for each in (*others, *race.results) if path in each.paths and len(each.paths) > 1]
        rivals = [each for each in rivals if each in race.results and set(best.paths) <= set(each.paths)]
        rivals = [each for each in rivals if each.stock == best.stock]
        if not rivals:
            continue
        nearest = max(rivals, key=lambda each: (each.scheme == best.scheme, race.difference(each, best).mean))
        found = race.difference(nearest, best)
        change = found.mean
        if abs(change) < _WORTH and found.margin < _SURE:
            said.append(f"{path} is left out: with it, the result is the same to 1 %.")
        elif found.low < 0 < found.high:
            said.append(f"{path} is left out: with it, {found.pairs} runs show no clear difference.")
        else:
            too = "" if nearest.scheme == best.scheme else f" and {shown(nearest.congestion)}"
            said.append(f"{path} is left out: with it{too}, {formats.better(change, unit)}.")
    return said


def stay(race: Race, question: Question, single: Candidate, rival: Candidate | None) -> str:
    """Why it had better be TCP on one path."""
    if rival is None:
        return f"No setting of Multipath TCP was left to compare with TCP on {single.paths[0]}."
    found = race.difference(rival, single)
    unit = _unit(race, question, single)
    mean = formats.better(found.mean, unit)
    low, high = (_bound(bound, unit) for bound in (found.low, found.high))
    span = "" if low == high == mean else f"; between {low} and {high}, each with 95 % confidence"
    verb = {"s": "takes", "bit/s": "gives", None: "is"}[unit] if mean != formats.SAME else "gives"
    if found.low > 0 and found.mean >= _WORTH:
        return f"{rival.label} {verb} {mean}, and is not as cheap or as simple ({found.pairs} runs)."
    return (
        f"No setting of Multipath TCP is better than TCP on {single.paths[0]} by 1 % or more with 95 % confidence. "
        f"The best of them, {rival.label}, {verb} {mean} ({found.pairs} runs{span})."
    )


def standby(race: Race, question: Question, single: Candidate) -> list[str]:
    """What it would cost to survive the loss of the path that TCP uses."""
    path = single.paths[0]
    rivals = [
        each for each in race.results if each.survives and each.paths == single.paths and each.stock == single.stock
    ]
    if not rivals:
        return []
    best = race.ranked(rivals)[0]
    found = race.difference(best, single)
    unit = _unit(race, question, single)
    how = formats.better(found.mean, unit)
    verb = {"s": "takes", "bit/s": "gives", None: "is"}[unit] if how != formats.SAME else "gives"
    worst = _bound(found.low, unit)
    span = f" on average, {worst} at worst with 95 % confidence" if worst != how and found.low < 0 else ""
    asked = " (--prefer survive)" if found.low > -_MAY_COST and question.prefer != "survive" else ""
    return [f"If {path} fails, connections end. {best.label}, which survives that, {verb} {how}{span}{asked}."]


def mean(race: Race, candidate: Candidate, what: str) -> float:
    """Of an attribute of its runs."""
    results = race.results[candidate].values()
    return math.fsum(getattr(each, what) for each in results) / len(results)


def shares_of(race: Race, question: Question, candidate: Candidate) -> dict[str, float]:
    """Part of the bytes by path."""
    sums = [
        math.fsum(each.carried_bytes[place] for each in race.results[candidate].values())
        for place in range(len(question.paths))
    ]
    total = math.fsum(sums) or 1.0
    return {name: amount / total for name, amount in zip(question.paths, sums, strict=True)}


def queueing_of(race: Race, question: Question, candidate: Candidate) -> dict[str, float | None]:
    """Mean queueing delay by path; None where nothing was sent."""
    found: dict[str, float | None] = {}
    for place, name in enumerate(question.paths):
        seen = [each.queueing_s[place] for each in race.results[candidate].values()]
        known = [value for value in seen if value is not None]
        found[name] = math.fsum(known) / len(known) if known else None
    return found


def _unit(race: Race, question: Question, candidate: Candidate) -> str | None:
    """Of the figure; None for several connections, which have a ratio only."""
    if len(question.targets) > 1:
        return None
    return next(iter(race.results[candidate].values())).figures[0].unit


def _bound(logarithm: float, unit: str | None) -> str:
    return formats.better(logarithm, unit) if math.isfinite(logarithm) else "anything"


def _gain(race: Race, question: Question, best: Candidate, single: Candidate) -> str:
    found = race.difference(best, single)
    unit = _unit(race, question, best)
    average, low = (formats.better(value, unit) for value in (found.mean, found.low))
    certain = f", at least {low} with 95 % confidence" if found.low >= 0.005 and low != average else ""
    if unit is None:
        parts = _parts(race, question, best, single)
        return (
            f"Against TCP on {single.paths[0]} ({shown(single.congestion)}), {parts}; "
            f"together {formats.better(found.mean, None)}{certain} ({found.pairs} runs)."
        )
    pairs = sorted(set(race.results[best]) & set(race.results[single]))
    here, there = (
        values_of(question.targets, [race.results[each][pair] for pair in pairs])[question.targets[0]]
        for each in (best, single)
    )
    return (
        f"{formats.quantity(here.mean, here.unit)} against {formats.quantity(there.mean, there.unit)} with TCP on "
        f"{single.paths[0]} ({shown(single.congestion)}): {average}{certain} "
        f"({found.pairs} runs)."
    )


def _parts(race: Race, question: Question, best: Candidate, single: Candidate) -> str:
    pairs = sorted(set(race.results[best]) & set(race.results[single]))
    here, there = (values_of(question.targets, [race.results[each][pair] for pair in pairs]) for each in (best, single))
    return formats.listed(
        [
            f"{name}: {formats.quantity(here[name].mean, here[name].unit)} instead of "
            f"{formats.quantity(there[name].mean, there[name].unit)}"
            for name in question.targets
        ]
    )


def _shares(race: Race, question: Question, best: Candidate) -> str:
    parts = {path: part for path, part in shares_of(race, question, best).items() if path in best.used}
    carried = [f"{formats.share(part)} go over {name}" for name, part in parts.items()]
    return f"Of the bytes sent, {formats.listed(carried)}."


def _uncoupled(best: Candidate) -> list[str]:
    if len(best.paths) < 2 or best.congestion not in UNCOUPLED:
        return []
    return [
        f"{shown(best.congestion)} controls each path separately: where the paths share a bottleneck, this connection "
        f"competes there like {len(best.paths)} TCP connections."
    ]


def _contrasts(race: Race, question: Question, best: Candidate, others: Sequence[Candidate]) -> list[str]:
    """What one choice is worth: the same setting with another first path, scheduler or control."""
    said, alike = [], []
    unit = _unit(race, question, best)
    for other in others:
        found = race.difference(other, best)
        change = _change(best, other)
        if change is None:
            continue
        if found.high < 0 and found.mean < -_WORTH:
            said.append(f"With {change} instead: {formats.better(found.mean, unit)}.")
        elif abs(found.mean) < _WORTH and found.margin < _SURE:
            alike.append(change)
    if alike:
        said.append(f"Less than 1 % difference with {formats.listed(alike, 'or')}.")
    return said


def _change(best: Candidate, other: Candidate) -> str | None:
    """The difference between two settings, unless it is about a path that one of them leaves out."""
    if best.is_tcp and other.is_tcp and replace(other, window_bytes=best.window_bytes) != best:
        return f"TCP on {other.paths[0]} ({shown(other.congestion)})"
    if best.is_tcp != other.is_tcp:
        return None
    changes = []
    if other.congestion != best.congestion:
        changes.append(f"the congestion control {shown(other.congestion)}")
    if other.scheduler != best.scheduler and len(other.paths) > 1 < len(best.paths):
        kernels = other.scheduler == "linux"
        changes.append(shown(other.scheduler) if kernels else f"the scheduler {shown(other.scheduler)}")
    if set(other.paths) != set(best.paths):
        if not set(other.paths) < set(best.paths):
            return (
                None
                if set(other.paths) - set(best.used)
                else f"{formats.listed(list(other.paths))} {'both' if len(other.paths) == 2 else 'all'} in use"
            )
        out = [path for path in best.paths if path not in other.paths]
        standing = set(out) <= set(other.backup)
        changes.append(f"{formats.listed(out)} as backup" if standing else f"{formats.listed(out)} left out")
    elif other.paths != best.paths and other.paths[0] != best.paths[0]:
        changes.append(f"{other.paths[0]} as the first path")
    if other.window_bytes != best.window_bytes:
        size = formats.size(other.window_bytes)
        default = "Linux's default buffers (net.ipv4.tcp_rmem and tcp_wmem)"
        changes.append(f"a receive window of {size}" if other.window_bytes else default)
    return formats.listed(changes) if changes else None


def _queueing(race: Race, question: Question, best: Candidate, others: Sequence[Candidate]) -> list[str]:
    """Where it keeps a much shorter, or longer, queue than another."""
    here = queueing_of(race, question, best)
    said = []
    for name, mine in here.items():
        if mine is None:
            continue
        seen = ((queueing_of(race, question, other)[name], other) for other in others)
        rivals = [(value, other) for value, other in seen if value is not None]
        if not rivals:
            continue
        # What is below a tenth of a millisecond is no queue.
        floor_s = 1e-4
        ratios = [max(value, floor_s) / max(mine, floor_s) for value, _ in rivals]
        place = max(range(len(rivals)), key=lambda at: abs(math.log(ratios[at])))
        theirs, other = rivals[place]
        if abs(theirs - mine) > 2 * _SEEN_S and not 0.6 < ratios[place] < 1.6:
            said.append(
                f"Packets wait {formats.time(mine)} in queues on {name} on average, {formats.time(theirs)} with "
                f"{_change(best, other) or other.label}."
            )
    return said


_SENT_AS = (
    "carried for the first time", "retransmitted", "retransmitted after a timeout", "carried in place of another path",
)  # fmt: skip


def _waiting(race: Race, question: Question, best: Candidate, others: Sequence[Candidate]) -> list[str]:
    """Bytes that arrived and wait for those before them, and what for."""
    if best.is_tcp:
        return []
    mine = mean(race, best, "waiting_s")
    rivals = [(mean(race, other, "waiting_s"), other) for other in others if not other.is_tcp]
    if rivals:
        theirs, other = max(rivals, key=lambda each: abs(each[0] - mine))
        if abs(theirs - mine) > _SEEN_S and not 0.7 < theirs / max(mine, 1e-4) < 1.5:
            longer = other if theirs > mine else best
            return [
                f"Bytes that have arrived wait {formats.time(mine)} on average for earlier ones, "
                f"{formats.time(theirs)} with {_change(best, other) or other.label}."
                f"{_mostly(race, question, longer)}"
            ]
    if mine > 5 * _SEEN_S:
        return [
            f"Bytes that have arrived wait {formats.time(mine)} on average for earlier ones."
            f"{_mostly(race, question, best)}"
        ]
    return []


def _mostly(race: Race, question: Question, candidate: Candidate) -> str:
    """What the larger part of its waiting is for, if one cause has half of it."""
    runs = list(race.results[candidate].values())
    parts = {
        (path, sent_as): math.fsum(run.waited_for_s[place][kind] for run in runs)
        for place, path in enumerate(question.paths)
        for kind, sent_as in enumerate(_SENT_AS)
    }
    total = math.fsum(parts.values())
    (path, sent_as), most = max(parts.items(), key=lambda item: item[1])
    if total == 0 or most < 0.5 * total:
        return ""
    waiting = formats.time(mean(race, candidate, "waiting_s"))
    return f" Of the {waiting}, {formats.share(most / total)} is spent waiting for data that {path} {sent_as}."


def _metered(race: Race, question: Question, best: Candidate) -> list[str]:
    """What it costs on paths that cost something."""
    parts = shares_of(race, question, best)
    said = []
    for name in question.paid:
        amount = f"{formats.size(parts[name] * 1e9)} go" if parts[name] > 1e-5 else "nothing goes"
        said.append(f"Of each GB sent, {amount} over {name}.")
    said += [
        f"{formats.plain_size(cap.size_bytes)} a {cap.period} on {cap.path} are enough for "
        f"{formats.size(cap.size_bytes / parts[cap.path])} of this traffic in all."
        for cap in question.caps
        if parts[cap.path] > 0.0005
    ]
    return said


def neighbours_of(race: Race, question: Question, candidate: Candidate, single: Candidate) -> float | None:
    """Goodput of the other connections, relative to when this traffic uses the best single path; None without any."""
    alone = mean(race, single, "neighbours_bps")
    if len(question.base["connection"]) == len(question.targets) or alone == 0:
        return None
    return mean(race, candidate, "neighbours_bps") / alone


def _neighbours(
    race: Race, question: Question, best: Candidate, single: Candidate, least: float = 0.0, most: float = math.inf
) -> list[str]:
    """What is left to the other connections of the scenario, if the change is from `least` to `most`."""
    part = neighbours_of(race, question, best, single)
    if part is None or best == single or not least <= abs(part - 1) < most:
        return []
    if abs(part - 1) < _WORTH:
        return [f"The other connections get as much as with TCP on {single.paths[0]}."]
    return [
        f"The other connections get {formats.percent(part - 1)} {'more' if part > 1 else 'less'} goodput than with "
        f"TCP on {single.paths[0]}: {formats.rate(mean(race, best, 'neighbours_bps'))} instead of "
        f"{formats.rate(mean(race, single, 'neighbours_bps'))}."
        + (" --prefer fair looks for less of that." if part < 1 - _MUCH and question.prefer == "best" else "")
    ]


def reached(recommendation: Recommendation) -> str:
    """The gain of a setting in a cell of a table."""
    unit = next(iter(recommendation.values.values())).unit if len(recommendation.values) == 1 else None
    return formats.better(recommendation.gain.mean, unit)
