"""`diagnose` on situations that are made now, on the running kernel; all of them: `python -m studies diagnose`."""

import shutil
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.diagnose.diagnosis import diagnose

from studies.diagnose import right
from studies.diagnose.network import collect
from studies.diagnose.situations import ALL

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
TOOLS = [name for name in ("ip", "ss", "nstat", "tc") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.live,
    pytest.mark.skipif(
        bool(MISSING),
        reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
    ),
    pytest.mark.skipif(bool(TOOLS), reason=f"not installed: {', '.join(TOOLS)}"),
]
CHOSEN = ("no-endpoint", "backup-endpoint", "join-unanswered", "small-rmem", "healthy-two-equal-paths")


@pytest.mark.parametrize("name", CHOSEN)
def test_the_cause_is_named(name: str, tmp_path: Path) -> None:
    (situation,) = (each for each in ALL if each.name == name)
    found = diagnose([str(file) for file in collect(situation, tmp_path)])
    assert right(situation, found), sorted(each.cause for each in found.findings)
    assert found.reading.unread_count == 0
