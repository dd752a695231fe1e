"""The search for the commit that made a difference, over a small made-up tree; runs are the simulator's."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from mptcplab import kernels
from mptcplab.cli import invoke
from mptcplab.engines.linux_virtual import search as searching
from mptcplab.engines.linux_virtual.bound import Bound
from mptcplab.engines.runner import run
from mptcplab.kernels import build as making
from mptcplab.kernels import store
from mptcplab.kernels.bisect import BisectError, bisect

MAKEFILE = """
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 3
defconfig:
\t@printf '%s\\n' '' CONFIG_TCP_CONG_ADVANCED=y > $(O)/.config
olddefconfig:
\t@sed -n 's/^\\tdefault /CONFIG_HZ=/p' $(KBUILD_KCONFIG) >> $(O)/.config
linux:
\t@grep -q 'int burst' net/mptcp/protocol.c
\t@cat net/mptcp/protocol.c > $(O)/linux
"""
SCENARIO = """
duration = "1 s"
[link.one]
rate = "5 Mbit/s"
delay = "5 ms"
queue = "50 ms"
[connection.m]
paths = ["one"]
congestion = "reno"
scheduler = "linux"
"""


def git(root: Path, *arguments: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *own, "-C", str(root), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """Eight commits after the first; the fifth makes a burst of 2, and the third cannot be built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(making, "requirements", tuple)
    root = tmp_path / "my-tree"
    for name, text in {
        "Makefile": MAKEFILE,
        "Kconfig": 'mainmenu "Linux"\n\nsource "init/Kconfig"\n',
        "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
        "net/mptcp/protocol.c": "int burst = 1;\n",
        "net/mptcp/mptcp_diag.c": "\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "--quiet")
    commits = []
    for number in range(9):
        source = {3: "broken\n", 4: "int burst = 1;\n", 5: "int burst = 2;\n"}.get(number)
        if source is not None:
            (root / "net/mptcp/protocol.c").write_text(source)
        (root / "other.c").write_text(f"int number = {number};\n")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", f"commit {number}")
        commits.append(git(root, "rev-parse", "HEAD"))
    return root, commits


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs the simulator in place of guests, with half the rate where a burst is 2; answers which bursts it ran."""
    ran: list[str] = []

    def simulate(scenario: Any, engine: str, **arguments: Any) -> Any:
        burst = kernels.find(engine.partition(":")[2]).image.read_text()
        ran.append(burst.strip())
        return run(scenario.with_("link.one.rate=2.5 Mbit/s") if "2" in burst else scenario, **arguments)

    monkeypatch.setattr(searching, "run", simulate)
    return ran


@pytest.mark.parametrize("bound", ["1 %", "m.goodput >= 3 Mbit/s"])
def test_the_commit_is_found_among_eight(
    tree: tuple[Path, list[str]], scenario: Path, runs: list[str], bound: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root, commits = tree
    (root / "mine.c").write_text("not committed\n")
    words = ["compare", str(scenario), "--bisect", str(root), commits[0], "main", "--bound", bound]
    assert invoke(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{commits[0][:12]} good: ")
    assert lines[1].startswith(f"{commits[8][:12]} bad: ")
    assert lines[-1].startswith(f"first bad commit: {commits[5]} (commit 5), after ")
    # Both ends, and no more than the three or four in between that halving takes.
    assert len(lines) - 1 <= 6
    assert len(runs) >= 4
    # The user's checkout is where it was, and nothing stays of the search.
    assert git(root, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert git(root, "status", "--porcelain") == "?? mine.c"
    assert git(root, "worktree", "list").count("\n") == 0
    assert git(root, "for-each-ref", "refs/bisect") == ""
    assert kernels.kernels() == []


def test_what_cannot_be_built_is_skipped_and_may_hide_the_commit(tree: tuple[Path, list[str]]) -> None:
    root, commits = tree

    def test(place: Path, _: Path) -> tuple[bool, str]:
        number = int((place / "other.c").read_text().split()[-1].rstrip(";"))
        if number in (3, 4):
            raise making.BuildError("make ended with status 2:\nprotocol.c:1: wrong")
        return number < 5, str(number)

    found = bisect(root, commits[0], commits[8], test)
    assert found.commit is None
    skipped = [each for each in found.tested if each.good is None]
    assert {each.subject for each in skipped} == {"commit 3", "commit 4"}
    assert str(skipped[0]).endswith("skipped: protocol.c:1: wrong (" + skipped[0].subject + ")")


def test_ends_that_are_not_as_said_are_refused(
    tree: tuple[Path, list[str]], scenario: Path, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    root, commits = tree
    words = ["compare", str(scenario), "--bisect", str(root)]
    assert invoke([*words, commits[0], commits[1], "--bound", "1 %"]) == 2
    assert f"nothing to search: {commits[1]} should be bad; found {commits[1][:12]} good" in capsys.readouterr().err
    assert runs == ["int burst = 1;"] * 2
    assert invoke([*words, commits[0], "none-such", "--bound", "1 %"]) == 2
    assert "'none-such' is not a commit of this tree" in capsys.readouterr().err
    for wrong in (["--bound", "m.goodput about 3"], ["--bound", "m.goodput > 3 s"], []):
        assert invoke([*words, commits[0], commits[8], *wrong]) == 2
    said = capsys.readouterr().err
    assert 'expected a condition of good kernels such as "m.goodput >= 12 Mbit/s"' in said
    assert "found '3 s' in 'm.goodput > 3 s'; expected a rate" in said
    assert "must be given together" in said
    assert git(root, "worktree", "list").count("\n") == 0


def test_a_kernel_that_is_there_keeps_its_name(tree: tuple[Path, list[str]], scenario: Path, runs: list[str]) -> None:
    root, commits = tree
    git(root, "checkout", "--quiet", commits[0])
    mine = making.build(str(root), name="mine")
    assert invoke(["compare", str(scenario), "--bisect", str(root), commits[0], "main", "--bound", "1 %"]) == 0
    assert [kernel.key for kernel in store.kernels() if kernel.name == "mine"] == [mine.key]
    assert len(runs) >= 4


def test_bounds() -> None:
    assert Bound.parse("0.5 %").largest == 0.005
    bound = Bound.parse("my link.completion < 1500 ms")
    assert (bound.connection, bound.quantity, bound.comparison, bound.value) == ("my link", "completion_s", "<", 1.5)
    with pytest.raises(ValueError, match="expected a condition"):
        Bound.parse("-1 %")


def test_a_tree_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BisectError, match="not a git repository"):
        bisect(tmp_path, "a", "b", lambda *_: (True, ""))
