"""The machine's wall clock may jump at any time: nothing that waits or measures reads it."""

import fcntl
import os
import re
import time
from pathlib import Path

import pytest
from mptcplab.engines.linux.programs import play

ROOT = Path(__file__).parents[1]
WALL = re.compile(
    r"\btime\.(time|time_ns|localtime|gmtime|strftime|ctime)\(|\bdatetime\.(now|utcnow|today)\(|CLOCK_REALTIME|SystemTime::now"
)
ALLOWED = {"python/mptcplab/engines/linux/programs/play.py": 1}
"""How old a directory is that a killed run left: the age itself deletes nothing that is in use (see below)."""


def test_nothing_that_waits_or_measures_reads_the_wall_clock() -> None:
    found: dict[str, int] = {}
    looked_at = 0
    for pattern in ("python/mptcplab/**/*.py", "crates/*/src/**/*.rs"):
        for file in ROOT.glob(pattern):
            looked_at += 1
            if count := len(WALL.findall(file.read_text(encoding="utf-8"))):
                found[str(file.relative_to(ROOT))] = count
    assert looked_at > 500
    assert found == ALLOWED


@pytest.mark.parametrize("jump_s", [-1e9, -3600, 0, 3600, 1e9])
def test_a_jump_of_the_clock_takes_no_runs_directory(
    jump_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run holds its directory; one that nobody holds goes once the clock says that it is old."""
    monkeypatch.setattr(play.tempfile, "gettempdir", lambda: str(tmp_path))
    held, left = tmp_path / f"{play._PREFIX}held", tmp_path / f"{play._PREFIX}left"
    held.mkdir()
    left.mkdir()
    descriptor = os.open(held, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        clock = time.time
        monkeypatch.setattr(play.time, "time", lambda: clock() + jump_s)
        play._remove_leftovers()
    finally:
        os.close(descriptor)
    assert held.exists()
    assert left.exists() is (jump_s < 10)
