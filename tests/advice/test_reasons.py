"""Sentences of an answer, on made-up runs: they name what differs, and what a failure would do."""

import math

from mptcplab.advice import reasons
from mptcplab.advice.advising import ask
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.costs import costs
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import RunResult
from mptcplab.advice.traffic import Figure

PATHS = ["a: 40 Mbit/s, 20 ms", "b: 10 Mbit/s, 40 ms"]
QUESTION = ask(None, PATHS, "bulk", "linux", metered=["b"])
BUFFERED = Candidate("cubic", "linux", ("a", "b"), (), True, 2**24)
DEFAULT = Candidate("cubic", "linux", ("a", "b"), (), True)
TURNED = Candidate("cubic", "linux", ("b", "a"), (), True)
TCP = Candidate("cubic", "", ("a",), stock=True)
STANDBY = Candidate("cubic", "linux", ("a",), ("b",), True)


def result(bps: float, *, carried: tuple[float, float] = (1.0, 1.0), queueing_s: float = 0.0) -> RunResult:
    rate = Figure(bps, "bit/s")
    return RunResult(math.log(bps), (rate,), carried, (queueing_s, queueing_s), 0.0, (), 0, 0.0, 0.0, 0.0, 1000)


def race(levels: dict[Candidate, RunResult]) -> Race:
    return Race(None, results={each: dict.fromkeys(range(4), run) for each, run in levels.items()})  # type: ignore[arg-type]


def test_a_comparison_names_the_choice_that_differs() -> None:
    """Not by a label that is a part of the answer's own: both are "a and b with CUBIC"."""
    ran = race({BUFFERED: result(48e6, queueing_s=0.05), DEFAULT: result(40e6, queueing_s=0.008)})
    (first, *_) = reasons._queueing(ran, QUESTION, BUFFERED, [DEFAULT])
    assert first == (
        "Packets wait 50.0 ms in queues on a on average, 8.00 ms with Linux's default buffers (net.ipv4.tcp_rmem and "
        "tcp_wmem)."
    )
    ran = race({DEFAULT: result(48e6, queueing_s=0.05), TURNED: result(47e6, queueing_s=0.008)})
    (first, *_) = reasons._queueing(ran, QUESTION, DEFAULT, [TURNED])
    assert first == "Packets wait 50.0 ms in queues on a on average, 8.00 ms with b as the first path."


def test_an_answer_that_ends_with_its_path_says_what_survival_costs() -> None:
    """5 % of the goodput; what costs more than a preference may is not what the option would choose."""
    near = race({TCP: result(40e6), STANDBY: result(38e6)})
    assert reasons.standby(near, QUESTION, TCP) == [
        "If a fails, connections end. a (b as backup) with CUBIC, which survives that, gives 5.0 % less "
        "(--prefer survive)."
    ]
    far = race({TCP: result(40e6), STANDBY: result(34e6)})
    assert reasons.standby(far, QUESTION, TCP)[0].endswith("gives 15 % less.")
    assert reasons.standby(race({TCP: result(40e6)}), QUESTION, TCP) == []


def test_two_rows_that_cost_and_give_the_same_are_one() -> None:
    """The row is that of the answer; 30 Mbit/s more over 15 s are 56.25 MB, for 20 MB paid."""
    free = result(10e6, carried=(20e6, 0.0))
    paid, alike = (result(bps, carried=(60e6, 20e6)) for bps in (40e6, 40.1e6))
    found = costs(race({TCP: free, DEFAULT: paid, TURNED: alike}), QUESTION, ["b"], [DEFAULT])
    assert [row.label for row in found] == [TCP.label, DEFAULT.label]
    assert found[1].bought == "2.81 MB more for each paid MB"
