"""The kernel's own tests of Multipath TCP in guests: each script boots one, and waiting costs nothing there."""

import os
import re
import resource
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mptcplab.engines.linux_virtual.guest import GuestError, boot
from mptcplab.kernels.store import Kernel

Verdict = Literal["pass", "fail", "skip", "flaky"]

_SKIPPED: Final = 4
"""The status by which a script says that it could not test (tools/testing/selftests/kselftest.h)."""
_TAP: Final = re.compile(r"^(ok|not ok) \d+ -? ?(.*?)(?: +# *(.*))?$")
_TOOK: Final = re.compile(r"time=(\d+)ms")
_SHOWN: Final = re.compile(r"\[ *(SKIP|FAIL|IGNO) *\]")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\[?[Kk]")
_SCRIPT: Final = """\
ln -s /proc/self/fd /dev/fd
mkdir /dev/tmp/net
# Before /tmp is the guest's own: the tests may lie below the machine's.
cp -r {home}/. /dev/tmp/net
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mkdir /run/netns
cd /dev/tmp/net/mptcp
# How far it is, so that it is not taken for one that hangs: a second of the file's time is a millisecond here.
( n=0; while sleep 1; do n=$((n + 1000)); touch -d "@$n" /dev/host/progress; done ) &
begun=$(date +%s%N)
timeout --foreground {limit} {script} {arguments} </dev/null >/dev/host/output 2>&1
echo "$? $(($(date +%s%N) - begun))" >/dev/host/verdict
kill $! 2>/dev/null
sync
"""
_FILTERS: Final = re.compile(r"\b(ip6?tables|nft)\b")
_LIMIT_S: Final = 4 * 3600
"""Of virtual time, after which a script is ended."""


@dataclass(frozen=True)
class Case:
    """One test of a script."""

    name: str
    verdict: Verdict
    why: str
    time_s: float | None
    """Of virtual time, where the script says."""


@dataclass(frozen=True)
class Outcome:
    """What a script said."""

    script: str
    verdict: Verdict
    why: str
    """Where it says nothing by case, or did not come to its end."""
    cases: tuple[Case, ...]
    virtual_s: float | None
    cpu_s: float
    wall_s: float
    output: str


def scripts(home: Path) -> list[str]:
    """The names of all scripts that are tests."""
    return sorted(path.stem for path in home.glob("*.sh") if path.stem not in ("mptcp_lib", "settings"))


def caution(kernel: Kernel, home: Path, script: str) -> str:
    """What a script says too much of: one that filters packets may take what it could not filter for a success."""
    text = (home / f"{script}.sh").read_text(encoding="utf-8", errors="replace")
    if not _FILTERS.search(text) or "CONFIG_NETFILTER=y" in kernel.config.read_text(encoding="utf-8"):
        return ""
    return f"{kernel.name} cannot filter packets, so {script} does not test what iptables or nft do: build --selftests"


def run(kernel: Kernel, home: Path, script: str, arguments: str = "", *, seed: int = 1) -> Outcome:
    """Run one script of `home` in a guest; waits for its end. May be called from several threads."""
    place = Path(tempfile.mkdtemp(prefix="mptcplab-selftest-"))
    begun_s, cpu_s = time.monotonic(), _children_s()
    failure = ""
    try:
        text = _SCRIPT.format(
            home=shlex.quote(str(home.parent)), script=f"./{script}.sh", arguments=arguments, limit=_LIMIT_S
        )
        search = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
        variables: Mapping[str, str] = {"PATH": search, "NO_COLOR": "1", "TMPDIR": "/tmp"}
        try:
            boot(kernel, place, seed=seed, progress=None, words=["/bin/bash", "-c", text], variables=variables)
        except GuestError as error:
            failure = str(error)
        output = _read(place / "output")
        status, _, took_ns = _read(place / "verdict").partition(" ")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    cases = read_cases(output)
    verdict, why = _verdict(int(status) if status else None, output, cases, failure)
    virtual_s = int(took_ns) / 1e9 if took_ns.strip() else None
    return Outcome(script, verdict, why, cases, virtual_s, _children_s() - cpu_s, time.monotonic() - begun_s, output)


def read_cases(output: str) -> tuple[Case, ...]:
    """The lines of the test-anything protocol at the end of a script's output; why a case was skipped stands above."""
    lines = [_COLOUR.sub("", line) for line in output.splitlines()]
    reasons: dict[str, str] = {}
    for line in lines:
        if shown := _SHOWN.search(line):
            title = re.sub(r"^\d+ ", "", line[: shown.start()]).strip()
            reasons.setdefault(title, line[shown.end() :].strip())
    cases = []
    for line in lines:
        found = _TAP.match(line.strip())
        if found is None:
            continue
        word, name, remark = found[1], found[2].strip(), found[3] or ""
        took = _TOOK.search(remark)
        verdict: Verdict = "pass" if word == "ok" else "fail"
        if "SKIP" in remark:
            verdict = "skip"
        elif "IGNORE" in remark:
            verdict = "flaky"
        why = next((text for title, text in reasons.items() if text and title and title in name), "")
        cases.append(Case(name, verdict, "" if verdict == "pass" else why, int(took[1]) / 1e3 if took else None))
    return tuple(cases)


def _verdict(status: int | None, output: str, cases: tuple[Case, ...], failure: str) -> tuple[Verdict, str]:
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
    if status is None:
        return "fail", failure or "the guest ended before the script did"
    if status == _SKIPPED:
        return "skip", _COLOUR.sub("", last)
    if status:
        return "fail", "" if any(case.verdict == "fail" for case in cases) else f"status {status}: {last}"
    return "pass", ""


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
