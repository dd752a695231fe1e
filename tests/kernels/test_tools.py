"""The programs of a guest, compiled by the first run."""

import errno
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from platform import machine
from threading import Barrier

import pytest
from mptcplab.kernels import tools


def test_runs_that_begin_at_once_do_not_take_each_others_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--jobs 2` and an empty cache, two threads compile the same program; each must still find its own draft."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("mptcplab.machine.require", lambda *_: None)
    written, together = [], Barrier(2, timeout=30)

    def compile_slowly(command: list[str], *, check: bool) -> None:
        assert check
        draft = Path(command[-1])
        draft.write_text("program")
        written.append(draft)
        together.wait()

    monkeypatch.setattr("subprocess.run", compile_slowly)
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(tools.tools) for _ in range(2))
        place = first.result()
        assert second.result() == place
    assert sorted(path.name for path in place.iterdir()) == ["init", "seed.so"]
    assert len(set(written)) == 4


ORPHANS = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
/* Asks to be traced when its parent is gone, as a guest's process does whose guest is killed at the wrong moment. */
static int late(void *unused)
{
	usleep(300000);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	kill(getpid(), SIGSTOP);
	return 0;
}
int main(int count, char **words)
{
	int pid = !strcmp(words[1], "fork") ? fork() :
		clone(late, (char *)malloc(65536) + 65536, CLONE_FILES | SIGCHLD, 0);
	if (pid == 0)
		return late(0);
	FILE *told = fopen(words[2], "w");
	fprintf(told, "%d", pid);
	fclose(told);
	kill(getpid(), SIGKILL);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("way", ["clone", "fork"])
@pytest.mark.parametrize("loaded", [True, False], ids=["with seed.so", "without"])
def test_what_a_guest_has_begun_ends_with_it(way: str, loaded: bool, tmp_path: Path) -> None:
    (tmp_path / "orphans.c").write_text(ORPHANS)
    program = tmp_path / "orphans"
    subprocess.run(["gcc", "-w", str(tmp_path / "orphans.c"), "-o", str(program)], check=True)
    preloaded = {"LD_PRELOAD": str(tools.tools() / "seed.so")} if loaded else {}
    subprocess.run([program, way, str(tmp_path / "pid")], env=preloaded, check=False)
    left = Path("/proc") / (tmp_path / "pid").read_text()
    time.sleep(1)
    try:
        state = (left / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        state = "gone"
    if state not in ("gone", "Z"):
        os.kill(int(left.name), 9)
    # Without it the process stands still, traced by the one that has adopted it.
    assert state in (("gone", "Z") if loaded else ("t", "T", "S"))


REGISTERS = """
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
/* Gives a process back the part of its vector registers that was read: 576 bytes, of more where there is AVX. */
int main(void)
{
	static char before[576], after[65536];
	struct iovec part = { before, sizeof(before) }, all = { after, sizeof(after) };
	int status, pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &part)) {
		kill(pid, SIGKILL);
		return 77;
	}
	part.iov_len = sizeof(before);
	status = ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &part) ? errno : 0;
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all))
		all.iov_len = 0;
	kill(pid, SIGKILL);
	if (all.iov_len <= sizeof(before))
		return 77;
	return status ? status : memcmp(before, after, 512) != 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None or machine() != "x86_64", reason="gcc is not installed, or not x86-64")
@pytest.mark.parametrize("loaded", [True, False], ids=["with seed.so", "without"])
def test_a_part_of_the_vector_registers_may_be_given_back(loaded: bool, tmp_path: Path) -> None:
    """A guest's kernel knows of less than a processor with AMX has; the host by itself refuses that."""
    (tmp_path / "registers.c").write_text(REGISTERS)
    program = tmp_path / "registers"
    subprocess.run(["gcc", "-w", str(tmp_path / "registers.c"), "-o", str(program)], check=True)
    preloaded = {"LD_PRELOAD": str(tools.tools() / "seed.so")} if loaded else {}
    status = subprocess.run([program], env=preloaded, check=False).returncode
    if status == 77:
        pytest.skip("the processor has no AVX")
    assert status == (0 if loaded else errno.EFAULT)
