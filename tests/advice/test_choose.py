"""Who of those that ran is the answer: on scores without noise, so that every margin is that of the rule."""

import math
from collections.abc import Mapping

import pytest
from mptcplab.advice.advising import _climbed, ask
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.choose import best_of
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race

from tests.advice.test_race import Scores, with_scores

CUBIC, RENO = (Candidate(control, "", ("a",), (), True) for control in ("cubic", "reno"))
BACKUP = Candidate("cubic", "linux", ("a",), ("b",), True)
BOTH, TURNED = (Candidate("cubic", "linux", order, (), True) for order in (("a", "b"), ("b", "a")))
EWTCP = Candidate("ewtcp", "linux", ("a", "b"), (), True)


def question(**options: str) -> Question:
    return ask(None, ["a: 5M, 20 ms", "b: 5M, 20 ms"], "bulk", "linux", **options)  # type: ignore[arg-type]


def chosen(gains: Mapping[Candidate, float], **options: str) -> Candidate:
    """`gains` in per cent."""
    race = with_scores({each: math.log1p(gain / 100) for each, gain in gains.items()})
    plain = [each for each in gains if each.is_tcp]
    return best_of(race, question(**options), list(gains), plain)


@pytest.mark.parametrize(
    ("gains", "best"),
    [
        # It survives the loss of a path, and costs 1.5 %; 2.2 % are too much.
        ({CUBIC: 0, BACKUP: -1.5}, BACKUP),
        ({CUBIC: 0, BACKUP: -2.2}, CUBIC),
        # The best of TCP counts, not the best known that is half a per cent worse.
        ({CUBIC: 0, RENO: 0.4, BACKUP: -1.8}, CUBIC),
        # Several members must be better by 1 %.
        ({CUBIC: 0, BOTH: 0.8}, CUBIC),
        ({CUBIC: 0, BOTH: 1.2}, BOTH),
        # What is simpler wins within 2 %.
        ({CUBIC: 0, EWTCP: 40, BOTH: 38}, BOTH),
        ({CUBIC: 0, EWTCP: 40, BOTH: 36}, EWTCP),
        # Of orders that differ by less than half a per cent the first that was named.
        ({CUBIC: 0, TURNED: 40, BOTH: 39.6}, BOTH),
        ({CUBIC: 0, TURNED: 40, BOTH: 39}, TURNED),
    ],
)
def test_margins_are_those_that_are_stated(gains: Mapping[Candidate, float], best: Candidate) -> None:
    assert chosen(gains) == best


def test_a_preference_may_cost_a_tenth() -> None:
    assert chosen({CUBIC: 0, BOTH: 9}, prefer="simple") == CUBIC
    assert chosen({CUBIC: 0, BOTH: 12}, prefer="simple") == BOTH
    assert chosen({CUBIC: 0, EWTCP: 40, BOTH: 45}, prefer="fair") == EWTCP


def test_what_differs_by_one_choice_takes_its_place() -> None:
    """Reno over both was in the final runs, CUBIC was not, and is 30 % better."""
    reno = Candidate("reno", "linux", ("a", "b"), (), True)
    levels = {CUBIC: 0.0, reno: 0.2, BOTH: 0.46, TURNED: 0.1, Candidate("reno", "linux", ("b", "a"), (), True): 0.1}
    race = Race(Scores(levels, 0.0))  # type: ignore[arg-type]
    race.extend([CUBIC, reno], 4)
    best, others = _climbed(race, question(), reno, CUBIC, [CUBIC])
    assert best == BOTH
    assert TURNED in others
    assert len(race.results[BOTH]) == 4


def test_the_work_of_the_final_runs_goes_to_the_first() -> None:
    """Room for eight runners to run four times, where there are twelve: the last ones go."""
    finalists = [Candidate("cubic", "linux", (f"p{number}", "q"), (), True) for number in range(10)]
    plain = [CUBIC, RENO]
    levels = dict.fromkeys(finalists, 0.1) | {CUBIC: 0.0, RENO: 0.001}
    race = Race(Scores(levels, 0.0))  # type: ignore[arg-type]
    race.extend(list(levels), 1)
    race.budget_hops = round((race.simulator.work_hops + 4 * 8 * (10_000 + 2500)) / 0.85) + 1
    race.confirm(finalists, plain)
    assert set(race.results) == {*finalists[:6], *plain}
    assert all(len(runs) == 4 for runs in race.results.values())
    assert all(each in race.dropped for each in finalists[6:])


def test_survival_may_cost_a_tenth_where_it_is_asked_for() -> None:
    """A backup 5 % below TCP; without the preference what costs more than 2 % is not taken, with it up to 10 %."""
    standby = Candidate("cubic", "linux", ("a",), ("b",), True)
    assert chosen({CUBIC: 0, standby: -1.5}) == standby
    assert chosen({CUBIC: 0, standby: -5}) == CUBIC
    assert chosen({CUBIC: 0, standby: -5}, prefer="survive") == standby
    assert chosen({CUBIC: 0, standby: -12}, prefer="survive") == CUBIC
