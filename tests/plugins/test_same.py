"""The examples, which re-implement built-in algorithms, give the same results to the byte."""

from pathlib import Path

import mptcplab
import pytest
from mptcplab.results.columns import FRAMES
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
KEYS = {
    "congestion": ("reno.py:Reno", "reno"),
    "scheduler": ("min_rtt.py:MinRtt", "min-rtt"),
    "path_manager": ("fullmesh.py:Fullmesh", "fullmesh"),
}
NEIGHBOURS = """
[connection.neighbours]
paths = ["wifi"]
protocol = "tcp"
count = 3
start = ["0 s", "2 s"]
ecn = true
application = { kind = "requests", size = "200 kB" }
"""


def the_same(one: Result, other: Result) -> None:
    """All is equal but for the names of the algorithms."""
    for name in FRAMES:
        ours, theirs = (getattr(each, name) for each in (one, other))
        if name == "connections":
            ours, theirs = (each.drop("congestion", "scheduler") for each in (ours, theirs))
        assert ours.equals(theirs), name
        assert ours.height, name


def both(network: str, key: str, *overrides: str, repeat: int = 1) -> Result:
    """The results with a plug-in, which must be those of the built-in algorithm."""
    plugin, built_in = KEYS[key]
    scenario = Scenario.from_toml(network, str(EXAMPLES / "network.toml"), overrides)
    ours = mptcplab.run(scenario.with_(f'connection.download.{key}={{ plugin = "{plugin}" }}'), repeat=repeat)
    the_same(ours, mptcplab.run(scenario.with_(f'connection.download.{key}="{built_in}"'), repeat=repeat))
    return ours


@pytest.mark.parametrize("key", KEYS)
def test_bulk_with_loss_on_two_paths(key: str, network: str) -> None:
    result = both(network, key, repeat=3)
    assert result.subflows["retransmissions"].sum() > 100
    shown = result.connections[key].unique().to_list() if key in result.connections.columns else [KEYS[key][0]]
    assert shown == [KEYS[key][0]]


@pytest.mark.parametrize("key", KEYS)
def test_with_neighbours_marks_pacing_and_a_link_that_dies(key: str, network: str) -> None:
    died = '[[event]]\nat = "2 s"\nlink = "wifi"\nset = { down = true }\n'
    back = '[[event]]\nat = "3500 ms"\nlink = "wifi"\nset = { down = false }\n'
    overrides = (
        "connection.download.ecn=true",
        "connection.download.tcp.abe=true",
        "connection.download.tcp.pacing=true",
        'link.lte.queue={ kind = "codel", ecn = true }',
    )
    both(network + NEIGHBOURS + died + back, key, *overrides)


def test_reno_over_plain_tcp(network: str) -> None:
    both(network, "congestion", 'connection.download.protocol="tcp"', 'connection.download.paths=["lte"]')
