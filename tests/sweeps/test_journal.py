"""The journal: whole after an interruption at any byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mptcplab.errors import BusyError
from mptcplab.sweeps.journal import Journal


def name(number: int) -> str:
    return f"{number:064x}"


def answer(number: int) -> bytes:
    return f"answer {number} ".encode() * (number + 1)


def test_a_record_cut_at_any_byte_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    with Journal(tmp_path / "whole") as journal:
        ends = []
        for number in range(3):
            journal.append(name(number), answer(number))
            ends.append((tmp_path / "whole" / "runs-00000.journal").stat().st_size)
    content = (tmp_path / "whole" / "runs-00000.journal").read_bytes()
    for length in range(len(content) + 1):
        place = tmp_path / "cut"
        place.mkdir(exist_ok=True)
        (place / "runs-00000.journal").write_bytes(content[:length])
        whole = sum(end <= length for end in ends)
        with Journal(place) as journal:
            assert len(journal) == whole
            assert journal.discarded == (length not in (0, *ends))
            assert [journal.read(name(number)) for number in range(whole)] == [answer(n) for n in range(whole)]


def test_a_changed_byte_is_found_out(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number in range(3):
            journal.append(name(number), answer(number))
    file = tmp_path / "runs-00000.journal"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with Journal(tmp_path) as journal:
        assert [name(number) in journal for number in range(3)] == [True, True, False]
        # The next session writes a file of its own and leaves this one.
        journal.append(name(2), answer(2))
        assert journal.read(name(2)) == answer(2)
    assert (tmp_path / "runs-00001.journal").stat().st_size > 0
    with Journal(tmp_path) as journal:
        assert len(journal) == 3


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(BusyError, match="in use by another process"):
        Journal(tmp_path)
    code = "import os, sys, pathlib; from mptcplab.sweeps.journal import Journal; "
    code += "Journal(pathlib.Path(sys.argv[1])); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    with Journal(tmp_path) as journal:
        assert len(journal) == 0, "what held it is gone, and with it the lock"


def test_an_interruption_after_the_write_of_a_record_keeps_it_and_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def interrupted(file: int, record: bytes) -> int:
        write(file, record)
        raise KeyboardInterrupt

    with Journal(tmp_path) as journal:
        journal.append(name(0), answer(0))
        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append(name(1), answer(1))
        monkeypatch.undo()
        journal.sync()
        assert len(journal) == 2
        journal.append(name(2), answer(2))
        assert [journal.read(name(number)) for number in range(3)] == [answer(number) for number in range(3)]
