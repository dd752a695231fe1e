"""Mutants of Rust: all in one test binary, which is compiled once and told by a variable which one to be.

A function's body becomes a `match` over the variable's number, with an arm for each mutant and the original for every
other number. A mutant that does not compile is left out, and the rest compiled again.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.mutation.operators import mutations

ROOT: Final = Path(__file__).resolve().parents[2]
WORK: Final = ROOT / "target" / "mutation"
_VARIABLE: Final = "MPTCPLAB_MUTANT"
_SELECTOR: Final = f"""
#[doc(hidden)]
pub(crate) fn mutant() -> u32 {{
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *NUMBER.get_or_init(|| std::env::var("{_VARIABLE}").ok().and_then(|number| number.parse().ok()).unwrap_or(0))
}}
"""
_HEAD: Final = re.compile(r"^( *)(?:pub(?:\([a-z]+\))? )?fn \w+[^;{]*\{\n", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    number: int
    file: str
    line: int
    before: str
    after: str
    function: tuple[int, int]
    """Where the body stands in the file."""
    body: str
    """The whole body, changed."""


def mutants(file: str, number: int) -> Iterator[Mutant]:
    """Those of a file's functions, before its tests, numbered from `number`."""
    text = (ROOT / file).read_text(encoding="utf-8")
    code = text.partition("#[cfg(test)]")[0]
    for head in _HEAD.finditer(code):
        end = code.index(f"\n{head[1]}}}", head.end() - 1) + 1
        body = code[head.end() : end]
        if "fn " in body:
            continue
        for begin, stop, other in mutations(body):
            at = head.end() + begin
            line = code.count("\n", 0, at) + 1
            shown = code.splitlines()[line - 1].strip()
            changed = body[:begin] + other + body[stop:]
            first = body.count("\n", 0, begin)
            yield Mutant(number, file, line, shown, changed.splitlines()[first].strip(), (head.end(), end), changed)
            number += 1


def module(file: str) -> str:
    """The module of a file, by which its own tests are called."""
    return file.partition("/src/")[2].removesuffix(".rs").removesuffix("/mod").replace("/", "::")


def _write(all_mutants: Sequence[Mutant]) -> None:
    for file in {mutant.file for mutant in all_mutants}:
        text = (ROOT / file).read_text(encoding="utf-8")
        bodies = sorted({mutant.function for mutant in all_mutants if mutant.file == file}, reverse=True)
        for begin, end in bodies:
            arms = "".join(
                f"/*mutant {mutant.number}*/{mutant.number} => {{\n{mutant.body}}}\n"
                for mutant in all_mutants
                if mutant.file == file and mutant.function == (begin, end)
            )
            body = f"match crate::mutant() {{\n{arms}/*mutant 0*/_ => {{\n{text[begin:end]}}}\n}}\n"
            text = text[:begin] + body + text[end:]
        (WORK / "tree" / file).write_text(text, encoding="utf-8")


def _compile(package: str) -> tuple[Path | None, set[int]]:
    """The test binary, or the mutants that do not compile."""
    command = ["cargo", "test", "--locked", "-p", package, "--lib", "--no-run", "--message-format=json"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(WORK / "build")}
    done = subprocess.run(command, cwd=WORK / "tree", env=environment, capture_output=True, text=True, check=False)
    wrong: set[int] = set()
    binary = None
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable"):
            binary = Path(message["executable"])
        told = message.get("message") or {}
        if isinstance(told, dict) and told.get("level") == "error":
            for span in told["spans"]:
                lines = (WORK / "tree" / span["file_name"]).read_text(encoding="utf-8").splitlines()
                above = (re.match(r"/\*mutant (\d+)\*/", text) for text in reversed(lines[: span["line_start"]]))
                number = next((int(found[1]) for found in above if found), 0)
                wrong |= {number} - {0}
    if binary is None and not wrong:
        raise SystemExit(f"error: the tree with mutants does not compile:\n{done.stderr[-3000:]}")
    return binary, wrong


def build(files: Sequence[str], package: str) -> tuple[Path, list[Mutant]]:
    """The test binary with all mutants of the files that compile."""
    found: list[Mutant] = []
    for file in files:
        found += mutants(file, len(found) + 1)
    shutil.rmtree(WORK / "tree", ignore_errors=True)
    for name in ("Cargo.toml", "Cargo.lock"):
        (WORK / "tree").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, WORK / "tree" / name)
    shutil.copytree(ROOT / "crates", WORK / "tree" / "crates")
    for folder in ("tests/vectors", "conformance"):
        if (ROOT / folder).exists():
            shutil.copytree(ROOT / folder, WORK / "tree" / folder)
    library = WORK / "tree" / "crates" / package / "src" / "lib.rs"
    library.write_text(library.read_text(encoding="utf-8") + _SELECTOR, encoding="utf-8")
    while True:
        _write(found)
        binary, wrong = _compile(package)
        if binary is not None and not wrong:
            return binary, found
        found = [mutant for mutant in found if mutant.number not in wrong]


def survives(binary: Path, mutant: Mutant, tests: Sequence[str], seconds: float) -> bool:
    """Whether all tests pass with it; one that takes longer than `seconds` does not survive."""
    environment = {**os.environ, _VARIABLE: str(mutant.number)}
    try:
        done = subprocess.run(
            [binary, "--quiet", *tests],
            env=environment,
            capture_output=True,
            timeout=seconds,
            check=False,
            cwd=WORK / "tree" / mutant.file.partition("/src/")[0],
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
