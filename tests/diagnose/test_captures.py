"""Captures beside pasted output: what the packets say, in the same terms."""

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
