"""A page of the documentation followed word for word in a copy of the tree, as a contributor would."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "target"
"""Where `cargo test` has built the same libraries of others."""
BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def copied(place: Path) -> Path:
    """The tree as git knows it, with the times of its files, by which cargo sees what has changed."""
    tree = place / "tree"
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


def content(tree: Path, new: str) -> dict[str, bytes]:
    """The files that git knows, and those of the new name."""
    names = {*tracked(), *(str(file.relative_to(tree)) for file in tree.rglob(f"{new}.*"))}
    return {name: (tree / name).read_bytes() for name in names if (tree / name).is_file()}


def apply(page: str, tree: Path) -> list[str]:
    """What the page says, in its order; the commands of its last part are answered."""
    commands: list[str] = []
    end = 0
    for block in BLOCK.finditer(page):
        before, end = page[end : block.start()], block.end()
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
