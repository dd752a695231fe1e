"""What `run` says beside the numbers: connections that failed or never opened, and those far below TCP."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

TWO = """
duration = "60 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 ms"
[link.b]
rate = "{rate}"
delay = "15 ms"
queue = "{queue}"
[connection.m]
paths = ["a", "b"]
{more}
"""
DEAD = '[[event]]\nat = "10 s"\nlink = "{link}"\nset = {{ down = true }}\n'


def run(more: str = "", *overrides: str, rate: str = "10 Mbit/s", queue: str = "50 ms") -> mptcplab.Result:
    text = TWO.format(more=more, rate=rate, queue=queue)
    return mptcplab.run(Scenario.from_toml(text, "remarks.toml", overrides))


@pytest.mark.parametrize("protocol", ["mptcp", "tcp"])
def test_a_connection_that_gave_up_is_said_and_its_goodput_is_that_of_its_life(protocol: str) -> None:
    file = 'application = { kind = "file", size = "50 MB" }\ntcp = { retries = 3 }\n'
    if protocol == "tcp":
        file += 'protocol = "tcp"\n'
    result = run(
        file + DEAD.format(link="a") + DEAD.format(link="b"), *(['connection.m.paths=["a"]'] * (protocol == "tcp"))
    )
    (note,) = [note for note in result.notes if "failed" in note]
    why = "it gave up without an answer" if protocol == "tcp" else "its last subflow gave up"
    assert f"m 0 failed: {why} at 1" in note
    assert "of 50.000 MB had arrived" in note
    (row,) = result.connections.to_dicts()
    # Ten seconds of both links at most, and then some five seconds of retransmissions, of three that are doubled.
    ended_s = float(note.split(" at ")[1].split(" s,")[0])
    assert 11 < ended_s < 20
    assert row["goodput_bps"] == pytest.approx(row["bytes_delivered"] * 8 / ended_s, rel=1e-3)
    assert row["completion_s"] is None


def test_a_connection_that_finds_nobody_is_said() -> None:
    more = 'start = "1 s"\n' + "".join(DEAD.format(link=link).replace('"10 s"', '"0.5 s"') for link in "ab")
    waiting = run(more, "duration=20 s")
    assert [note for note in waiting.notes if "open" in note] == ["m 0 did not open within 19 s"]
    (given_up,) = run("tcp = { syn_retries = 2 }\n" + more, "duration=60 s").notes
    assert given_up.startswith("m 0 failed: it never opened: it gave up without an answer at ")


def test_a_connection_far_below_tcp_on_one_path_is_pointed_to_advise() -> None:
    (note,) = run(
        'scheduler = "linux"\ncongestion = "cubic"\n', "link.a.rate=50 Mbit/s", rate="150 kbit/s", queue="500 ms"
    ).notes
    assert "TCP over a alone has room for 48.3" in note
    assert "mptcplab advise" in note
    assert run("", "duration=20 s").notes == ()


@pytest.mark.parametrize(
    "override",
    [
        "link.a.loss=3 %",
        'link.a.middleboxes=[{ kind = "nat" }]',
        'connection.m.application={ kind = "rate", rate = "1 Mbit/s" }',
        "duration=1 s",
        "connection.m.read_rate=1 Mbit/s",
    ],
)
def test_what_may_bound_tcp_as_well_is_no_reason(override: str) -> None:
    far = run(
        'scheduler = "linux"\n', "duration=20 s", "link.a.rate=50 Mbit/s", override, rate="150 kbit/s", queue="500 ms"
    )
    assert [note for note in far.notes if "advise" in note] == []


def test_one_path_on_purpose_is_no_reason() -> None:
    alone = run('path_manager = "default"\n', "duration=20 s", "link.b.rate=50 Mbit/s")
    assert [note for note in alone.notes if "advise" in note] == []


def test_the_engine_model_has_no_connection_that_opens() -> None:
    result = mptcplab.run(Scenario.from_toml(TWO.format(more="", rate="10 Mbit/s", queue="50 ms")), "model")
    assert not [note for note in result.notes if "open" in note or "advise" in note]
