"""Commands that write to a full disk: status 1, the name of the file, how to go on; what was there stays.

`make soak-disk` fills it at four places for each.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.needs import needs
from tools.soak.writers import WRITERS

ROOT = Path(__file__).parents[2]
PARTS = ("0.0", "0.6")
"""Of what a command writes, so much finds room."""


@cache
def why_not() -> str:
    """Why no small file system can be mounted here; empty where it can."""
    if os.geteuid() != 0:
        return "a file system with little room is mounted by root"
    command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=4096 tmpfs /mnt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"no tmpfs can be mounted here: {done.stderr.strip()}" if done.returncode else ""


@needs("unshare", "mount")
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(name: str) -> None:
    if why_not():
        pytest.skip(why_not())
    if name == "agent --new-key" and shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    command = ["unshare", "--mount", sys.executable, "-m", "tools.soak", "full", name, *PARTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.removeprefix(f"{name}: ") for line in done.stdout.splitlines()]
    assert len(told) == len(PARTS)
    assert all(line.startswith("error: /") and line.endswith(": No space left on device") for line in told), told
