"""Captures beside pasted output: what the packets say, in the same terms."""

import struct
from collections.abc import Iterator
from pathlib import Path

import mptcplab
import pytest
from mptcplab.diagnose import report
from mptcplab.diagnose.diagnosis import diagnose

from tests.networks import FAST_AND_SLOW

DATA = Path(__file__).with_name("data")


def captured(tmp_path: Path, box: str, more: str = "") -> list[str]:
    text = FAST_AND_SLOW.replace("[link.slow]", f"middleboxes = [{box}]\n[link.slow]")
    text += f'[connection.c]\npaths = ["fast", "slow"]\napplication = {{ kind = "file", size = "400 kB" }}\n{more}'
    scenario = mptcplab.Scenario.from_toml(f'duration = "2 s"\n{text}', "<test>")
    mptcplab.run(scenario, capture=mptcplab.capture.Capture(tmp_path))
    return sorted(map(str, tmp_path.glob("*.pcapng")))


@pytest.mark.parametrize(
    ("box", "cause", "more"),
    [
        ('{ kind = "strip", on = "syn" }', "options-stripped", ""),
        ('{ kind = "strip", on = "data" }', "mapping-lost", ""),
        ('{ kind = "payload-rewriting", direction = "down", at = "100 kB" }', "checksum", "checksum = true\n"),
    ],
)
def test_what_a_box_did(tmp_path: Path, box: str, cause: str, more: str) -> None:
    found = diagnose(captured(tmp_path, box, more))
    assert cause in {each.cause for each in found.findings}
    assert len(report.document(found)["connections"]) == 1


def test_nothing_where_nothing_is_wrong(tmp_path: Path) -> None:
    found = diagnose(captured(tmp_path, '"nat"'))
    assert found.findings == []
    (connection,) = report.document(found)["connections"]
    assert [len(connection["subflows"]), connection["protocol"]] == [2, "mptcp"]


def test_a_folder_that_run_wrote_is_read_without_its_list(tmp_path: Path) -> None:
    files = captured(tmp_path, '"nat"')
    (tmp_path / "files.sha256").write_text(f"{'0' * 64}  {Path(files[0]).name}\n", encoding="utf-8")
    assert report.document(diagnose([str(tmp_path)])) == report.document(diagnose(files))


def test_a_broken_capture_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(40))
    found = diagnose([str(tmp_path), str(DATA / "limit-zero" / "client.txt")])
    assert found.findings[0].cause == "limit-subflows"
    assert any("broken.pcap" in note for note in found.reading.notes)


def frozen(file: Path, since_s: float) -> None:
    """Leave the DATA_ACK of every segment without payload as it is at that time of the capture."""
    content = bytearray(file.read_bytes())
    place, began_ns = 0, None
    standing: dict[bytes, bytes] = {}
    while place < len(content):
        kind, length = struct.unpack_from("<II", content, place)
        if kind == 6:  # an enhanced packet block
            high, low, captured = struct.unpack_from("<III", content, place + 12)
            now_ns = (high << 32) + low
            began_ns = now_ns if began_ns is None else began_ns
            packet = bytes(content[place + 28 : place + 28 + captured])
            tcp = 4 * (packet[0] & 15)
            for at in options(packet, tcp) if tcp + 4 * (packet[tcp + 12] >> 4) == captured else ():
                if packet[at] != 30 or packet[at + 2] >> 4 != 2 or not packet[at + 3] & 1:
                    continue
                own = slice(place + 28 + at + 4, place + 28 + at + (12 if packet[at + 3] & 2 else 8))
                if now_ns - began_ns < since_s * 1e9:
                    standing[packet[12:16]] = bytes(content[own])
                elif packet[12:16] in standing:
                    content[own] = standing[packet[12:16]]
        place += length
    file.write_bytes(content)


def options(packet: bytes, tcp: int) -> Iterator[int]:
    """Where the options of a TCP header begin."""
    at, end = tcp + 20, tcp + 4 * (packet[tcp + 12] >> 4)
    while at < end and packet[at]:
        yield at
        at += 1 if packet[at] == 1 else packet[at + 1]


def test_a_data_ack_that_stands_still_is_named(tmp_path: Path) -> None:
    scenario = mptcplab.Scenario.from_toml(
        f'duration = "4 s"\n{FAST_AND_SLOW}[connection.c]\npaths = ["fast", "slow"]\n', "<test>"
    )
    mptcplab.run(scenario, capture=mptcplab.capture.Capture(tmp_path))
    files = sorted(tmp_path.glob("*.pcapng"))
    assert "receiver-stuck" not in {each.cause for each in diagnose(list(map(str, files))).findings}
    for file in files:
        frozen(file, 1.5)
    (found,) = [each for each in diagnose(list(map(str, files))).findings if each.cause == "receiver-stuck"]
    assert "the DATA_ACK stood still" in found.says
