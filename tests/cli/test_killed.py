"""Commands that write, killed at random moments; `make soak-kill` kills each a hundred times."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.soak.writers import WRITERS

ROOT = Path(__file__).parents[2]
KILLS = os.environ.get("MPTCPLAB_KILLS", "3")


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "reproduce"])
def test_what_is_there_is_the_old_or_the_new(name: str) -> None:
    if name == "agent --new-key" and shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    command = [sys.executable, "-m", "tools.soak", "kill", KILLS, name]
    environment = {**os.environ, "SOAK_SEED": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 processes left, " in done.stdout
