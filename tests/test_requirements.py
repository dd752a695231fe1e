"""The table of requirements in docs/conformance.md is up to date, and every case and test that it names exists."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_of_requirements_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.requirements", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "RFC 9293, appendix B: MUST: " in done.stdout
