"""Files that are no captures: endless, without a size, of names that no file has, of lengths that they do not have."""

import struct
from pathlib import Path

import pytest
from mptcplab import analyze, cli
from mptcplab.capture.analysis import CaptureError

from tests.scenario.test_inputs import INPUTS

SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
INTERFACE = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
LENGTHS = {
    "a packet of 4 GiB": PCAP + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 0xFFFFFFFF) + b"x" * 100,
    "a packet of 2 GiB": PCAP + struct.pack("<IIII", 0, 0, 0x7FFFFFFF, 0x7FFFFFFF) + b"x" * 100,
    "a block of 4 GiB": SECTION + INTERFACE + struct.pack("<II", 6, 0xFFFFFFF0) + b"y" * 100,
    "a section of 4 GiB": struct.pack("<IIIHHqI", 0x0A0D0D0A, 0xFFFFFFFC, 0x1A2B3C4D, 1, 0, -1, 28),
    "a block of nothing": SECTION + struct.pack("<II", 6, 0) + b"y" * 100,
    "a packet within a block that is shorter": SECTION
    + INTERFACE
    + struct.pack("<IIIIIII", 6, 40, 0, 0, 0, 0x7FFFFFFF, 0x7FFFFFFF)
    + b"z" * 8
    + struct.pack("<I", 40),
}


@pytest.mark.parametrize("what", INPUTS)
def test_what_is_no_file_is_an_error_of_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    named = str(INPUTS[what](tmp_path))
    with pytest.raises((CaptureError, OSError)):
        analyze(named)
    if "\0" in named or "\ud800" in named:  # no argument of a command has such
        return
    for command in ("analyze", "diagnose"):
        assert cli.invoke([command, named]) == 2, command
        told = capsys.readouterr()
        assert told.err.startswith("error: "), command
        assert "Traceback" not in told.err


@pytest.mark.parametrize("what", LENGTHS)
def test_a_length_that_a_file_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    """It is said where, and nothing of the length is allocated: 2 GiB would be seen."""
    (tmp_path / "a.pcap").write_bytes(LENGTHS[what])
    with pytest.raises(CaptureError, match="no TCP in its 0 packets"):
        analyze(tmp_path / "a.pcap")
    assert cli.invoke(["analyze", str(tmp_path / "a.pcap")]) == 2
    assert cli.invoke(["diagnose", str(tmp_path / "a.pcap")]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
