"""What a worker holds between two tasks."""

import ctypes
import gc
import json
import subprocess
import sys

import pytest
from mptcplab.lab import tasks
from mptcplab.lab.limits import Limits

from tests.lab.conftest import SMALL

TASK = {"kind": "run", "text": SMALL, "data": None, "origin": None, "opened": None, "engine": "sim"}
# In a process of its own: 64 MB in blocks that are small enough for the heap, below one that stays.
_FREED = """
import ctypes
import json
from pathlib import Path
from mptcplab.lab.worker import give_back

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
before = held()
blocks = [libc.malloc(64_000) for _ in range(1_000)]
for block in blocks:
    ctypes.memset(block, 1, 64_000)
stays = libc.malloc(64_000)
for block in blocks:
    libc.free(block)
freed = held()
give_back()
print(json.dumps([freed - before, held() - before]))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps what was freed")
def test_freed_memory_is_given_back() -> None:
    run = subprocess.run([sys.executable, "-c", _FREED], capture_output=True, text=True, check=True)
    kept, left = json.loads(run.stdout)
    assert kept > 60e6  # glibc keeps it: otherwise this test asks nothing
    assert left < 6e6


def test_tasks_leave_nothing_behind() -> None:
    def blocks() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    def ask(first: int, count: int) -> None:
        for at in range(first, first + count):
            # Each is another scenario: what remembers scenarios would remember all of them.
            task = TASK | {"text": SMALL.replace("30 ms", f"{30 + at} ms")}
            for more in ({}, {"kind": "packets", "from_s": 0.0, "for_s": 1.0}):
                event, _, _ = tasks.carry_out(task | more, Limits(), lambda _: None, lambda _: None)
                assert event == "done"

    ask(0, 4)  # modules, compiled expressions
    before = blocks()
    ask(4, 10)
    # A scenario alone is some hundred blocks, an answer some ten thousand.
    assert blocks() - before < 1_000
