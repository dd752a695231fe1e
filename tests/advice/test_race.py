"""The race on made-up scores: it finds the best, says why the others went, and stops by work."""

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.choose import known_best
from mptcplab.advice.race import Race, difference
from mptcplab.advice.simulation import Run, RunResult
from mptcplab.advice.traffic import Figure

WORK = 10_000


class Scores:
    """For a simulator: a level for each candidate, a noise for each pair that all share, and one for each run."""

    def __init__(self, levels: dict[Candidate, float], noise: float) -> None:
        self.levels = levels
        self.noise = noise
        self.work_hops = 0
        self.runs = 0

    def run(self, runs: Sequence[Run]) -> list[RunResult]:
        self.runs += len(runs)
        self.work_hops += round(sum(run.part for run in runs) * WORK)
        return [self._one(run) for run in runs]

    def _one(self, run: Run) -> RunResult:
        shared = Random(run.pair).gauss(0, 0.3)
        own = Random(f"{run.candidate.label} {run.pair}").gauss(0, self.noise)
        score = self.levels[run.candidate] + shared + own
        return RunResult(
            score, (Figure(math.exp(score), "bit/s"),), (1.0, 0.0), (0.0, 0.0), 0.0, (), 0, 0.0, 0.0, 0.0, WORK
        )


def field(count: int) -> list[Candidate]:
    return [Candidate("cubic", "min-rtt", (f"p{number}", "q")) for number in range(count)]


TCP = [Candidate("cubic", "", ("p0",))]


def run(race: Race, plain: list[Candidate], others: list[Candidate]) -> None:
    """Plain TCP, then the race, which may take three fifths of the work."""
    race.singles(plain, 0.6 * race.budget_hops)
    race.run(others, [], 0.6 * race.budget_hops)


def raced(count: int, noise: float, budget: int) -> tuple[Race, list[Candidate], Scores]:
    others = field(count)
    levels = {candidate: 0.002 * number for number, candidate in enumerate(others)} | {TCP[0]: 0.05}
    levels[others[17]] = 1.0
    scores = Scores(levels, noise)
    race = Race(scores, budget_hops=budget)  # type: ignore[arg-type]
    run(race, TCP, others)
    return race, others, scores


def test_it_finds_the_best_of_many() -> None:
    race, others, _ = raced(150, 0.05, 20_000_000)
    remaining = [each for each in others if each in race.results and each not in race.dropped]
    assert race.ranked(remaining)[0] == others[17]
    assert all(each in race.dropped or each in remaining for each in others)
    assert all(reason for reason in race.dropped.values())


def test_the_shared_noise_of_a_pair_does_not_count() -> None:
    """Levels differ by 1, runs by a noise of 0.3 that all share: the difference is exact."""
    race, others, _ = raced(60, 0.0, 20_000_000)
    found = race.difference(others[17], TCP[0])
    assert found.mean == pytest.approx(0.95)
    assert found.margin == pytest.approx(0, abs=1e-9)


def test_a_smaller_budget_is_kept() -> None:
    race, _, scores = raced(150, 0.3, 20_000_000)
    small, _, few = raced(150, 0.3, 1_000_000)
    assert few.work_hops < scores.work_hops <= 20_000_000
    assert few.work_hops <= 1.5 * 1_000_000
    assert race.dropped
    assert small.dropped


def test_plain_tcp_leaves_the_work_to_those_that_race() -> None:
    """Four runs show what is far behind; as many as the finalists have took more than the race's three fifths."""
    others = field(60)
    plain = [Candidate(control, "", (path,)) for path in ("p0", "q", "r") for control in ("cubic", "reno", "bbr")]
    budget = 5_000_000
    scores = Scores(dict.fromkeys([*others, *plain], 0.0), 0.3)
    race = Race(scores, budget_hops=budget)  # type: ignore[arg-type]
    run(race, plain, others)
    assert {len(race.results[each]) for each in plain} == {4}
    assert max(len(result) for result in race.results.values()) > 4
    assert scores.work_hops <= 0.6 * budget


class RareTimeouts(Scores):
    """Whoever has a level of 0 loses 1 in every sixteenth run."""

    def _one(self, run: Run) -> RunResult:
        result = super()._one(run)
        unlucky = run.pair % 16 == 0 and self.levels[run.candidate] == 0.0
        return replace(result, score=result.score - 1.0) if unlucky else result


def test_what_happens_in_one_run_of_sixteen_is_seen_before_the_answer() -> None:
    """Level 0 with a loss of 1 in pair 1008 and each 16th after it, against −0.03: in eight runs it looks better by
    0.03, in truth it is worse by 1 / 16 − 0.03."""
    rare, steady = field(2)
    race = Race(RareTimeouts({rare: 0.0, steady: -0.03, TCP[0]: -1.0}, 0.0), budget_hops=25_000_000)  # type: ignore[arg-type]
    race.extend([rare, steady, *TCP], 1)
    race.confirm([rare, steady], TCP)
    assert race.ranked([rare, steady])[0] == steady
    assert len(race.results[rare]) >= 32


def test_candidates_that_cost_little_run_more_often_before_half_of_them_go() -> None:
    """Noise of 0.5, and a best one that is ahead by 0.5: a standard error of a difference is 0.5 with two runs, 0.12
    with 34."""

    def chosen(budget: int) -> int:
        found = 0
        for shift in range(20):
            others = field(48)
            levels = dict.fromkeys(others, 0.0) | {others[shift]: 0.5, TCP[0]: 0.0}
            race = Race(Scores(levels, 0.5), budget_hops=budget)  # type: ignore[arg-type]
            run(race, TCP, others)
            remaining = [each for each in others if each in race.results and each not in race.dropped]
            found += race.ranked(remaining)[0] == others[shift]
        return found

    assert chosen(100_000_000) >= 19
    assert chosen(3_000_000) < 19


def test_a_difference_has_the_margin_of_student() -> None:
    """Mean 2, deviation 1, three values: t(0.95, 2) = 2.920, so 2.920 / √3 = 1.686."""
    found = difference([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.margin == pytest.approx(1.686, abs=5e-4)
    assert difference([1.0]).margin == math.inf


def test_luck_in_the_race_is_not_believed() -> None:
    """A hundred settings as good as TCP, but for the noise of each run: one of them wins the race, none is better."""
    others = field(100)
    scores = Scores(dict.fromkeys([*others, *TCP], 0.0), 0.2)
    race = Race(scores, budget_hops=40_000_000)  # type: ignore[arg-type]
    run(race, TCP, others)
    chosen = race.ranked([each for each in others if each in race.results and each not in race.dropped])[0]
    assert race.difference(chosen, TCP[0]).mean > 0.02
    finalists = race.finalists(others)
    race.confirm(finalists, TCP)
    finalists = race.ranked(finalists)
    assert len(finalists) == 4
    assert all(pair >= 1000 for each in finalists for pair in race.results[each])
    assert all(abs(race.difference(each, TCP[0]).mean) < 0.1 for each in finalists)


def test_what_is_better_is_confirmed() -> None:
    race, others, _ = raced(60, 0.1, 20_000_000)
    finalists = race.finalists(others)
    race.confirm(finalists, TCP)
    finalists = race.ranked(finalists)
    assert finalists[0] == others[17]
    assert race.difference(finalists[0], TCP[0]).low > 0.6


def with_scores(levels: dict[Candidate, float]) -> Race:
    """A race in which everybody has run twice, without noise."""
    race = Race(Scores(levels, 0.0))  # type: ignore[arg-type]
    race.extend(list(levels), 2)
    return race


@pytest.mark.parametrize(("ahead", "chosen"), [(0.003, "cubic"), (0.02, "bbr")])
def test_of_tcp_that_is_as_good_the_best_known_is_taken(ahead: float, chosen: str) -> None:
    """Half a per cent is as good, two are not."""
    plain = {Candidate("cubic", "", ("a",)): 0.0, Candidate("bbr", "", ("a",)): ahead}
    plain[Candidate("reno", "", ("b",))] = -1.0
    assert known_best(with_scores(plain), list(plain)).congestion == chosen


def test_tcp_that_is_far_behind_has_no_part_in_the_final_runs() -> None:
    """More than 20 % in every run; a reason is left."""
    near, far = Candidate("reno", "", ("a",)), Candidate("cubic", "", ("b",))
    levels = {Candidate("cubic", "", ("a",)): 0.0, near: math.log(0.85), far: math.log(0.75)}
    levels[Candidate("lia", "min-rtt", ("a", "b"))] = 0.1
    race = with_scores(levels)
    race.confirm([each for each in levels if not each.is_tcp], [each for each in levels if each.is_tcp])
    assert near in race.results
    assert far not in race.results
    assert race.dropped[far].startswith("at least 25% below TCP")


def test_few_runs_borrow_the_variance_of_others() -> None:
    """0.1 and 0.3 have the variance 0.02. With four more of variance 0: 0.02/5, t of 5 degrees of freedom."""
    alone, moderated = difference([0.1, 0.3]), difference([0.1, 0.3], usual=0.0)
    assert alone.margin == pytest.approx(6.314 * math.sqrt(0.02 / 2))
    assert moderated.margin == pytest.approx(2.015 * math.sqrt(0.004 / 2))
    assert moderated.mean == alone.mean == pytest.approx(0.2)
    # Many runs tell their variance themselves.
    many = [0.1, 0.3] * 40
    assert difference(many, usual=0.0) == difference(many)
