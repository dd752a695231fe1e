"""`sysctl`: which parameters a scenario may set, where they are refused, and that a host's kernel has them."""

from pathlib import Path

import pytest
from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError, describe
from mptcplab.scenario.sysctl import NAMES

NETWORK = """
duration = "5 s"
{sysctl}
link.a = {{ rate = "20 Mbit/s", delay = "10 ms" }}
[connection.m]
paths = ["a"]
"""


def scenario(sysctl: str) -> Scenario:
    return Scenario.from_toml(NETWORK.format(sysctl=f"sysctl = {sysctl}"))


def test_what_is_set_is_described_by_its_file_and_written_again() -> None:
    found = scenario('{ "net.ipv4.tcp_shrink_window" = 1, "net.ipv4.tcp_rmem" = "4096 131072 6291456" }')
    told = describe.description(found.document, 1, False)["sysctl"]
    assert told == {"net/ipv4/tcp_shrink_window": 1, "net/ipv4/tcp_rmem": "4096 131072 6291456"}
    assert Scenario.from_toml(found.to_toml()).document.sysctl == found.document.sysctl


def test_without_it_nothing_is_said() -> None:
    found = Scenario.from_toml(NETWORK.format(sysctl=""))
    assert "sysctl" not in describe.description(found.document, 1, False)
    assert "sysctl" not in found.to_toml()


@pytest.mark.parametrize(
    ("table", "key", "says"),
    [
        (
            '{ "net.ipv4.tcp_shrink_windo" = 1 }',
            "net.ipv4.tcp_shrink_windo",
            'did you mean "net.ipv4.tcp_shrink_window"?',
        ),
        ('{ "net.ipv4.tcp_shrink_window" = 2 }', "net.ipv4.tcp_shrink_window", "a whole number from 0 to 1"),
        ('{ "net.ipv4.tcp_shrink_window" = true }', "net.ipv4.tcp_shrink_window", "a whole number from 0 to 1"),
        ('{ "net.ipv4.tcp_rmem" = "4096 131072" }', "net.ipv4.tcp_rmem", "a string of 3 whole numbers"),
        ('{ "net.ipv4.tcp_ecn" = 1 }', "net.ipv4.tcp_ecn", "ecn of a connection"),
        ("{ net.ipv4.tcp_frto = 2 }", "net", "names stand in quotation marks"),
        ("1", "sysctl", "a table of kernel parameters"),
    ],
)
def test_what_is_wrong(table: str, key: str, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(table)
    assert key in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize("engine", ["sim", "stack", "model"])
def test_engines_without_a_kernel_refuse_it(engine: str) -> None:
    (problem,) = (each for each in scenario('{ "net.ipv4.tcp_frto" = 0 }').unsupported(engine) if each.key == "sysctl")
    assert "linux-virtual" in problem.expected
    with pytest.raises(UnsupportedError):
        scenario('{ "net.ipv4.tcp_frto" = 0 }').description()


def test_a_running_kernel_knows_most_of_the_names() -> None:
    known = [name for name in NAMES if Path("/proc/sys", name.replace(".", "/")).exists()]
    assert len(known) > len(NAMES) / 2
