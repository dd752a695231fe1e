"""Paths on which Multipath TCP does not come about, or comes about and carries nothing."""

from typing import Any

import mptcplab
import pytest
from mptcplab import Scenario

HOME = """
    duration = "20 s"
    measure = { sample = "never" }
    link.a = { rate = "10 Mbit/s", delay = "20 ms" }
    link.b = { rate = "10 Mbit/s", delay = "30 ms" }
    connection.c = { paths = ["a", "b"], congestion = "reno" }
"""


def run(*overrides: str) -> tuple[dict[str, Any], dict[str, int]]:
    result = mptcplab.run(Scenario.from_toml(HOME, overrides=overrides))
    (row,) = result.connections.to_dicts()
    return row, {each["path"]: each["segments_sent"] for each in result.subflows.to_dicts()}


@pytest.mark.parametrize(("retries", "waits_s"), [(0, 1), (1, 3), (2, 7), (3, 15)])
def test_a_client_whose_syns_are_dropped_tries_without_the_option(retries: int, waits_s: float) -> None:
    row, used = run('link.a.middleboxes=["syn-filter"]', f"connection.c.tcp.mptcp_syn_retries={retries}")
    # SYNs leave after 0, 1, 3, 7 and 15 s (RFC 6298): the first without MP_CAPABLE follows `retries` more with it. The
    # server may write when the third segment of the handshake has come: three times 20 ms and a few headers later.
    assert row["fallback"] is True
    assert row["establishment_s"] == pytest.approx(waits_s + 0.06, abs=0.001)
    assert set(used) == {"a"}
    # Full goodput from then on: 1448 of 1500 bytes are data; slow start takes the beginning.
    rest_s = 20 - row["establishment_s"]
    assert row["bytes_delivered"] * 8 > 0.9 * rest_s * 10e6 * 1448 / 1500


def test_the_linux_default_is_two() -> None:
    text = 'link.a.middleboxes=["syn-filter"]'
    assert run(text) == run(text, "connection.c.tcp.mptcp_syn_retries=2")


def test_linux_6_12_sends_four_syns_at_the_same_interval_and_6_1_never_without_the_option() -> None:
    dropped = ['link.a.middleboxes=["syn-filter"]', 'connection.c.tcp.timers="linux"']
    row, _ = run(*dropped)
    # After 0, 1, 2 and 3 s, and the kernel's timers are late by 20 to 24 ms of each second.
    assert (row["fallback"], row["establishment_s"]) == (True, pytest.approx(3.068 + 0.06, abs=0.005))
    row, used = run(*dropped, 'connection.c.tcp.kernel="6.1"')
    assert (row["fallback"], row["establishment_s"], used) == (False, None, {"a": 0})


def test_a_filter_on_the_second_path_costs_only_that_path() -> None:
    row, used = run('link.b.middleboxes=["syn-filter"]')
    assert row["fallback"] is False
    assert used.get("b", 0) == 0
    assert row["goodput_bps"] > 0.9 * 10e6 * 1428 / 1500
    # One that only knows MP_CAPABLE lets joins pass.
    row, used = run('link.b.middleboxes=[{ kind = "syn-filter", drops = "capable" }]')
    assert row["goodput_bps"] > 0.9 * 20e6 * 1428 / 1500
    assert used["b"] > 0


def test_a_captive_path_stands_and_carries_nothing() -> None:
    # TCP on it waits for ever.
    tcp = ['connection.c={ paths = ["a"], protocol = "tcp" }', 'link.a.middleboxes=["captive"]']
    row, _ = run(*tcp)
    assert (row["bytes_delivered"], row["establishment_s"] is None) == (0, False)
    # So does Multipath TCP that begins there: no subflow joins before data or its acknowledgment came (RFC 8684 §3.1).
    row, used = run('link.a.middleboxes=["captive"]')
    assert (row["bytes_delivered"], row["fallback"], set(used)) == (0, False, {"a"})
    # As a second path, or later, it is noticed by timeouts, and the other path carries everything.
    row, used = run('link.b.middleboxes=["captive"]')
    assert row["goodput_bps"] > 0.8 * 10e6 * 1428 / 1500
    assert used["b"] < 100 < used["a"]
    row, _ = run('link.a.middleboxes=[{ kind = "captive", from = "1 s" }]')
    assert row["goodput_bps"] > 0.8 * 10e6 * 1428 / 1500
    assert row["longest_silence_s"] < 1.5


def test_a_login_ends_captivity() -> None:
    row, used = run('link.b.middleboxes=[{ kind = "captive", from = "5 s", until = "8 s" }]')
    whole, _ = run()
    # Both paths for 17 s of 20, one for 3 s, and what the timeouts of the second path cost afterwards.
    assert 0.8 * whole["bytes_delivered"] < row["bytes_delivered"] < 0.95 * whole["bytes_delivered"]
    # The silence is not longer than a timeout and what its reinjection takes.
    assert row["longest_silence_s"] < 1.5
    assert used["b"] > 1000


def test_mistakes_are_named() -> None:
    for box, key, found in (
        (
            '{ kind = "captive", from = "5 s", until = "5 s" }',
            "until",
            '"5 s"; expected more than from, which is "5 s"',
        ),
        ('{ kind = "syn-filter", drops = "some" }', "drops", '"some"; expected "all" or "capable"'),
    ):
        with pytest.raises(mptcplab.ScenarioError) as error:
            run(f"link.a.middleboxes=[{box}]")
        assert f"link.a.middleboxes.0.{key}: found {found}" in str(error.value)
