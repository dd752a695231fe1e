"""The wall clock may jump: nothing that waits or measures reads it. The transport's times have their unit in a type."""

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


BARE = re.compile(r"\b\w+_ns\b\)?: (?:&mut |&)?(?:Option<|Vec<|\[)?u64\b|\bfn \w+_ns\([^)]*\) -> (?:Option<)?u64\b")
READ_ELSEWHERE = {"config.rs", "statistics.rs", "trace.rs"}
"""Settings of a scenario, counters for a driver, events that are serialised: integers with the unit in their names."""


def test_in_the_transport_the_unit_of_a_time_is_in_its_type() -> None:
    sources = ROOT / "crates/transport/src"
    found = {
        str(file.relative_to(sources))
        for file in sources.rglob("*.rs")
        if BARE.search(file.read_text(encoding="utf-8"))
    }
    assert found == READ_ELSEWHERE
