"""`read_rate` and `read`: what a scenario may say, what the core is told, and who refuses it."""

import pytest
from mptcplab.engines import linux, model, testbed
from mptcplab.engines.stack.peer import unsupported
from mptcplab.export import refusals
from mptcplab.scenario import Scenario, ScenarioError, describe

NETWORK = """
duration = "5 s"
link.a = {{ rate = "20 Mbit/s", delay = "10 ms" }}
[connection.m]
paths = ["a"]
{keys}
"""


def scenario(keys: str) -> Scenario:
    return Scenario.from_toml(NETWORK.format(keys=keys))


def test_the_core_is_told_of_stages_and_they_are_written_again() -> None:
    found = scenario('read_rate = "2 Mbit/s"\nread = [["1 s", "pause"], ["1500 ms", "1 Mbit/s"], ["3 s", "all"]]')
    (connection,) = describe.description(found.document, 1, False)["connections"]
    assert [(each["at_ns"], each["rate_bps"]) for each in connection["reading"]] == [
        (0, 2_000_000),
        (1_000_000_000, 0),
        (1_500_000_000, 1_000_000),
        (3_000_000_000, None),
    ]
    again = Scenario.from_toml(found.to_toml()).document.connections["m"]
    assert again == found.document.connections["m"]


def test_without_them_nothing_is_said() -> None:
    found = scenario("")
    assert "reading" not in describe.description(found.document, 1, False)["connections"][0]
    assert "read" not in found.to_toml().replace("thread", "")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("read_rate = 5", "connection.m.read_rate: found 5 (a bare number); expected a rate with its unit"),
        ('read = "pause"', 'connection.m.read: found "pause"; expected an array of times and rates'),
        ("read = []", "connection.m.read: found []; expected an array of times and rates"),
        ('read = [["1 s"]]', 'connection.m.read.0: found ["1 s"]; expected a time and a rate'),
        ('read = [["1 s", "slow"]]', 'connection.m.read.0.1: found "slow"'),
        ('read = [["1 s", "slow"]]', 'expected "pause", "all" or a rate with its unit'),
        ('read = [["0 s", "pause"]]', 'connection.m.read.0.0: found "0 s"; expected a time from 1 ns'),
        ('read = [["2 s", "pause"], ["2 s", "all"]]', 'found "2 s"; expected a time after the one before it, "2 s"'),
        ('read = [["5 s", "pause"]]', 'connection.m.read.0.0: found "5 s"; expected a time before the end of the run'),
        (
            'application = "ping"\nread_rate = "1 Mbit/s"',
            'connection.m.read_rate: found a value; expected none for "ping"',
        ),
    ],
)
def test_what_is_wrong_is_said(keys: str, says: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        scenario(keys)
    assert says in str(wrong.value)


def test_who_cannot_says_so() -> None:
    found = scenario('read_rate = "1 Mbit/s"')
    key = "connection.m.read_rate"
    assert key in {problem.key for problem in model.unsupported(found)}
    assert key in {problem.key for problem in testbed.unsupported(found)}
    assert key in {problem.key for problem in refusals.unsupported(found)}
    # The kernel's end is the receiver of a download if it is the client.
    assert key in {problem.key for problem in unsupported(found, "client")}
    assert key not in {problem.key for problem in unsupported(found, "server")}
    assert key not in {problem.key for problem in (*unsupported(found), *found.unsupported("sim"))}
    assert key not in {problem.key for problem in linux.unsupported(found)}
