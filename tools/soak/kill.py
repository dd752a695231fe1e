"""Each command that writes is killed at random moments: what is there then is the old or the new, never a mixture."""

import ctypes
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from mptcplab.testbed.key import KeyFileError, context

from tools.soak import moments, writers
from tools.soak.moments import Gate, Moment
from tools.soak.writers import SCENARIOS, WRITERS, Writer, call, quietly, state

_VARIES: Final = ("runs/", "figures/", "plots/")
"""Folders whose files are not the same bytes each time: journals have times, SVG and PDF numbers of their own."""
_LISTS: Final = ("files.sha256",)
_COSTS: Final = ("claims.json", "report.html")
"""Of a paper, these say how many runs were kept from before."""
_DATASET: Final = (
    "sweep.toml",
    "scenario.toml",
    "design.csv",
    "provenance.json",
    "connections/",
    "links/",
    "subflows/",
)
_LAST: Final = "comparison.json"
_PR_SET_CHILD_SUBREAPER: Final = 36
_GRACE_S: Final = 20.0
_ATTEMPTS: Final = 4
"""So many times as many as kills: some are over before they are killed."""

State = Mapping[str, str]


class MixtureError(Exception):
    """What is there is neither the old nor the new."""


def kill(name: str, count: int, place: Path, dice: random.Random) -> Counter[str]:
    """Kill the command `count` times; how often the old was there, the new, or what goes on; what else was left.

    Every second time it is killed at any moment of the time that it takes, else at one of the system calls that change
    files, each in turn (with strace).
    """
    writer = WRITERS[name]
    if not (place / "new.toml").exists():
        whole(place, partial(writers.prepare, place))
    out, reference = place / "out" / "target", place / "reference"
    for folder in (out.parent, reference):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    lasts = {}
    for scenario in SCENARIOS:
        began = time.monotonic()
        whole(place, partial(call, writer, reference / scenario, scenario))
        lasts[scenario] = time.monotonic() - began
    finals = {scenario: state(reference / scenario) for scenario in SCENARIOS}
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # whoever loses its parent becomes a child of this process
    before = "" if writer.target == "absent" else "old"
    if before:
        whole(place, lambda: call(writer, out, "old"))
    calls = _calls(writer, place) if moments.available() else []
    turn = moments.shuffled(calls, dice)
    found: Counter[str] = Counter({"killed": 0, "system calls": len(calls)})
    for attempt in range(_ATTEMPTS * count):
        if found["killed"] == count:
            break
        after = "new" if before != "new" else "old"
        at = next(turn) if calls and attempt % 2 else dice.uniform(0.05, 1.0) * lasts[after]
        status = _kill(place, partial(call, writer, out, after, *writer.again.split()), at)
        found["killed" if os.WIFSIGNALED(status) else "was done already" if status == 0 else "lost a helper"] += 1
        found["processes left"] += _left()
        found["files left"] += sum(entry.name != out.name for entry in out.parent.iterdir())
        which = _which(name, out, finals, after)
        told = "nothing there" if not which else "the old" if which == before else which
        found["the new" if which == after else told] += 1
        if which in SCENARIOS:
            before = which
            if writer.target == "absent":
                out.unlink()
                before = ""
    # The last time it is let alone, and nothing that was left stays.
    if before and writer.target == "absent":
        out.unlink()
    whole(place, lambda: call(writer, out, "new", *writer.again.split()))
    if _which(name, out, finals, "new") != "new":
        raise MixtureError(f"{name}: what it wrote after being killed is not what it writes")
    remain = [entry.name for entry in out.parent.iterdir() if entry.name != out.name]
    remain += [entry for entry in state(out) if ".part" in entry]
    if remain:
        raise MixtureError(f"{name}: {', '.join(remain)} stay for ever")
    return found


def _calls(writer: Writer, place: Path) -> list[Moment]:
    """The system calls that change files when the new takes the place of the old."""
    out, log = place / "watched" / "target", place / "calls"
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir()
    if writer.target == "replaced":
        whole(place, partial(call, writer, out, "old"))
    gate = Gate()
    child = quietly(place / "log", partial(call, writer, out, "new"), gate)
    tracer = moments.watch(child, log)
    gate.open()
    _, status = os.waitpid(child, 0)
    tracer.wait()
    if status != 0:
        raise RuntimeError((place / "log").read_text(encoding="utf-8"))
    return moments.moments(log, out.parent)


def _kill(place: Path, work: Callable[[], int], at: float | Moment) -> int:
    """Begin it and kill it after a time in seconds or at a system call; how it ended."""
    if isinstance(at, Moment):
        gate = Gate()
        child = quietly(place / "log", work, gate)
        tracer = moments.kill_at(child, at)
        gate.open()
        _, status = os.waitpid(child, 0)
        tracer.wait(_GRACE_S)
        return status
    child = quietly(place / "log", work)
    time.sleep(at)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status


def _key(name: str, out: Path) -> None:
    """A key is other bytes each time: it must be one that serves, for its owner only. Raises MixtureError."""
    if name == "agent --new-key":
        try:
            context(out, server=True)
        except KeyFileError as error:
            raise MixtureError(f"{name}: {error}") from None


def whole(place: Path, work: Callable[[], int]) -> None:
    """Do it in a process that nobody kills."""
    _, status = os.waitpid(quietly(place / "log", work), 0)
    if status != 0:
        raise RuntimeError((place / "log").read_text(encoding="utf-8"))


def _left() -> int:
    """Processes that the killed one began and that do not end with it."""
    until = time.monotonic() + _GRACE_S
    while time.monotonic() < until:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if not ended:
            time.sleep(0.01)
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return len(children)


def _which(name: str, out: Path, finals: Mapping[str, State], after: str) -> str:
    """Which of the two is there; nothing, or for what is resumed `goes on`. Raises MixtureError."""
    writer, found = WRITERS[name], state(out)
    if not found and writer.target != "resumed":
        if writer.target == "absent":
            return ""
        raise MixtureError(f"{name}: the old is gone, and the new is not there")
    if writer is WRITERS["agent --new-key"]:
        _key(name, out)
        return after
    if writer is WRITERS["export"] or writer is WRITERS["import"] or name == "reproduce":
        finals = {after: finals["new"]}  # there is only one
    for scenario in (after, *SCENARIOS):
        if scenario in finals and _same(found, finals[scenario]):
            return scenario
    if writer.target != "resumed" or _LAST in found:
        raise MixtureError(f"{name}: neither the old nor the new: {sorted(found)}")
    if name == "reproduce":
        theirs = {file: each for file, each in _fixed({**found, "claims.json": ""}).items() if ".part" not in file}
        if any(finals[after].get(file) != digest for file, digest in theirs.items()):
            raise MixtureError(f"{name}: other files than those of a whole run: {sorted(theirs)}")
    elif "provenance.json" in found:
        parts = [
            {k: v for k, v in each.items() if k.startswith(_DATASET) and not k.endswith(".part")}
            for each in (found, *finals.values())
        ]
        if parts[0] not in parts[1:]:
            raise MixtureError(f"{name}: a mixture of datasets: {sorted(found)}")
    return "goes on with --resume"


def _fixed(found: State) -> dict[str, str]:
    varies = (*_LISTS, *_COSTS) if "claims.json" in found else _LISTS
    return {name: digest for name, digest in found.items() if name not in varies and not name.startswith(_VARIES)}


def _same(found: State, whole: State) -> bool:
    """Whether all files of the one are there with the same bytes, but for those that vary."""
    if _fixed(found) != _fixed(whole):
        return False
    varying = {name for name in whole if name not in _fixed(whole) and not name.startswith("runs/")}
    return varying == {name for name in found if name not in _fixed(found) and not name.startswith("runs/")}
