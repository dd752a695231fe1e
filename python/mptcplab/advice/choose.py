"""Which of the settings that ran is the answer: not below TCP, and of those that are as good the one to live with."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from mptcplab.advice import reasons
from mptcplab.advice.candidates import UNCOUPLED, Candidate
from mptcplab.advice.question import Question
from mptcplab.advice.race import INDIFFERENT, Race

AS_GOOD: Final = math.log(1.02)
"""Settings that are closer than this to the best are as good."""
_FOR_PREFERENCE: Final = math.log(1.10)
"""What a preference that was stated may cost."""
WORTH_ANOTHER: Final = math.log(1.03)
"""By so much a free choice is better before it is an answer of its own."""
_TELLS: Final = 1e-3
_NO_WORSE: Final = math.log(0.975)
"""What must not be worse is above this with 95 % confidence."""
_CHEAPER: Final = 0.05
"""Of the bytes."""
_EQUAL: Final = 0.005


def known_best(race: Race, plain: Sequence[Candidate]) -> Candidate:
    """The best of plain TCP; of those that are as good, or may be as far as is known, the best known."""
    first = race.ranked(plain)[0]

    def is_as_good(each: Candidate) -> bool:
        found = race.difference(each, first)
        return found.mean >= -INDIFFERENT / 2 or (found.mean >= -AS_GOOD and found.high > 0)

    as_good = [each for each in plain if is_as_good(each)]
    return min(as_good, key=lambda each: (each.plainness, each.paths != first.paths, each))


def is_safe(
    race: Race,
    candidate: Candidate,
    first: Candidate,
    *,
    cheaper: bool = False,
    may_cost: float = AS_GOOD,
    usual: float | None = None,
) -> bool:
    """Whether it is better than `first`, the best of TCP, for certain, by so much that it matters.

    One path with others as backup need not be better, nor need what is `cheaper`: they must not be worse, by
    `may_cost` in the mean. `usual`: the variance of such differences.
    """
    if candidate == first:
        return True
    found = race.difference(candidate, first, usual)
    if found.pairs < 2:
        return False
    if cheaper or candidate.is_tcp or len(candidate.paths) == 1:
        return found.mean >= -may_cost and found.low >= min(_NO_WORSE, -may_cost)
    return found.low >= 0 and found.mean >= INDIFFERENT


def best_of(race: Race, question: Question, pool: Sequence[Candidate], plain: Sequence[Candidate]) -> Candidate:
    """The answer among `pool`, beside plain TCP."""
    first, single = race.ranked(plain)[0], known_best(race, plain)
    dear = _cost(race, question, first)
    usual = race.usual(list(pool), first)
    cheaper = {each: _cost(race, question, each) < dear - _CHEAPER for each in pool}
    wanted = question.prefer == "survive"
    may_cost = {each: _FOR_PREFERENCE if wanted and each.survives else AS_GOOD for each in pool}
    safe = [
        each for each in pool if is_safe(race, each, first, cheaper=cheaper[each], may_cost=may_cost[each], usual=usual)
    ]
    ranked = race.ranked(list(dict.fromkeys([*safe, single])))
    margin = AS_GOOD if question.prefer == "best" else _FOR_PREFERENCE
    as_good = [each for each in ranked if race.difference(each, ranked[0]).mean >= -margin - _TELLS]
    order = _orders(race, question)[question.prefer]
    best = min(as_good, key=lambda each: (*order(each), *each.plainness, ranked.index(each)))
    # Of equal paths the first that was named opens the connection.
    alike = [each for each in as_good if _is_other_order(each, best) and abs(race.difference(each, best).mean) < _EQUAL]
    return min([best, *alike], key=lambda each: [question.paths.index(path) for path in each.paths])


def _is_other_order(one: Candidate, other: Candidate) -> bool:
    return replace(one, paths=other.paths) == other and set(one.paths) == set(other.paths)


def _orders(race: Race, question: Question) -> dict[str, Callable[[Candidate], tuple[float, ...]]]:
    """What decides between settings that are as good, by preference; less is better."""

    def cost(each: Candidate) -> float:
        return round(_cost(race, question, each), 2)

    def dies(each: Candidate) -> bool:
        return not each.survives

    def unfair(each: Candidate) -> bool:
        return not each.is_tcp and len(each.paths) > 1 and each.congestion in UNCOUPLED

    return {
        "best": lambda each: (cost(each), dies(each)),
        "survive": lambda each: (dies(each), -len(each.used), cost(each)),
        "simple": lambda each: (not each.is_tcp, cost(each)),
        "fair": lambda each: (unfair(each), cost(each), dies(each)),
    }


def _cost(race: Race, question: Question, candidate: Candidate) -> float:
    """The part of its bytes that goes over paths that cost something."""
    shares = reasons.shares_of(race, question, candidate)
    return math.fsum(shares[path] for path in question.paid)
