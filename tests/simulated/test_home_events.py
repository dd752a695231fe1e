"""Things that happen at home: shapers set, fading Wi-Fi, interfaces that go and come, backups and metered paths."""

from typing import Any

import mptcplab
import pytest
from mptcplab.scenario import Scenario

TWO = """
duration = "{duration} s"
[link.wifi]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 ms"
{wifi}
[link.lte]
rate = "10 Mbit/s"
delay = "30 ms"
queue = "100 ms"
{lte}
[connection.c]
paths = ["wifi", "lte"]
congestion = "cubic"
{connection}
[measure]
sample = "100 ms"
{events}
"""


def run(events: str = "", *, duration: int = 12, **parts: str) -> mptcplab.Result:
    keys = {"wifi": "", "lte": "", "connection": "", **parts}
    return mptcplab.run(Scenario.from_toml(TWO.format(duration=duration, events=events, **keys)), engine="sim")


def event(at: str, link: str, what: str, rest: str = "") -> str:
    return f'[[event]]\nat = "{at}"\nlink = "{link}"\nset = {{ {what} }}\n{rest}\n'


def used(result: mptcplab.Result, path: str, since: float, until: float) -> float:
    """Mean goodput on a path between two times, in Mbit/s."""
    rows = [
        row["goodput_bps"]
        for row in result.samples.filter(kind="subflow", path=path).to_dicts()
        if since < row["time_s"] <= until
    ]
    return sum(rows) / 10 / (until - since) / 1e6


def only(result: mptcplab.Result) -> dict[str, Any]:
    (row,) = result.connections.to_dicts()
    return row


@pytest.mark.parametrize("manager", ["fullmesh", "backup"])
def test_an_interface_that_goes_and_comes_back_is_used_again(manager: str) -> None:
    """20 and 10 Mbit/s with 1420 of 1500 bytes; the first address is gone from 4 s to 8 s."""
    events = event("4 s", "wifi", "address = false") + event("8 s", "wifi", "address = true")
    result = run(events, duration=14, connection=f'path_manager = "{manager}"')
    assert used(result, "wifi", 1, 4) > 16
    assert used(result, "wifi", 4.2, 8) == 0
    assert used(result, "lte", 5.5, 8) > 8.5, "it carries all"
    assert used(result, "wifi", 10, 14) > 15, "joined from again"
    if manager == "backup":
        assert used(result, "lte", 0, 4) == 0
    assert len(result.subflows) == 3, "the address has a new subflow when it is back"
    assert only(result)["bytes_delivered"] > 0.9 * (8 * 20 + 4 * 10) / 8 * 1e6 * 1420 / 1500


def test_without_any_address_a_connection_waits_and_goes_on() -> None:
    """Both are gone for 3 s: silence is those and little more, and nothing is lost."""
    gone = "".join(event("4 s", link, "address = false") for link in ("wifi", "lte"))
    back = "".join(event("7 s", link, "address = true") for link in ("wifi", "lte"))
    result = run(gone + back, connection='application = { kind = "file", size = "20 MB" }')
    row = only(result)
    assert 3 < row["longest_silence_s"] < 3.5
    assert row["bytes_delivered"] == 20_000_000
    assert row["completion_s"] is not None


def test_tcp_waits_until_the_path_is_back() -> None:
    text = TWO.format(duration=12, wifi="", lte="", connection="", events=event("4 s", "wifi", "address = false"))
    text = text.replace('paths = ["wifi", "lte"]', 'paths = ["wifi"]\nprotocol = "tcp"')
    text += event("5 s", "wifi", "address = true")
    assert 1 < only(mptcplab.run(Scenario.from_toml(text), engine="sim"))["longest_silence_s"] < 2.5


def test_time_to_notice_and_bytes_over_the_dead_path() -> None:
    """Unplugged, the other path repeats what is missing after a retransmission timeout: at least 200 ms and the round
    trip, and less than twice that with 20 to 120 ms of round trip. An interface that tells is noticed at once."""
    unplugged = run(event("4 s", "wifi", "down = true"))
    notice_s = only(unplugged)["notice_s"]
    assert 0.2 < notice_s < 0.64
    assert only(unplugged)["longest_silence_s"] >= notice_s
    told = run(event("4 s", "wifi", "address = false"))
    assert only(run())["notice_s"] is None
    lost = [
        {row["direction"]: row["dead_bytes"] for row in result.links.filter(name="wifi").to_dicts()}
        for result in (unplugged, told)
    ]
    # What a window holds, which is no more than queue and path: 100 ms and 20 ms at 20 Mbit/s.
    assert all(0 < each["down"] < 1.2 * 0.12 * 20e6 / 8 for each in lost)
    assert all(row["dead_bytes"] == 0 for row in unplugged.links.filter(name="lte").to_dicts())


def test_a_path_becomes_a_backup_and_a_full_one_again() -> None:
    events = event("4 s", "lte", "backup = true") + event("8 s", "lte", "backup = false")
    result = run(events)
    assert used(result, "lte", 1, 4) > 7
    assert used(result, "lte", 4.5, 8) == 0
    assert used(result, "lte", 9, 12) > 7


def test_a_metered_path_stands_by_and_costs_what_crossed_it() -> None:
    metered = 'metered = { price = 4.0, cap = "1 MB", use = "backup" }'
    result = run(event("6 s", "wifi", "down = true"), lte=metered)
    assert used(result, "lte", 0, 6) == 0
    rows = result.links.filter(name="lte").to_dicts()
    sent = sum(row["bytes_sent"] for row in rows)
    assert sent > 6e6
    assert sum(row["cost"] for row in rows) == pytest.approx(4.0 * sent / 1e9)
    assert {row["over_cap_bytes"] for row in rows} == {sent - 1_000_000}
    assert {row["cost"] for row in result.links.filter(name="wifi").to_dicts()} == {None}


def test_packet_overhead_is_that_of_headers_and_acknowledgments() -> None:
    """A lossless TCP transfer: 52 bytes of headers for 1448 of data, and one acknowledgment of 52 for two segments."""
    text = TWO.format(
        duration=10, wifi="", lte="", connection='application = { kind = "file", size = "1448000 B" }', events=""
    )
    text = text.replace('paths = ["wifi", "lte"]', 'paths = ["wifi"]\nprotocol = "tcp"')
    text = text.replace('queue = "100 ms"', 'queue = "2000 packets"')
    # A window that grows has every segment acknowledged meanwhile.
    text = text.replace('protocol = "tcp"', 'protocol = "tcp"\nreceive_buffer = "4 MB"')
    row = only(mptcplab.run(Scenario.from_toml(text), engine="sim"))
    expected = (52 + 52 / 2) / 1448
    assert expected <= row["packet_overhead"] < expected + 0.002, "and some acknowledgments at once, SYN and FIN"
    shared = TWO.format(duration=2, wifi="", lte="", connection="count = 2", events="")
    rows = mptcplab.run(Scenario.from_toml(shared), engine="sim").connections["packet_overhead"].to_list()
    assert rows == [None, None]


def test_a_shaper_that_is_set_holds_from_then_on() -> None:
    shaper = 'shaper = { rate = "none", queue = "100 packets" }'
    events = event("4 s", "wifi", 'shaper = "5 Mbit/s"') + event("8 s", "wifi", 'shaper = "none"')
    result = run(events, wifi=shaper, connection='path_manager = "default"')
    assert used(result, "wifi", 1, 4) == pytest.approx(20 * 1420 / 1500, rel=0.03)
    assert used(result, "wifi", 5, 8) == pytest.approx(5 * 1420 / 1500, rel=0.03)
    assert used(result, "wifi", 10, 12) == pytest.approx(20 * 1420 / 1500, rel=0.06)


def test_walking_away_takes_rate_and_adds_delay_and_loss() -> None:
    """The rate falls from 20 to 2 Mbit/s in 4 s: halfway it is 11."""
    fades = event("4 s", "wifi", 'rate = "2 Mbit/s", delay = "40 ms"', 'over = "4 s"')
    result = run(fades, connection='path_manager = "default"')
    assert used(result, "wifi", 2, 4) == pytest.approx(20 * 1420 / 1500, rel=0.03)
    assert used(result, "wifi", 5.5, 6.5) == pytest.approx(11 * 1420 / 1500, rel=0.06)
    assert used(result, "wifi", 9, 12) == pytest.approx(2 * 1420 / 1500, rel=0.06)


def test_an_address_that_is_withdrawn_is_noticed_after_half_a_round_trip() -> None:
    """The server hears of it over LTE: 30 ms, and the queue there, which acknowledgments do not fill."""
    told = run(event("4 s", "wifi", "address = false"))
    assert 0.03 < only(told)["notice_s"] < 0.04


def test_the_scheduler_linux_repeats_on_a_backup_when_the_timer_has_expired_twice() -> None:
    """First with the loss probe, after two smoothed round trips of 20 to 120 ms; the second time 200 ms later at least.
    Without the rule it would be the first time, or the retransmission timeout after the probe, 440 ms or more."""
    down = event("4 s", "wifi", "down = true")
    result = run(down, connection='scheduler = "linux"\npath_manager = "backup"')
    assert 0.24 < only(result)["notice_s"] < 0.56
