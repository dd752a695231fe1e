"""Where two runs part, out of captures that are made up here."""

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from mptcplab.capture.divergence import divergence, parting, sent, unclosed
from mptcplab.capture.explain import explain

CLIENT = {"fast": "10.0.0.1", "slow": "10.0.1.1"}
SERVER = "10.0.255.1"
ACK = 16
SYN = 2
FIN = 1
PSH = 8


def packet(
    source: str,
    target: str,
    sequence: int,
    acknowledgment: int,
    *,
    flags: int = ACK,
    length: int = 0,
    window: int = 500,
    ports: tuple[int, int] = (4000, 5001),
    options: bytes = b"",
) -> bytes:
    tcp = struct.pack(
        ">HHIIBBHHH",
        *ports,
        sequence % 2**32,
        acknowledgment % 2**32,
        (20 + len(options)) // 4 << 4,
        flags,
        window,
        0,
        0,
    )
    addresses = IPv4Address(source).packed + IPv4Address(target).packed
    total = 40 + len(options) + length
    return struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + addresses + tcp + options + bytes(length)


def write(file: Path, packets: Sequence[tuple[int, bytes]]) -> None:
    """A file as mptcplab writes it, of packets with their times in ms."""
    blocks = [(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), (1, struct.pack("<HHI", 101, 0, 0))]
    for time_ms, data in packets:
        time_ns = time_ms * 1_000_000
        head = struct.pack("<IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), len(data))
        blocks.append((6, head + data + bytes(-len(data) % 4)))
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as out:
        for kind, body in blocks:
            out.write(struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12))


def run(place: Path, *, first: int, port: int, third: str = "fast", window: int = 500, late_ms: int = 0) -> Path:
    """A run whose client calls from a random port with a random sequence number; the server sends three packets."""
    fast, down = (port, 5001), (5001, port)
    write(
        place / "m-client-fast.pcapng",
        [
            (0, packet(CLIENT["fast"], SERVER, first, 0, flags=SYN, ports=fast)),
            # What the client receives is not what it sends.
            (21, packet(SERVER, CLIENT["fast"], 9, first + 1, flags=SYN | ACK, ports=down)),
        ],
    )
    write(place / "m-client-slow.pcapng", [])
    write(
        place / "m-server.pcapng",
        [
            (10, packet(CLIENT["fast"], SERVER, first, 0, flags=SYN, ports=fast)),
            (10, packet(SERVER, CLIENT["fast"], first + 7, first + 1, flags=SYN | ACK, ports=down)),
            (30, packet(SERVER, CLIENT["fast"], first + 8, first + 1, length=1000, window=window, ports=down)),
            (31 + late_ms, packet(SERVER, CLIENT[third], first + 1008, first + 1, length=1000, ports=down)),
        ],
    )
    return place


def test_random_numbers_are_no_difference(tmp_path: Path) -> None:
    # The second run's sequence numbers wrap.
    one = run(tmp_path / "a", first=1000, port=4000)
    assert divergence(one, run(tmp_path / "b", first=2**32 - 20, port=4999)) is None


@pytest.mark.parametrize(
    ("change", "number", "what"),
    [
        ({"third": "slow"}, 3, "the subflow"),
        ({"window": 400}, 2, "the window"),
        ({"late_ms": 2}, 3, "the time (a timer, or pacing)"),
        ({"late_ms": 1}, None, None),
    ],
)
def test_the_first_difference_is_told(
    tmp_path: Path, change: dict[str, object], number: int | None, what: str | None
) -> None:
    found = divergence(run(tmp_path / "a", first=1, port=1), run(tmp_path / "b", first=1, port=1, **change))  # type: ignore[arg-type]
    assert (None if found is None else found.number, None if found is None else found.what) == (number, what)
    if found is not None:
        lines = found.lines(("6.12", "7.3"))
        assert lines[1].startswith("  6.12: 0.03")
        assert "m-server to 10.0.0.1: ACK seq " in lines[1]


def test_packets_of_two_subflows_at_one_time_have_no_order(tmp_path: Path) -> None:
    for name, (fast_ms, slow_ms) in (("a", (1, 2)), ("b", (2, 1))):
        # Within the tolerance of a tick, in either order.
        for path, time_ms in (("fast", fast_ms), ("slow", slow_ms)):
            write(tmp_path / name / f"m-client-{path}.pcapng", [(time_ms, packet(CLIENT[path], SERVER, 1, 1))])
    assert divergence(tmp_path / "a", tmp_path / "b") is None


def test_of_several_differences_the_earliest_counts(tmp_path: Path) -> None:
    for name, window, length in (("a", 500, 10), ("b", 400, 20)):
        write(tmp_path / name / "m-client-fast.pcapng", [(9, packet(CLIENT["fast"], SERVER, 1, 1, window=window))])
        write(tmp_path / name / "m-server.pcapng", [(5, packet(SERVER, CLIENT["fast"], 1, 1, length=length))])
    found = divergence(tmp_path / "a", tmp_path / "b")
    assert found is not None
    assert (found.number, found.what) == (0, "the length")


def test_options_are_told_by_their_names(tmp_path: Path) -> None:
    for name, option in (("a", b"\x1e\x08\x20\x01" + bytes(4)), ("b", b"\x01\x01\x05\x0a" + bytes(8))):
        data = packet(SERVER, CLIENT["fast"], 1, 1, options=option)
        write(tmp_path / name / "m-server.pcapng", [(1, data)])
    found = divergence(tmp_path / "a", tmp_path / "b")
    assert found is not None
    assert found.what == "an option"
    assert found.first is not None
    assert found.second is not None
    assert (found.first.options, found.second.options) == (("DSS",), ("SACK",))


def test_one_that_sends_less_is_told(tmp_path: Path) -> None:
    data = packet(SERVER, CLIENT["fast"], 1, 1)
    write(tmp_path / "a" / "m-server.pcapng", [(1, data)])
    write(tmp_path / "b" / "m-server.pcapng", [])
    found = divergence(tmp_path / "a", tmp_path / "b")
    assert found is not None
    assert found.what == "the number of packets"
    assert found.lines(("a", "b"))[2] == "  b: nothing more is sent"


def closed(place: Path, *, last: int = 1000, joined: bool) -> Path:
    """A server sends two segments, the last with its FIN or without; both ends close."""
    there, back = (CLIENT["fast"], SERVER), (SERVER, CLIENT["fast"])
    down, end = (5001, 4000), 1001 + last
    data = [
        (10, packet(*back, 0, 0, flags=SYN | ACK, ports=down)),
        (20, packet(*back, 1, 1, length=1000, ports=down)),
        (21, packet(*back, 1001, 1, length=last, flags=ACK | PSH | FIN * joined, ports=down)),
    ]
    acknowledgments = [(0, packet(*there, 0, 0, flags=SYN)), (30, packet(*there, 1, 1001))]
    if joined:
        acknowledgments += [(31, packet(*there, 1, end + 1, flags=FIN | ACK))]
        data += [(41, packet(*back, end + 1, 2, ports=down))]
    else:
        acknowledgments += [(31, packet(*there, 1, end)), (38, packet(*there, 1, end, flags=FIN | ACK))]
        data += [(25, packet(*back, end, 1, flags=FIN | ACK, ports=down))]
        data += [(48, packet(*back, end + 1, 2, ports=down))]
    write(place / "m-client-fast.pcapng", acknowledgments)
    write(place / "m-server.pcapng", data)
    return place


def test_what_closes_a_connection_is_left_out(tmp_path: Path) -> None:
    one, other = closed(tmp_path / "a", joined=True), closed(tmp_path / "b", joined=False)
    assert divergence(one, other) is not None
    mine, theirs = (unclosed(sent(place, plain=True)) for place in (one, other))
    told = [(each.host, each.flags, each.sequence, each.length) for each in mine]
    assert told == [
        ("client", "SYN", 0, 0),
        ("server", "SYN+ACK", 0, 0),
        ("server", "ACK", 1, 1000),
        ("server", "PSH+ACK", 1001, 1000),
        ("client", "ACK", 1, 0),
        ("client", "ACK", 1, 0),
    ]
    assert parting(mine, theirs) is None
    shorter = unclosed(sent(closed(tmp_path / "c", last=999, joined=False), plain=True))
    found = parting(mine, shorter)
    assert found is not None
    assert (found.number, found.what) == (3, "the length")


def test_runs_that_only_close_otherwise_send_the_same_packets(tmp_path: Path) -> None:
    one, other = closed(tmp_path / "a", joined=True), closed(tmp_path / "b", joined=False)
    found = explain(one, other, ("sim", "linux"))
    assert (found.first, found.before, found.packets) == (None, (), 6)
    assert found.lines()[0] == "sim and linux send the same 6 packets"
    assert found.lines()[1].startswith("Only their ends differ, at 0.021000 s. sim: server (fast): FIN+ACK seq 1001")
    assert explain(one, one, ("sim", "sim")).end is None
    parted = explain(one, closed(tmp_path / "c", last=500, joined=False), ("sim", "linux"))
    assert parted.first is not None
    assert parted.end is None


def test_a_subflow_with_data_of_both_hosts_is_left_as_it_is(tmp_path: Path) -> None:
    both = [
        (1, packet(CLIENT["fast"], SERVER, 1, 1, length=10)),
        (3, packet(CLIENT["fast"], SERVER, 11, 21, flags=FIN | ACK)),
    ]
    write(tmp_path / "a" / "m-client-fast.pcapng", both)
    data = packet(SERVER, CLIENT["fast"], 1, 11, length=20, flags=FIN | ACK, ports=(5001, 4000))
    write(tmp_path / "a" / "m-server.pcapng", [(2, data)])
    packets = sent(tmp_path / "a", plain=True)
    assert unclosed(packets) == packets
