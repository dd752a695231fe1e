"""Files that are written whole or not at all."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from mptcplab import files
from mptcplab.files import TargetError


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    place.chmod(0o640)

    def fail() -> None:
        with files.written(place) as opened:
            opened.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert place.read_bytes() == b"old"
    files.write_text(place, "new")
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [place]


def test_a_new_file_is_not_written_over_another(tmp_path: Path) -> None:
    place = tmp_path / "a"
    files.write_text(place, "first", new=True)
    with pytest.raises(TargetError, match="exists already"):
        files.write_text(place, "second", new=True)

    def meanwhile() -> None:
        with files.written(tmp_path / "b", new=True) as opened:
            opened.write(b"mine")
            (tmp_path / "b").write_bytes(b"theirs")

    with pytest.raises(TargetError, match="exists already"):
        meanwhile()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"first", "b": b"theirs"}


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    files.write_text(tmp_path / "link", "x")
    assert (tmp_path / "target").read_text() == "x"
    assert (tmp_path / "link").is_symlink()
    files.write_text(Path(os.devnull), "x")
    with pytest.raises(TargetError, match="is a directory"):
        files.check_target(tmp_path)
    with pytest.raises(TargetError, match="there is no directory"):
        files.check_target(tmp_path / "no" / "file")


def test_an_error_without_a_name_gets_one() -> None:
    with pytest.raises(OSError, match="No space left on device: 'a/b'"), files.named(Path("a/b")):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="'c'"), files.named(Path("a/b")):
        raise OSError(errno.ENOSPC, "No space left on device", "c")


@pytest.mark.parametrize("has_rename", [True, False])
def test_directories_are_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_rename: bool) -> None:
    """Also where the libc has no renameat2, or the file system cannot."""
    if not has_rename:
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    for name in ("fresh", "place"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    files.exchange(tmp_path / "fresh", tmp_path / "place")
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["fresh"]
    assert [path.name for path in (tmp_path / "fresh").iterdir()] == ["place"]
    files.exchange(tmp_path / "fresh", tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "place"]


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    work = "import sys, time; from pathlib import Path; from mptcplab import files\n"
    work += f"with files.beside(Path({str(tmp_path)!r}, 'out [1]')) as made: print(made, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        try:
            with files.beside(tmp_path / "out [1]") as other:
                assert sorted(tmp_path.iterdir()) == sorted([left, other])
        finally:
            process.send_signal(signal.SIGKILL)
    assert list(tmp_path.iterdir()) == [left]
    with files.beside(tmp_path / "out [1]") as other:
        assert list(tmp_path.iterdir()) == [other]
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_directory_holds_it_alone(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with files.held(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


def test_scratch_goes_at_the_end_and_what_was_killed_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that another process holds stays, whatever the clock says of its age."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "of-mine-abcdefgh").mkdir()
    (tmp_path / "of-mine-abcdefgh" / "file").touch()
    (tmp_path / "of-mine-other").mkdir()
    work = """
import sys, tempfile, time
from mptcplab import files
tempfile.tempdir = sys.argv[1]
with files.scratch("of-mine-") as place:
    print(place, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", work, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            theirs = Path(process.stdout.readline().strip())
            assert {entry.name for entry in tmp_path.iterdir()} == {"of-mine-other", theirs.name}
            os.utime(theirs, (0, 0))
            with files.scratch("of-mine-") as own:
                (own / "file").touch()
                assert theirs.is_dir()
            assert not own.exists()
        finally:
            process.kill()
    with files.scratch("of-mine-"):
        assert not theirs.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["of-mine-other"]


def test_a_new_scratch_directory_is_not_lost_to_who_tidies_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may take it for an abandoned one between its making and its lock: then there is another."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made: list[Path] = []
    really, mkdtemp = os.open, tempfile.mkdtemp

    def making(prefix: str) -> str:
        made.append(Path(mkdtemp(prefix=prefix)))
        if len(made) == 1:
            made[0].rmdir()
        return str(made[-1])

    def opening(path: Path, flags: int) -> int:
        descriptor = really(path, flags)
        if len(made) == 2:
            made[1].rmdir()
        return descriptor

    monkeypatch.setattr(tempfile, "mkdtemp", making)
    monkeypatch.setattr(os, "open", opening)
    with files.scratch("of-mine-") as place:
        assert place.is_dir()
        assert made[2:] == [place]
