"""Which commit made the difference: `git bisect` over a tree of one's own, with a test that is given.

The checkout stays where it is: commits are checked out in a worktree of its own in the cache, which git removes at the
end. Built objects stay, so that the next search in this tree is quick.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from mptcplab.errors import Error
from mptcplab.kernels import store
from mptcplab.kernels.build import BuildError

_FOUND: Final = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit", re.MULTILINE)
_SKIPPED: Final = "There are only 'skip'ped commits left to test"

Test = Callable[[Path, Path], tuple[bool, str]]
"""Of a tree and the directory to build it in: whether it is good, and what was found. May raise BuildError."""


class BisectError(Error, RuntimeError):
    """There is nothing to search, or git could not."""


@dataclass(frozen=True)
class Tested:
    """A commit, and what its test said."""

    commit: str
    subject: str
    good: bool | None
    """None where it could not be built."""
    found: str

    def __str__(self) -> str:
        """In a line."""
        verdict = {True: "good", False: "bad", None: "skipped"}[self.good]
        return f"{self.commit[:12]} {verdict}: {self.found} ({self.subject})"


@dataclass(frozen=True)
class Found:
    """The end of a search."""

    commit: str | None
    """The first bad one; None where commits that cannot be built hide which it is."""
    subject: str
    tested: tuple[Tested, ...]


def bisect(tree: Path, good: str, bad: str, test: Test, tell: Callable[[Tested], None] = lambda _: None) -> Found:
    """Search for the first commit after `good` that is bad; `tell` hears of each test. Raises BisectError."""
    top = Path(_git(tree, "rev-parse", "--show-toplevel").strip())
    ends = [
        _git(top, "rev-parse", "--verify", "--quiet", f"{each}^{{commit}}", what=each).strip() for each in (good, bad)
    ]
    own = store.cache() / "bisect" / sha256(str(top).encode()).hexdigest()[: store.DIGITS]
    tested: list[Tested] = []

    def judge(place: Path) -> bool | None:
        commit, subject = _git(place, "log", "-1", "--format=%H%n%s").splitlines()[:2]
        answer: bool | None
        try:
            answer, found = test(place, own / "build")
        except BuildError as error:
            answer, found = None, str(error).splitlines()[-1].strip()
        tested.append(Tested(commit, subject, answer, found))
        tell(tested[-1])
        return answer

    with _worktree(top, own / "tree", ends[0]) as place:
        for commit, wanted, name in ((ends[0], True, good), (ends[1], False, bad)):
            _git(place, "checkout", "--quiet", "--detach", commit)
            answer = judge(place)
            if answer is not wanted:
                raise BisectError(
                    f"nothing to search: {name} should be {'good' if wanted else 'bad'}; found {tested[-1]}"
                )
        said = _git(place, "bisect", "start", ends[1], ends[0])
        while (found := _FOUND.search(said)) is None:
            if _SKIPPED in said:
                return Found(None, "", tuple(tested))
            word = {True: "good", False: "bad", None: "skip"}[judge(place)]
            # Its status is 2 when only skipped ones are left.
            said = _git(place, "bisect", word, statuses=(0, 2))
        commit = found[1]
        return Found(commit, _git(place, "log", "-1", "--format=%s", commit).strip(), tuple(tested))


@contextmanager
def _worktree(top: Path, place: Path, commit: str) -> Iterator[Path]:
    """A checkout beside the user's, at the same place each time, so that built objects keep their names."""

    def remove() -> None:
        shutil.rmtree(place, ignore_errors=True)
        _git(top, "worktree", "prune")

    remove()
    place.parent.mkdir(parents=True, exist_ok=True)
    _git(top, "worktree", "add", "--quiet", "--detach", str(place), commit)
    try:
        yield place
    finally:
        remove()


def _git(place: Path, *arguments: str, statuses: tuple[int, ...] = (0,), what: str = "") -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(place), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**clean, "LC_ALL": "C"},
    )
    if done.returncode not in statuses:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        where = f"{place}: {what!r} is not a commit of this tree" if what else f"git {' '.join(arguments)} in {place}"
        raise BisectError(f"{where}: {said[-1]}" if said else where)
    return done.stdout + done.stderr
