"""What people do at home: pages, videos, files by FTP, pings; numbers by hand."""

from typing import Any

import mptcplab
import pytest
from mptcplab import Scenario

LINK = """
    duration = "40 s"
    measure = { sample = "never" }
    link.a = { rate = "100 Mbit/s", delay = "50 ms", queue = "10000 packets" }
    link.b = { rate = "100 Mbit/s", delay = "50 ms", queue = "10000 packets" }
    connection.c = { paths = ["a"], protocol = "tcp", application = APPLICATION }
"""
BYTE_S = 80e-9
"""What a byte takes on a link."""
ACK = 52
"""Bytes."""


def run(application: str, *overrides: str) -> dict[str, Any]:
    result = mptcplab.run(Scenario.from_toml(LINK.replace("APPLICATION", application), overrides=overrides))
    (row,) = result.connections.to_dicts()
    assert result.to_dict()["connections"][0]["transfers"]["complete"] == row["transfers_complete"]
    return row


def test_a_page_takes_a_round_trip_for_each_object_in_its_chain() -> None:
    row = run('{ kind = "web", objects = [{ size = "1 kB" }, { size = "1 kB" }], pages = 3, think = "2 s" }')
    # SYN and SYN/ACK of 60 bytes; two requests of 452 and answers of 1052; three round trips. What has arrived is
    # acknowledged at once before it is answered, 52 bytes, until an end has answered once: the SYN/ACK, the first
    # request and the first answer, but not the second request.
    by_hand = 0.3 + (60 + 60 + 2 * (452 + 1052) + 3 * ACK) * BYTE_S
    assert row["transfer_times_s"] == pytest.approx([by_hand] * 3, abs=1e-9)
    assert row["transfer_starts_s"] == pytest.approx([0, 2 + by_hand, 4 + 2 * by_hand], abs=1e-9)
    assert row["transfer_sizes_bytes"] == [2000] * 3
    assert row["completion_s"] == pytest.approx(4 + 3 * by_hand, abs=1e-9)
    assert row["fallback"] is False


def test_objects_wait_for_connections_unless_they_are_multiplexed() -> None:
    objects = 'objects = [{ size = "1 kB" }, { size = "1 kB", count = 8 }], pages = 1'
    # Round trips: connection; document; one object by the connection that is there while five others are opened; six
    # objects; the last one.
    (six,) = run(f'{{ kind = "web", {objects} }}')["transfer_times_s"]
    assert six == pytest.approx(0.5, abs=0.004)
    # Connection, document, all else.
    (one,) = run(f'{{ kind = "web", multiplexed = true, {objects} }}')["transfer_times_s"]
    assert one == pytest.approx(0.3, abs=0.003)


def test_pings_take_a_round_trip_idle_and_the_queue_under_load() -> None:
    row = run('{ kind = "ping", interval = "0.5 s" }')
    by_hand = 0.1 + 2 * (64 + 52) * BYTE_S
    # The first follows the acknowledgment of the handshake. The server acknowledges the first before it answers, the
    # others with its answer.
    times = row["transfer_times_s"]
    assert times[0] == pytest.approx(by_hand + 2 * ACK * BYTE_S, abs=1e-9)
    assert times[1:] == pytest.approx([by_hand] * (len(times) - 1), abs=1e-9)
    loaded = Scenario.from_toml(
        LINK.replace("APPLICATION", '"ping"'),
        overrides=['link.a.queue="200 ms"', 'connection.bulk={ paths = ["a"], protocol = "tcp" }'],
    )
    ping = mptcplab.run(loaded).connections.to_dicts()[0]
    # A queue of 200 ms that Reno halves: after the slow start from 0 to 200 ms more, and never beyond.
    assert 0.1 < ping["transfer_mean_s"] < 0.31
    assert ping["transfer_p99_s"] > 0.2


def test_ftp_logs_in_and_opens_a_connection_for_each_file() -> None:
    row = run('{ kind = "ftp", size = "1 kB", files = 2 }')
    # EPSV and its reply, the handshake and the file: three round trips.
    # What arrives on the control connection is acknowledged with the answer; the SYN/ACK first.
    by_hand = 0.3 + (58 + 100 + 60 + 60 + 1052 + ACK) * BYTE_S
    assert row["transfer_times_s"][0] == pytest.approx(by_hand, abs=1e-9)
    assert row["transfer_times_s"][1] == pytest.approx(by_hand, abs=20e-6)
    # Before them the handshake, half a round trip of which carries the greeting, and three commands: 4.5 round trips.
    assert row["transfer_starts_s"][0] == pytest.approx(0.5, abs=1e-3)
    assert row["completion_s"] == pytest.approx(0.5 + 2 * by_hand, abs=1e-3)


def test_a_video_takes_the_highest_rate_that_fits_and_stalls_in_an_outage() -> None:
    ladder = 'ladder = ["1 Mbit/s", "3 Mbit/s", "6 Mbit/s"]'
    video = f'{{ kind = "video", {ladder}, segment = "2 s", buffer = "12 s" }}'
    row = run(video, 'link.a.rate="20 Mbit/s"')
    assert (row["video_stalls"], row["video_stalled_s"]) == (0, 0)
    assert row["video_startup_s"] < 0.7
    assert row["video_switches"] == 2
    assert row["video_bitrate_mean_bps"] > 4.5e6
    # 15 s without a link, of which the buffer bridges 8 to 12 s. TCP notices the end of it up to a timeout late.
    dead = '{ at = "15 s", link = "a", set = { down = true } }'
    alive = '{ at = "30 s", link = "a", set = { down = false } }'
    outage = ['link.a.rate="20 Mbit/s"', f"event=[{dead}, {alive}]", 'connection.c.tcp.rto_max="1 s"']
    row = run(video, *outage)
    assert row["video_stalls"] == 1
    assert 3 < row["video_stalled_s"] < 9
    # Over two paths there is nothing to notice but a short silence.
    row = run(
        video, 'link.a.rate="20 Mbit/s"', *outage, 'connection.c.paths=["a", "b"]', 'connection.c.protocol="mptcp"'
    )
    assert row["video_stalls"] == 0


@pytest.mark.parametrize(
    ("application", "key", "found"),
    [
        ('{ kind = "web", objects = [] }', "objects", "[]"),
        ('{ kind = "web", objects = [{ size = "1 kB" }, { size = "1 kB", after = 1 }] }', "objects.1.after", "1"),
        ('{ kind = "web", objects = [{ size = "1 kB", count = 2 }] }', "objects.0.count", "2"),
        ('{ kind = "video", ladder = ["2 Mbit/s", "1 Mbit/s"] }', "ladder", "2 Mbit/s"),
        ('{ kind = "video", ladder = ["2 Mbit/s"], buffer = "5 s" }', "buffer", '"5 s"'),
        ('{ kind = "video", ladder = ["2 Mbit/s"], upper = "29 s" }', "upper", '"29 s"'),
        ('{ kind = "ftp" }', "size", "nothing"),
        ('{ kind = "ping", interval = 1 }', "interval", "1 (a bare number)"),
    ],
)
def test_mistakes_are_named(application: str, key: str, found: str) -> None:
    with pytest.raises(mptcplab.ScenarioError) as error:
        Scenario.from_toml(LINK.replace("APPLICATION", application))
    (line,) = [line for line in str(error.value).splitlines() if f"application.{key}:" in line]
    assert f"found {found}" in line or f'found ["{found}' in line


def test_who_asks_is_the_client() -> None:
    with pytest.raises(mptcplab.ScenarioError, match='"up" for "ping"; expected "down"'):
        Scenario.from_toml(LINK.replace("APPLICATION", '"ping"'), overrides=["connection.c.direction=up"])


def test_the_complete_scenario_means_the_same() -> None:
    for application in (
        '{ kind = "web", objects = [{ size = "1 kB" }, { size = "2 kB", count = 3 }], multiplexed = true }',
        '{ kind = "video", ladder = ["1 Mbit/s", "3 Mbit/s"], length = "9 s" }',
        '"ping"',
        '{ kind = "ftp", size = "1 kB" }',
    ):
        scenario = Scenario.from_toml(LINK.replace("APPLICATION", application))
        again = Scenario.from_toml(scenario.to_toml())
        assert again.sha256() == scenario.sha256()
        assert again.description() == scenario.description()
