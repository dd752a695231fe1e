"""docs/add-an-algorithm.md, followed word for word in a copy of the tree: green, and no other file is touched."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import mptcplab
import pytest
from mptcplab import Scenario

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-an-algorithm.md").read_text(encoding="utf-8").split("## Outside the tree")[0]
PLACE = ROOT / "target" / "contributor"
"""Kept from run to run, so that only what has changed is compiled."""
BUILT = ROOT / "target"
"""Where `cargo test` has built the same libraries of others."""
BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
WRITTEN = {"docs/algorithms/README.md", "docs/scenario-format.md"}
"""Tables that `tools.algorithms` fills."""


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def copied() -> Path:
    """The tree as git knows it, with the times of its files, by which cargo sees what has changed."""
    tree = PLACE / "tree"
    names = tracked()
    for file in sorted(tree.rglob("*"), reverse=True):
        if (file.is_file() or file.is_symlink()) and str(file.relative_to(tree)) not in names:
            file.unlink()
    for name in names:
        source, copy = ROOT / name, tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.unlink(missing_ok=True)
            copy.symlink_to(source.readlink())
        elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copy2(source, copy)
    return tree


def compile_quickly(tree: Path) -> None:
    """Our own crates without optimisation, which changes no result; those of others as `cargo test` has built them."""
    crates = sorted(path.parent.name for path in tree.glob("crates/*/Cargo.toml"))
    names = ["mptcplab-python" if name == "python" else name for name in crates]
    profiles = (f"[profile.dev.package.{name}]\nopt-level = 0\ndebug = 0\n" for name in names)
    (tree / ".cargo").mkdir(exist_ok=True)
    (tree / ".cargo" / "config.toml").write_text("".join(profiles), encoding="utf-8")


def content(tree: Path) -> dict[str, bytes]:
    names = {*tracked(), *(str(file.relative_to(tree)) for file in tree.rglob("gentle.*"))}
    return {name: (tree / name).read_bytes() for name in names if (tree / name).is_file()}


def apply(tree: Path) -> list[str]:
    """What the page says, in its order; the commands of its last part are answered."""
    commands: list[str] = []
    end = 0
    for block in BLOCK.finditer(PAGE):
        before, end = PAGE[end : block.start()], block.end()
        kind, text = block["kind"], block["text"]
        named = re.findall(r"`((?:crates|docs)/[\w./-]+\.\w+)`", before)
        if kind in ("rust", "markdown"):
            assert "A new file" in before, before
            (tree / named[-1]).write_text(text, encoding="utf-8")
            file = tree / named[-1]
        elif kind == "diff":
            file = tree / named[-1] if named else file
            old = "".join(line[1:] + "\n" for line in text.splitlines() if line[0] == " ")
            new = "".join(line[1:] + "\n" for line in text.splitlines())
            written = file.read_text(encoding="utf-8")
            assert written.count(old) == 1, f"{file}: {old}"
            file.write_text(written.replace(old, new), encoding="utf-8")
        elif kind == "":
            commands += text.splitlines()
    return commands


def test_the_page_is_all_that_a_contributor_needs() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    tree = copied()
    compile_quickly(tree)
    before = content(tree)
    commands = apply(tree)
    assert [shlex.split(command)[0] for command in commands] == ["python", "cargo", "cargo", "python", "mptcplab"]
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(BUILT),
        "PYTHONPATH": str(tree / "python"),
    }

    def run(*command: str, given: str = "") -> str:
        done = subprocess.run(
            command, cwd=tree, env=environment, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    # `make setup`, without its optimisation.
    run("cargo", "build", "--locked", "--offline", "-p", "mptcplab-python")
    shutil.copy2(BUILT / "debug" / "lib_core.so", tree / "python" / "mptcplab" / "_core.abi3.so")
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "python":
            run(sys.executable, *arguments, *(["-p", "no:cacheprovider"] if "pytest" in arguments else []))
        elif program == "mptcplab":
            run(sys.executable, "-c", "from mptcplab.cli import main; main()", *arguments)
        else:
            run(program, arguments[0], "--locked", "--offline", *arguments[1:])

    after = content(tree)
    changed = {name for name in after if after[name] != before.get(name)}
    expected = {f"crates/transport/src/congestion/{name}.rs" for name in ("gentle", "mod")} | {
        "docs/algorithms/gentle.md"
    }
    assert changed == expected | WRITTEN

    # The same control from outside the tree, by a program of its own, is the same to the last digit.
    path = "examples/outside-plugin/Cargo.toml"
    scenario = Scenario.load(ROOT / "scenarios" / "one-link.toml", ["duration=10 s", "measure.warmup=2 s"])
    described = json.dumps(scenario.description())
    printed = run("cargo", "run", "--locked", "--offline", "--manifest-path", path, "--", "0.5", "0.8", given=described)
    half, more = (float(line.split()[1]) for line in printed.splitlines())
    assert half == round(mptcplab.run(scenario).connections["goodput_bps"][0] / 1e6, 4), "with a half it is Reno"
    code = """
import sys, mptcplab
scenario = mptcplab.Scenario.load(sys.argv[1], sys.argv[2:])
print(mptcplab.run(scenario).connections["goodput_bps"][0])
"""
    gentle = ["duration=10 s", "measure.warmup=2 s", 'connection.flow.congestion={ name = "gentle", beta = 0.8 }']
    inside = run(sys.executable, "-c", code, "scenarios/one-link.toml", *gentle)
    assert more == round(float(inside) / 1e6, 4)
