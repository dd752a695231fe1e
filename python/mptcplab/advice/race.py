"""The race: candidates run on the same networks with the same random numbers, and those that are behind are dropped.

The work is bounded in packet hops, not in seconds, so the answer is the same on every machine.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mptcplab.advice.candidates import Candidate
from mptcplab.advice.effort import BUDGET_HOPS
from mptcplab.advice.simulation import OVERHEAD_HOPS, Run, RunResult, Simulator

INDIFFERENT: Final = 0.01
"""Differences below 1 % decide nothing."""
_PAIRS: Final = (2, 4, 8, 16)
"""How often each of those that are left has run after each of the rounds, at least."""
_MOST_PAIRS: Final = 64
_FAR_BEHIND: Final = math.log(1.25)
"""TCP that is behind the best TCP by this much in each of its runs does not take part in the final runs."""
_SINGLE_PAIRS: Final = 4
"""How often plain TCP runs in the race: enough to see who is far behind. The others compete with each other alone."""
_FRESH: Final = 1000
"""Where the pairs of the final runs begin."""
_FEWEST_FINAL: Final = 8
_CHEAP_FINAL: Final = 32
"""How often they run at least where that is an eighth of the work or less: what happens in one run of ten, such as a
timeout, is missing in four of ten samples of eight runs, which then look as if they were certain."""
_MOST_FINAL: Final = 128
_LEAST_FINAL: Final = 2
_FINAL_PART: Final = 0.85
"""Of the budget, until when they run; the rest is for what differs from the best by one choice."""
_ENOUGH_FINAL: Final = 4
"""How often they can run at least, before some of them are left out for it."""
_FEWEST_RUNNERS: Final = (4, 2)
"""Of the finalists and of plain TCP, those that are never left out for it."""
_USUAL_RUNS: Final = 4
_KNOWN_RUNS: Final = 5
"""From so many runs on a variance is its own."""
_NOT_FAR: Final = math.log(1.5)
_FIRST_PART: Final = 0.5
"""Of the work of a race, what its first round may take."""
_MORE_PART: Final = 2 / 3
"""Of the work of a race, what it may take for more runs than `_PAIRS`."""
_NEARLY: Final = 1.08
"""Of the budget: what an answer takes at most, as its last round may end a little later."""
_FEWEST: Final = (24, 12, 6, 4)
"""How many remain at least after each of the rounds."""
_T95: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753)
"""Student's t, one-sided 95 %, for 1, 2, … degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two candidates in the same runs: mean of the logarithm of the ratio, with a one-sided 95 % bound each way."""

    mean: float
    margin: float
    pairs: int

    @property
    def low(self) -> float:
        """The lower bound."""
        return self.mean - self.margin

    @property
    def high(self) -> float:
        """The upper bound."""
        return self.mean + self.margin


@dataclass
class Race:
    """The results, and who was dropped why."""

    simulator: Simulator
    progress: Callable[[float], None] | None = None
    budget_hops: int = BUDGET_HOPS
    results: dict[Candidate, dict[int, RunResult]] = field(default_factory=dict)
    """Whole runs, by pair."""
    dropped: dict[Candidate, str] = field(default_factory=dict)
    smallest_part: float = 1 / 8
    """Of a run, what a first look at a setting must see."""
    first_pair: int = 0
    reached: float = 0.0
    """What `progress` was told last."""

    def singles(self, plain: Sequence[Candidate], until_hops: float) -> None:
        """Have plain TCP run often enough to see who is far behind; where that is too much, all once and some again."""
        self.extend(plain, 1)
        best = max(self.results[each][0].score for each in plain)
        near = [each for each in plain if self.results[each][0].score > best - 2 * _FAR_BEHIND]
        for again in (plain, near):
            cost = sum(self.results[each][0].work_hops + OVERHEAD_HOPS for each in again)
            fits = 1 + int((until_hops - self.simulator.work_hops) / cost)
            if again is near or fits >= _SINGLE_PAIRS:
                self.extend(again, max(1, min(_SINGLE_PAIRS, fits)))
                return

    def run(self, others: Sequence[Candidate], late: Sequence[Candidate], until_hops: float) -> None:
        """Find the best of `others`, while the work is below `until_hops`; `late` come in beside those they resemble.

        The first of `others` are those that are tried where there is no work for all.
        """
        if not others:  # every set of paths is out by calculation
            return
        start = self.simulator.work_hops
        pilot = list(others[:: max(1, len(others) // 4)])[:4]
        self.extend(pilot, 1)
        cost = max(self.results[each][0].work_hops for each in pilot) + OVERHEAD_HOPS
        field_ = self._first_round(list(others), cost, _FIRST_PART * (until_hops - start))
        returned = False
        for place, (least, fewest) in enumerate(zip(_PAIRS, _FEWEST, strict=True)):
            if place > 0 and self.simulator.work_hops >= until_hops:
                break
            if len(field_) <= fewest and not returned and late:
                field_ += self._returning(field_, late)
                returned = True
            field_ = self._fitting(field_, least, cost, until_hops)
            more = start + _MORE_PART * (until_hops - start)
            least = min(least, self._most(field_, cost, until_hops))
            pairs = self._affordable(field_, least, cost, more, rounds=len(_PAIRS) - place)
            self.extend(field_, pairs)
            field_ = self._after(field_, fewest, pairs)
            if pairs >= 4 and self._settled(field_):
                break
        self._tell()

    def finalists(self, candidates: Sequence[Candidate], most: int = _FEWEST[-1]) -> list[Candidate]:
        """The best few of those that are left of a race."""
        left = self.ranked([each for each in candidates if each in self.results and each not in self.dropped])
        for place, candidate in enumerate(left[most:], start=most + 1):
            self.dropped[candidate] = f"place {place} of the last {len(left)}, too far behind for the final runs"
        return left[:most]

    def confirm(self, finalists: Sequence[Candidate], plain: Sequence[Candidate]) -> None:
        """The best few again, beside plain TCP, on networks that nobody has run on; only these results count from here.

        Who is chosen for its results looks better in them than it is. They run until it is known on which side of the
        best of `plain` each is and that nobody is better than the first by more than a difference that matters, until
        the work is done, or so often that the difference is small whichever side it is.
        """
        plain = self._worth_beside(plain)
        costs = self._costs([*finalists, *plain])
        finalists, plain = self._few(list(finalists), plain, costs)
        self.results = {}
        self.first_pair = _FRESH
        runners = list(dict.fromkeys([*finalists, *plain]))
        each = sum(costs[one] for one in runners)
        until = _FINAL_PART * self.budget_hops
        fits = max(_LEAST_FINAL, int((until - self.simulator.work_hops) / each))
        pairs = min(fits, _CHEAP_FINAL if _CHEAP_FINAL * each <= self.budget_hops / 8 else _FEWEST_FINAL)
        while True:
            self.extend(runners, pairs)
            single = self.ranked(plain)[0]
            found = [self.difference(one, single) for one in finalists]
            if (
                all(one.low >= INDIFFERENT or one.high < INDIFFERENT for one in found)
                and self._settled(self.ranked(runners))
            ) or pairs >= _MOST_FINAL:
                return
            more = int((until - self.simulator.work_hops) / each)
            if more < 1:
                return
            pairs = min(2 * pairs, pairs + more, _MOST_FINAL)

    def _costs(self, candidates: Sequence[Candidate]) -> dict[Candidate, float]:
        """Of a run of each, in packet hops: the mean of its own, or where it has not run yet the most of any."""
        most = max(result.work_hops for each in candidates for result in self.results.get(each, {}).values())
        return {
            each: OVERHEAD_HOPS
            + (math.fsum(result.work_hops for result in runs.values()) / len(runs) if runs else most)
            for each in candidates
            for runs in [self.results.get(each, {})]
        }

    def _few(
        self, finalists: list[Candidate], plain: list[Candidate], costs: Mapping[Candidate, float]
    ) -> tuple[list[Candidate], list[Candidate]]:
        """As many as can run `_ENOUGH_FINAL` times: the first of the finalists, and the best of TCP."""
        room_hops = (_FINAL_PART * self.budget_hops - self.simulator.work_hops) / _ENOUGH_FINAL
        known = [each for each in plain if each in self.results]
        plain = [*self.ranked(known), *(each for each in plain if each not in self.results)]
        out: list[Candidate] = []
        for runners, fewest in zip((plain, finalists), reversed(_FEWEST_RUNNERS), strict=True):
            while sum(costs[each] for each in {*finalists, *plain}) > room_hops and len(runners) > fewest:
                out.append(runners.pop())
        left = {*finalists, *plain}
        self.dropped.update(
            {each: "the work of the final runs went to fewer candidates" for each in out if each not in left}
        )
        return finalists, plain

    def _worth_beside(self, plain: Sequence[Candidate]) -> list[Candidate]:
        """Plain TCP that is the best in some network, or may be; the others have been far behind in every run."""
        kept = [each for each in plain if each not in self.results]
        plain = [each for each in plain if each in self.results]
        scores: dict[int, list[float]] = {}
        for each in plain:
            for pair, result in self.results[each].items():
                scores.setdefault(pair, []).append(result.score)
        for each in plain:
            pairs = self.results[each].items()
            ahead = [max(scores[pair]) - result.score for pair, result in pairs]
            if min(ahead) < _FAR_BEHIND:
                kept.append(each)
            else:
                worst = 1 - math.exp(-min(ahead))
                self.dropped[each] = (
                    f"at least {worst:.0%} below TCP on another path or with another control, in every run"
                )
        return kept

    def extend(self, candidates: Sequence[Candidate], pairs: int) -> None:
        """Have each of them run on so many pairs, from the first on."""
        runs = [
            Run(candidate, pair)
            for pair in range(self.first_pair, self.first_pair + pairs)
            for candidate in dict.fromkeys(candidates)
            if pair not in self.results.get(candidate, {})
        ]
        for run, result in zip(runs, self.simulator.run(runs), strict=True):
            self.results.setdefault(run.candidate, {})[run.pair] = result
            self._tell()

    def glance(self, candidates: Sequence[Candidate], part: float) -> list[float]:
        """The score of each in the first part of pair 0, or in all of it, which then counts among the results."""
        if part == 1.0:
            self.extend(candidates, 1)
            return [self.results[each][0].score for each in candidates]
        scores = []
        for result in self.simulator.run([Run(each, 0, part) for each in candidates]):
            scores.append(result.score)
            self._tell()
        return scores

    def mean(self, candidate: Candidate) -> float:
        """Of its scores."""
        results = self.results[candidate].values()
        return math.fsum(each.score for each in results) / len(results)

    def difference(self, a: Candidate, b: Candidate, usual: float | None = None) -> Difference:
        """How much better a is than b, over the pairs that both ran; `usual` as in `difference`."""
        return difference(self._differences(a, b), usual)

    def usual(self, candidates: Sequence[Candidate], b: Candidate) -> float | None:
        """The median of the variances of the differences to b, of those that are not far from it, after few runs."""
        values = [self._differences(each, b) for each in candidates if each != b]
        few = [each for each in values if 1 < len(each) < _KNOWN_RUNS and abs(math.fsum(each) / len(each)) < _NOT_FAR]
        found = sorted(map(variance, few))
        return found[len(found) // 2] if found else None

    def _differences(self, a: Candidate, b: Candidate) -> list[float]:
        pairs = [pair for pair in self.results[a] if pair in self.results[b]]
        return [self.results[a][pair].score - self.results[b][pair].score for pair in pairs]

    def ranked(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The best first: by their means over the pairs that all of them ran."""
        common = set.intersection(*(set(self.results[each]) for each in candidates)) if candidates else set()
        total = {each: math.fsum(self.results[each][pair].score for pair in sorted(common)) for each in candidates}
        # What does the same to a millionth is told apart by what is better known.
        return sorted(candidates, key=lambda each: (-round(total[each] / max(1, len(common)), 6), each.plainness, each))

    def _tell(self) -> None:
        if self.progress is not None:
            self.reached = max(self.reached, min(0.99, self.simulator.work_hops / (_NEARLY * self.budget_hops)))
            self.progress(self.reached)

    def _first_round(self, others: list[Candidate], cost: int, hops: float) -> list[Candidate]:
        """All run once, as much of the run as the work allows; the better third or so remains."""
        part = 1.0
        while part > self.smallest_part and len(others) * (cost * part + OVERHEAD_HOPS) > hops:
            part = max(self.smallest_part, part / 2)
        room = max(4, int(hops / (cost * part + OVERHEAD_HOPS)))
        for candidate in others[room:]:
            self.dropped[candidate] = f"not tried: the work allows {room} settings; a larger --budget tries more"
        others = others[:room]
        scores = dict(zip(others, self.glance(others, part), strict=True))
        order = sorted(others, key=lambda each: (-scores[each], each))
        keep = max(_FEWEST[0] * 2, len(order) // 3)
        whole = "a whole run" if part == 1.0 else f"the first {part:.0%} of a run"
        for place, candidate in enumerate(order[keep:], start=keep + 1):
            behind = 1 - math.exp(scores[candidate] - scores[order[0]])
            self.dropped[candidate] = f"{behind:.0%} below the best after {whole}, place {place} of {len(order)}"
        return order[:keep]

    def _returning(self, field_: Sequence[Candidate], late: Sequence[Candidate]) -> list[Candidate]:
        """Of those that were left out by calculation, the ones that resemble the best."""
        best = field_[:6]
        back = [each for each in late if any(leader.differs_by_one(each) for leader in best)]
        for each in back:
            self.dropped.pop(each, None)
        return back

    def _fitting(self, field_: list[Candidate], pairs: int, cost: int, until: float) -> list[Candidate]:
        """As many as half of what is left of the budget lets run on so many pairs."""
        left = (until - self.simulator.work_hops) / 2
        each_run = cost + OVERHEAD_HOPS
        missing = [pairs - len(self.results.get(each, {})) for each in field_]
        spent, count = 0.0, 0
        for runs in missing:
            spent += runs * each_run
            if spent > left and count >= 3:
                break
            count += 1
        for place, candidate in enumerate(field_[count:], start=count + 1):
            self.dropped[candidate] = f"place {place} of {len(field_)} when the work had to go to fewer candidates"
        return field_[:count]

    def _most(self, field_: Sequence[Candidate], cost: int, until: float) -> int:
        """How many pairs the rest of the work pays for."""
        had = sum(len(self.results.get(each, {})) for each in field_)
        return max(1, int(((until - self.simulator.work_hops) / (cost + OVERHEAD_HOPS) + had) / len(field_)))

    def _affordable(self, field_: Sequence[Candidate], least: int, cost: int, until: float, *, rounds: int) -> int:
        """How many pairs an equal part of the work for each of the remaining rounds pays for, `least` in any case."""
        part = (until - self.simulator.work_hops) / rounds
        had = sum(len(self.results.get(each, {})) for each in field_)
        return max(least, min(_MOST_PAIRS, int((part / (cost + OVERHEAD_HOPS) + had) / len(field_))))

    def _after(self, field_: list[Candidate], fewest: int, pairs: int) -> list[Candidate]:
        """Drop who is behind for certain, and the worse half."""
        order = self.ranked(field_)
        keep = max(fewest, len(order) // 2) if len(order) > fewest else len(order)
        remaining = []
        for place, candidate in enumerate(order, start=1):
            behind = self.difference(candidate, order[0])
            shown = f"{1 - math.exp(behind.mean):.1%} below {order[0].label} over {behind.pairs} runs"
            if pairs >= 4 and behind.high < -INDIFFERENT:
                self.dropped[candidate] = f"{shown}, for certain (95 %)"
            elif place > keep:
                self.dropped[candidate] = f"{shown}, place {place} of {len(order)}"
            else:
                remaining.append(candidate)
        return remaining

    def _settled(self, field_: Sequence[Candidate]) -> bool:
        """Whether nobody who is left can still be better than the first by more than a difference that matters."""
        return all(self.difference(each, field_[0]).high < INDIFFERENT for each in field_[1:])


def variance(values: Sequence[float]) -> float:
    """Of two values or more."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def difference(values: Sequence[float], usual: float | None = None) -> Difference:
    """Mean of differences with the margin of a one-sided 95 % bound; one value alone has no margin that is known.

    `usual` is the variance of others that ran in the same way; it counts like that of `_USUAL_RUNS` more, as in a
    moderated t-test (Smyth 2004): two or three values alone do not tell their variance.
    """
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Difference(mean, math.inf, 1)
    own, free = variance(values), n - 1
    if usual is not None and n < _KNOWN_RUNS:
        own, free = (own * free + usual * _USUAL_RUNS) / (free + _USUAL_RUNS), free + _USUAL_RUNS
    t = _T95[free - 1] if free - 1 < len(_T95) else 1.645 + 1.6 / free
    return Difference(mean, t * math.sqrt(own / n), n)
