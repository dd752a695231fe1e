"""Every command that README.md and docs/ show is run, in a directory that looks like the checkout.

Blocks marked `console` (lines after `$ `) and `sh` are commands; one marked `python` is run as a program; one marked
`py` defines classes, and is only defined. `make …` is checked to be a target: CI runs the targets themselves.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from mptcplab import Scenario, machine

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?P<fence>```+)(?P<kind>console|sh|python)\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
FENCED = re.compile(r"^(?P<fence>```+)[^\n]*\n.*?^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
"""A link in a block is part of an example."""
BIN = Path(sys.executable).parent
SECONDS = 300
LIVE = r"mptcplab\.stack|mptcplab get|--engines? \S*(stack|linux)|--against (both|linux)"
"""What needs privileges."""


@dataclass(frozen=True)
class Command:
    where: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text.strip().splitlines()[0]}"


def commands_of(text: str, name: str) -> list[Command]:
    found = []
    for block in BLOCK.finditer(text):
        where = f"{name}:{text.count(chr(10), 0, block.start()) + 1}"
        if block["kind"] == "python":
            found.append(Command(where, "python", block["text"]))
            continue
        joined = block["text"].replace("\\\n", " ")
        for line in joined.splitlines():
            shown = line.removeprefix("$ ") if block["kind"] == "console" else line
            if shown.strip() and not shown.startswith("#") and (block["kind"] == "sh" or line.startswith("$ ")):
                found.append(Command(where, "sh", shown.strip()))
    return found


def documents() -> list[Path]:
    return [file for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if file.is_file()]


def all_commands() -> list[Command]:
    return [
        command
        for document in documents()
        for command in commands_of(document.read_text(encoding="utf-8"), str(document.relative_to(ROOT)))
    ]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that looks like the checkout; what commands write stays in it. Commands see those before them."""
    place = tmp_path_factory.mktemp("checkout")
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "out"):
            (place / entry.name).symlink_to(entry)
    return place


@pytest.mark.parametrize("command", all_commands(), ids=str)
def test_a_command_of_the_documentation_works(command: Command, place: Path) -> None:
    words = [] if command.kind == "python" else shlex.split(command.text, comments=True)
    if words and words[0] == "make":
        assert set(words[1:]) - {word for word in words if "=" in word} <= targets()
        return
    if words and words[0] in ("git", "cd"):
        return  # how one comes to a checkout; here is one
    if re.search(LIVE, command.text) and (missing := [need.what for need in machine.live() if not need.good]):
        pytest.skip(f"engines on real packets need {', '.join(missing)}")
    program = [sys.executable, "-c", command.text] if command.kind == "python" else ["bash", "-ec", command.text]
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    # Cargo names crates by their place: elsewhere it would build all of them anew.
    there = ROOT if words and words[0] == "cargo" else place
    done = subprocess.run(
        program, cwd=there, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("document", documents(), ids=lambda each: each.stem)
def test_classes_that_are_shown_can_be_defined(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, object] = {"__name__": "shown"}
    for block in re.finditer(r"^```py\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block[1], str(document), "exec"), shown)  # noqa: S102 - of our documents
        # A later block imports a class from its own file: Gentle from gentle.py.
        for name in [name for name, value in shown.items() if isinstance(value, type)]:
            monkeypatch.setitem(sys.modules, name.lower(), SimpleNamespace(**{name: shown[name]}))


def test_the_readme_shows_commands() -> None:
    shown = [command.text for command in all_commands() if command.where.startswith("README.md")]
    assert "make run" in shown
    assert "make test" in shown
    assert any(text.startswith(("mptcplab ", ".venv/bin/mptcplab ")) for text in shown)


def test_every_block_of_the_readme_is_tried() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"^ *```+(.*)$", text, re.MULTILINE)
    opening, closing = fences[::2], fences[1::2]
    assert set(closing) == {""}
    assert set(opening) <= {"sh", "console", "python", "toml"}, "a block without its kind would not be run"
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert Scenario.from_toml(shown) == Scenario.load(ROOT / "scenarios" / "wifi-lte.toml")


def test_commands_are_found_in_both_forms() -> None:
    text = (
        "a\n```console\n$ one \\\n  more\noutput\n$ two\n```\n```sh\n# not this\nthree\n```\n```toml\nfour = 4\n```\n"
    )
    found = [(command.where, command.text) for command in commands_of(text, "x.md")]
    assert found == [("x.md:2", "one    more"), ("x.md:2", "two"), ("x.md:8", "three")]


def test_pictures_and_links_lead_to_files() -> None:
    missing = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCED.sub("", document.read_text(encoding="utf-8")))
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert missing == []
