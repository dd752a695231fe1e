"""What the sockets of programs come to: numbers worked by hand, sockets as the kernel would tell of them."""

from mptcplab.engines.linux.programs.diagnostics import End, TcpSocket
from mptcplab.engines.linux.programs.ledger import CLIENT, SERVER, Ledger

FIRST, SECOND, SERVED = b"\x0a\0\0\1", b"\x0a\0\1\1", b"\x0a\0\xff\1"


def seen(end: int, address: bytes, port: int, **changes: object) -> TcpSocket:
    """A socket of the client at `address` and `port`, or the server's other end of it."""
    ends = (End(address, port), End(SERVED, 80))
    values: dict[str, object] = {
        "cookie": bytes([end, port]),
        "local": ends[end],
        "remote": ends[1 - end],
        "gone": False,
        "congestion": "reno",
        "cwnd_segments": 10,
        "srtt_us": 20_000,
        "in_flight_segments": 0,
        "retransmissions": 0,
        "data_segments_sent": 0,
        "bytes_acked": 0,
        "bytes_received": 0,
        "timeouts": 0,
    }
    return TcpSocket(**{**values, **changes})  # type: ignore[arg-type]


def ledger(sender: int = SERVER) -> Ledger:
    return Ledger({FIRST: 0, SECOND: 1}, sender)


def test_two_subflows_of_a_download() -> None:
    book = ledger()
    book.look(100, ([], [seen(SERVER, FIRST, 5, bytes_acked=1001, data_segments_sent=2, cwnd_segments=10)]))
    book.look(
        300,
        (
            [seen(CLIENT, FIRST, 5, bytes_received=4000), seen(CLIENT, SECOND, 6, bytes_received=1000)],
            [
                seen(SERVER, FIRST, 5, bytes_acked=3001, data_segments_sent=5, cwnd_segments=20, srtt_us=40_000),
                seen(SERVER, SECOND, 6, bytes_acked=1001, data_segments_sent=1, retransmissions=1),
            ],
        ),
    )
    first, second = book.rows(window_ns=1000, lost={0: (10, 1)})
    # The receiver has more than the sender knows of.
    assert (book.arrived, first["share"], second["share"]) == (5000, 0.8, 0.2)
    assert first["goodput_bps"] == 4000 * 8 / 1000e-9
    assert (second["segments_sent"], second["retransmissions"]) == (1, 1)
    assert (first["loss_rate"], second["loss_rate"]) == (0.1, None)
    # From 10 to 20 segments over 200 ns; 1001 bytes acknowledged at 20 ms and 2000 at 40 ms.
    assert first["cwnd_mean_segments"] == 15
    assert first["rtt_mean_s"] == (1001 * 0.02 + 2000 * 0.04) / 3001
    # Of the first path a fourth is not acknowledged: counters would be of another time than the bytes.
    assert first["segments_sent"] is None


def test_connections_that_come_and_go_between_looks() -> None:
    book = ledger()
    for port in range(10, 20):
        # The client's has been emptied; an address of its own it has no more.
        served = seen(SERVER, FIRST, port, gone=True, bytes_acked=502)
        book.look(port, ([seen(CLIENT, bytes(4), port, gone=True)], [served]))
    assert book.arrived == 10 * 500
    # A port that is used again is another connection.
    book.look(30, ([], [seen(SERVER, FIRST, 10, cookie=b"new", bytes_acked=102)]))
    assert book.arrived == 10 * 500 + 100


def test_the_warm_up_and_samples_count_from_where_they_begin() -> None:
    book = ledger()
    book.look(100, ([seen(CLIENT, FIRST, 5, bytes_received=700)], [seen(SERVER, FIRST, 5, bytes_acked=700)]))
    book.sample(100, 100)
    book.warm_up_ends()
    book.look(200, ([seen(CLIENT, FIRST, 5, bytes_received=1000)], [seen(SERVER, FIRST, 5, bytes_acked=1000)]))
    book.sample(200, 100)
    (row,) = book.rows(window_ns=100, lost={})
    assert row["goodput_bps"] == 300 * 8 / 100e-9
    assert book.samples.goodput_bps == [700 * 8 / 100e-9, 300 * 8 / 100e-9]
    assert book.samples.cwnd_segments == [10, 10]


def test_an_upload_whose_sender_was_not_seen_at_the_end_has_no_counters() -> None:
    book = ledger(CLIENT)
    book.look(20, ([seen(CLIENT, FIRST, 5, bytes_acked=100, data_segments_sent=1)], []))
    book.look(40, ([], [seen(SERVER, FIRST, 5, bytes_received=50_000, gone=True)]))
    (row,) = book.rows(window_ns=100, lost={})
    assert (book.arrived, row["segments_sent"], row["retransmissions"], row["timeouts"]) == (50_000, None, None, None)


def test_what_the_kernel_could_not_tell_of_is_not_known() -> None:
    book = ledger()
    book.look(20, ([seen(CLIENT, FIRST, 5, bytes_received=10)], []))
    book.whole = False
    (row,) = book.rows(window_ns=100, lost={})
    assert (row["goodput_bps"], row["share"], row["segments_sent"]) == (None, None, None)


def test_a_client_s_socket_that_goes_after_the_server_s_does_not_count_again() -> None:
    book = ledger(CLIENT)
    standing = seen(CLIENT, FIRST, 5, bytes_acked=40_000)
    book.look(100, ([standing], [seen(SERVER, FIRST, 5, bytes_received=40_000)]))
    book.look(200, ([], [seen(SERVER, FIRST, 5, bytes_received=50_000, gone=True)]))
    book.look(300, ([seen(CLIENT, FIRST, 5, bytes_acked=50_002, gone=True)], []))
    assert book.arrived == 50_000
