"""The machine's wall clock may jump at any time: nothing that waits or measures reads it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
WALL = re.compile(
    r"\btime\.(time|time_ns|localtime|gmtime|strftime|ctime)\(|\bdatetime\.(now|utcnow|today)\(|CLOCK_REALTIME|SystemTime::now"
)


def test_nothing_that_waits_or_measures_reads_the_wall_clock() -> None:
    found: dict[str, int] = {}
    looked_at = 0
    for pattern in ("python/mptcplab/**/*.py", "crates/*/src/**/*.rs"):
        for file in ROOT.glob(pattern):
            looked_at += 1
            if count := len(WALL.findall(file.read_text(encoding="utf-8"))):
                found[str(file.relative_to(ROOT))] = count
    assert looked_at > 500
    assert found == {}
