"""An application that reads slowly: its rate is that of the connection, and the buffer bounds what waits for it."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario

FILE = """
duration = "20 s"
[link.near]
rate  = "20 Mbit/s"
delay = "10 ms"
[link.far]
rate  = "10 Mbit/s"
delay = "30 ms"
[connection.m]
paths          = ["near", "far"]
application    = { kind = "file", size = "1 MB" }
receive_buffer = "100 kB"
"""


def connection(*overrides: str, text: str = FILE) -> dict[str, float]:
    result = mptcplab.run(Scenario.from_toml(text, "reader.toml", overrides), engine="sim")
    row: dict[str, float] = result.connections.row(0, named=True)
    return row


@pytest.mark.parametrize("tcp", [False, True])
def test_the_reader_gives_the_time_and_the_buffer_the_lead(tcp: bool) -> None:
    """1 MB at 1 Mbit/s takes 8 s less the last piece's time, from the first byte on, which arrives after 1.5 to 2 round
    trips of 20 ms. The sender is done earlier: by the buffer, which is 0.8 s at this rate, but no more.
    """
    only = ["connection.m.protocol=tcp", 'connection.m.paths=["near"]'] if tcp else []
    row = connection("connection.m.read_rate=1 Mbit/s", *only)
    assert 8.0 - 0.012 + 0.03 < row["completion_s"] < 8.0 + 0.05
    lead = row["completion_s"] - row["sender_completion_s"]
    assert 0.7 < lead <= 0.8 + 0.012


def test_a_pause_is_added_to_the_time() -> None:
    plain = connection("connection.m.read_rate=1 Mbit/s")["completion_s"]
    paused = connection("connection.m.read_rate=1 Mbit/s", 'connection.m.read=[["2 s", "pause"], ["7 s", "1 Mbit/s"]]')
    assert paused["completion_s"] == pytest.approx(plain + 5, abs=0.012)
    assert paused["longest_silence_s"] >= 5


def test_a_pause_that_does_not_end_delivers_no_more() -> None:
    row = connection('connection.m.read=[["60 ms", "pause"]]', "connection.m.tcp.retries=2")
    assert row["completion_s"] is None
    assert 10 * 1420 <= row["bytes_delivered"] < 100_000, "the initial window, and no more than a few round trips"


@pytest.mark.parametrize("buffer", ["100 kB", "auto"])
def test_a_reader_faster_than_the_paths_changes_nothing_that_is_read(buffer: str) -> None:
    plain = connection(f"connection.m.receive_buffer={buffer}")
    fast = connection(f"connection.m.receive_buffer={buffer}", "connection.m.read_rate=100 Gbit/s")
    assert fast["completion_s"] == pytest.approx(plain["completion_s"], rel=0.02)


def test_all_from_the_start_is_no_reader_at_all() -> None:
    assert connection('connection.m.read=[["1 ms", "all"]]') == connection()


def test_a_slower_reader_never_ends_earlier() -> None:
    times = [
        connection(f"connection.m.read_rate={rate}", "connection.m.receive_buffer=auto")["completion_s"]
        for rate in ("50 Mbit/s", "20 Mbit/s", "5 Mbit/s", "2 Mbit/s")
    ]
    assert times == sorted(times)


def test_flows_and_stops_are_read_to_their_ends() -> None:
    flows = '{ kind = "flows", size = "20 kB", arrivals = { distribution = "at-once", count = 5 } }'
    rows = connection(f"connection.m.application={flows}", "connection.m.read_rate=1 Mbit/s")
    assert rows["bytes_delivered"] == 100_000
    # What the sender had sent before it stopped is read, at the reader's rate.
    stopped = connection("connection.m.application=bulk", "connection.m.stop=1 s", "connection.m.read_rate=1 Mbit/s")
    assert 1.5 < stopped["completion_s"] < 2.0
