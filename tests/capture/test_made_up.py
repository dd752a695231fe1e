"""Captures written here packet by packet: what is printed of them."""

import gzip
import json
import lzma
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import mptcplab
import pytest
from mptcplab import cli

CLIENT, SERVER = bytes([192, 0, 2, 10]), bytes([198, 51, 100, 5])
SYN, ACK, FIN = 2, 16, 1


def _packet(up: bool, seq: int, ack: int, flags: int, length: int = 0, ttl: int = 64, number: int = 0) -> bytes:
    source, target, ports = (CLIENT, SERVER, (40001, 80)) if up else (SERVER, CLIENT, (80, 40001))
    own, other = (1000, 5000) if up else (5000, 1000)
    tcp = struct.pack(">HHIIBBHHH", *ports, own + seq, other + ack if flags & ACK else 0, 5 << 4, flags, 65000, 0, 0)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + length, number, 0x4000, ttl, 6, 0, source, target)
    return head + tcp + bytes(length)


def _pcap(packets: list[tuple[float, bytes]], link_type: int = 101) -> bytes:
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for time_s, packet in packets:
        microseconds = round(time_s * 1e6)
        file += struct.pack("<IIII", microseconds // 10**6, microseconds % 10**6, len(packet), len(packet)) + packet
    return file


def _download(acknowledged: int = 10) -> list[tuple[float, bytes]]:
    """Ten segments at the server, of which so many are acknowledged."""
    packets = [
        (0.0, _packet(True, 0, 0, SYN)),
        (0.0001, _packet(False, 0, 1, SYN | ACK)),
        (0.0201, _packet(True, 1, 1, ACK)),
    ]
    packets += [(0.041 + n / 1000, _packet(False, 1 + 1000 * n, 1, ACK, 1000, number=7 + n)) for n in range(10)]
    packets += [(0.061 + n / 1000, _packet(True, 1, 1001 + 1000 * n, ACK)) for n in range(acknowledged)]
    return packets


def _summary(tmp_path: Path, *files: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    paths = []
    for number, file in enumerate(files):
        paths.append(tmp_path / f"{number}.pcap")
        paths[-1].write_bytes(file)
    analysis = mptcplab.analyze(paths)
    return analysis.summary, analysis.notes


def test_cut_off_at_the_sender_the_stream_is_what_was_acknowledged(tmp_path: Path) -> None:
    summary, notes = _summary(tmp_path, _pcap(_download(3)))
    (connection,) = summary["connections"]
    down = connection["streams"][1]
    assert (down["bytes"], down["outstanding_bytes"], connection["subflows"][0]["flows"][1]["bytes"]) == (
        3000,
        7000,
        3000,
    )
    assert down["goodput_bps"] == pytest.approx(3000 * 8 / 0.063)
    assert any("7.00 kB more are in the capture, neither acknowledged" in note for note in notes), notes


def test_of_acknowledgments_alone_no_rate_is_invented(tmp_path: Path) -> None:
    up = [(time_s, packet) for time_s, packet in _download() if packet[12:16] == CLIENT]
    summary, notes = _summary(tmp_path, _pcap(up))
    down = summary["connections"][0]["streams"][1]
    assert (down["bytes"], down["missed_bytes"]) == (10_000, 10_000)
    assert down["goodput_bps"] == pytest.approx(10_000 * 8 / 0.07)
    assert any("its data are not in the capture, only their acknowledgments (10.0 kB)" in note for note in notes), notes


def test_packets_that_are_there_twice_are_said(tmp_path: Path) -> None:
    twice = [each for time_s, packet in _download() for each in ((time_s, packet), (time_s + 3e-5, _lower(packet)))]
    summary, notes = _summary(tmp_path, _pcap(twice))
    down = summary["connections"][0]["streams"][1]
    assert (down["segments_sent"], down["retransmissions"], down["bytes"]) == (10, 0, 10_000)
    assert any("23 of 46 TCP packets are there twice" in note for note in notes), notes


def _lower(packet: bytes) -> bytes:
    return packet[:8] + bytes([packet[8] - 1]) + packet[9:]


def test_a_handshake_with_two_syns_has_no_round_trip(tmp_path: Path) -> None:
    packets = [(0.0, _packet(True, 0, 0, SYN)), *((1.0 + time_s, packet) for time_s, packet in _download())]
    summary, _ = _summary(tmp_path, _pcap(packets))
    assert summary["connections"][0]["subflows"][0]["handshake_rtt_s"] is None


def test_a_length_of_zero_is_that_of_the_frame(tmp_path: Path) -> None:
    packets = [
        (time_s, packet if len(packet) < 1000 else packet[:2] + b"\0\0" + packet[4:]) for time_s, packet in _download()
    ]
    summary, notes = _summary(tmp_path, _pcap(packets))
    assert summary["connections"][0]["streams"][1]["bytes"] == 10_000
    assert any("10 packets have IP length 0" in note for note in notes), notes


def test_what_is_not_read_is_named_with_its_count(tmp_path: Path) -> None:
    file = tmp_path / "tunnel.pcap"
    esp = bytes([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 50, 0, 0]) + CLIENT + SERVER + bytes(8)
    file.write_bytes(_pcap([(0.0, esp)] * 6))
    with pytest.raises(
        mptcplab.capture.CaptureError, match=r"no TCP in its 6 packets \(6 IPsec packets \(ESP, encrypted\)\)"
    ):
        mptcplab.analyze(file)
    summary, notes = _summary(tmp_path, _pcap([*_download(), (1.0, esp)]))
    assert summary["files"][0]["not_read"] == {"IPsec packets (ESP, encrypted)": 1}
    assert any("not read: 1 IPsec packets" in note for note in notes), notes


def test_a_clock_that_is_set_names_the_packet(tmp_path: Path) -> None:
    packets = [(time_s + (7200 if number < 8 else 0), packet) for number, (time_s, packet) in enumerate(_download())]
    _, notes = _summary(tmp_path, _pcap(packets))
    assert any("packet 9: the clock was set back by 7200 s" in note for note in notes), notes


def test_another_clock_is_put_right_and_said(tmp_path: Path) -> None:
    server = _download()
    client = [
        (time_s + 500 + (-0.01 if packet[12:16] == CLIENT else 0.01), _lower(packet)) for time_s, packet in server
    ]
    summary, notes = _summary(tmp_path, _pcap(server), _pcap(client))
    assert summary["duration_s"] < 0.2
    assert any("its clock is 500 s ahead of the others'" in note for note in notes), notes


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_packed_captures(pack: Any, tmp_path: Path) -> None:
    whole = _pcap(_download())
    packed = pack(whole)
    summary, notes = _summary(tmp_path, packed)
    assert (summary["connections"][0]["streams"][1]["bytes"], notes) == (10_000, ())
    # Cut off, it is read as far as it goes.
    _, notes = _summary(tmp_path, pack(whole * 1)[: len(packed) - 9])
    assert any("data are cut off or damaged" in note for note in notes), notes


def test_standard_input(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("mptcplab"), "analyze", "-", "--json"]
    done = subprocess.run(command, input=_pcap(_download()), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"][0]["name"] == "standard input"


def test_our_own_list_of_checksums_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pcap").write_bytes(_pcap(_download()))
    (tmp_path / "files.sha256").write_text("0" * 64 + "  a.pcap\n")
    assert cli.invoke(["analyze", *map(str, sorted(tmp_path.iterdir()))]) == 0
    assert "10.0 kB" in capsys.readouterr().out


def test_a_summary_first_and_details_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = []
    for number in range(5):
        port = struct.pack(">H", 40001 + number)
        several += [(number + t, p.replace(struct.pack(">H", 40001), port, 1)) for t, p in _download()]
    (tmp_path / "five.pcap").write_bytes(_pcap(several))
    assert cli.invoke(["analyze", str(tmp_path / "five.pcap"), "--top", "2"]) == 0
    shown = capsys.readouterr()
    assert [line for line in shown.out.splitlines() if line.startswith(("Summary", "Paths", "Connections", "Longest"))]
    assert "Data by subflow" not in shown.out
    assert "50.0 kB" in shown.out
    assert "--connection N prints the details" in shown.err
    assert cli.invoke(["analyze", str(tmp_path / "five.pcap"), "--connection", "3"]) == 0
    assert "Data by subflow" in capsys.readouterr().out
    assert cli.invoke(["analyze", str(tmp_path / "five.pcap"), "--connection", "5"]) == 2
    assert "found 5; expected 0 to 4" in capsys.readouterr().err
