"""Commands that write, into a directory that another process works in: refused, and nothing in it is changed."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mptcplab.sweeps import dataset
from mptcplab.sweeps.journal import Journal
from mptcplab.sweeps.sweep import Plan

Call = Callable[..., Any]

SCENARIO = """
duration = "1 s"
[link.a]
rate = "1 Mbit/s"
delay = "10 ms"
[connection.c]
paths = ["a"]
[measure]
sample = "never"
"""
SWEEP = 'scenario = "base.toml"\n[design]\nkind = "grid"\n[factor]\n"link.a.rate" = ["1 Mbit/s", "2 Mbit/s"]\n'


@contextmanager
def locked(file: Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def state(place: Path) -> dict[str, tuple[int, int, bytes]]:
    """All there is: which file, when it was written, and what is in it."""
    found = {}
    for path in sorted(place.rglob("*")):
        about = path.stat()
        found[str(path)] = (about.st_ino, about.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "other.toml").write_text(SWEEP.replace("2 Mbit/s", "3 Mbit/s"))
    (tmp_path / "tree" / "arch" / "um").mkdir(parents=True)
    for name in ("Kconfig", "Makefile", "arch/um/Kconfig", "net/mptcp/protocol.c"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n")
    return tmp_path


@pytest.mark.parametrize(
    ("lock", "command", "status"),
    [
        ("runs/lock", "sweep other.toml --out out --resume", 2),
        ("runs/lock", "compare base.toml --vary link.a.delay=1ms,2ms --repeat 2 --out out --resume", 2),
        ("runs/lock", "reproduce khalili-2013 --item figure-9 --quick --out out", 2),
        ("mptcplab.lock", "kernel build tree --build-dir out", 2),
        ("state.lock", "agent --clean-up --state out/state.json", 3),
    ],
)
def test_it_is_refused_and_nothing_is_changed(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch, lock: str, command: str, status: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    monkeypatch.setattr("mptcplab.machine.require", lambda *_: None)
    if "sweep" in command or "compare" in command:
        done = call("sweep", "sweep.toml", "--out", "out", "--jobs", 1)
        assert done.status == 0, done.err
    with locked(place / "out" / lock):
        before = state(place / "out")
        done = call(*command.split())
        assert (done.status, done.out) == (status, ""), done.err
        assert "in use by another" in done.err or "another agent works" in done.err
        assert state(place / "out") == before


def test_a_sweep_that_comes_second_does_not_take_over(call: Call, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both found an empty directory; the first is done before the second has the lock."""
    begin = dataset.begin

    def check(directory: Path, *, resume: bool) -> None:
        if not checks and not resume:
            checks.append(directory)
            assert call("sweep", "sweep.toml", "--out", "out", "--jobs", 1).status == 0
            before.update(state(place / "out"))
        real(directory, resume=resume)

    def fail(directory: Path, made: Plan) -> None:
        assert not before, "the second begins"
        begin(directory, made)

    checks: list[Path] = []
    before: dict[str, tuple[int, int, bytes]] = {}
    real = dataset.check
    monkeypatch.setattr(dataset, "begin", fail)
    monkeypatch.setattr(dataset, "check", lambda directory, *, resume: real(directory, resume=resume))
    (place / "out").mkdir()

    class Late(Journal):
        """The lock comes late."""

        def __init__(self, directory: Path) -> None:
            if not checks:
                check(directory.parent, resume=False)
            super().__init__(directory)

    monkeypatch.setattr(dataset, "Journal", Late)
    done = call("sweep", "other.toml", "--out", "out", "--jobs", 1)
    assert done.status == 2
    assert "contains a sweep already" in done.err
    assert state(place / "out" / "connections") == {
        name: about for name, about in before.items() if name.startswith(str(place / "out" / "connections") + "/")
    }


def test_an_earlier_dataset_never_stands_beside_another_design(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep is killed as it begins anew: the earlier dataset is gone before the first of the new files is there."""
    assert call("sweep", "sweep.toml", "--out", "out", "--jobs", 1).status == 0
    written: list[str] = []
    real = dataset._write

    def write(file: Path, text: str) -> None:
        assert not (place / "out" / "provenance.json").exists()
        assert not (place / "out" / "connections").exists()
        written.append(file.name)
        real(file, text)
        if file.name == "design.csv":
            raise KeyboardInterrupt

    monkeypatch.setattr(dataset, "_write", write)
    assert call("sweep", "other.toml", "--out", "out", "--resume", "--jobs", 1).status == 1
    assert written == ["sweep.toml", "scenario.toml", "design.csv"]
