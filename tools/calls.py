"""Which source files of the Rust crates call each other's functions in circles: `python -m tools.calls [CRATE …]`.

Imports do not show this: files of `impl` blocks define and use nothing by name. A call counts for the file that defines
a function of that name, if only one file of all crates does and the standard library has none that is called so.
"""

import re
import sys
from pathlib import Path
from typing import Final

from tools.imports import CRATES, circles

_COMMENT: Final = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_DEFINED: Final = re.compile(r"\bfn\s+(\w+)")
_CALLED: Final = re.compile(r"(?<!fn )\b([a-z_]\w*)(?:::<[^>]*>)?\(")
STANDARD: Final = frozenset(
    (
        "all",
        "checked_add",
        "cmp",
        "entry",
        "eq",
        "expect",
        "extend",
        "find",
        "fold",
        "ln",
        "partial_cmp",
        "push_front",
        "resize",
        "round",
        "sort",
        "swap",
        "truncate",
    )
)
"""What collections, iterators and numbers have too, of the names that only one file defines."""
_BY_MACRO: Final = frozenset(("syn", "fin", "rst", "psh", "ack", "urg", "ece", "cwr"))
"""The flags of a segment: a macro of the crate `wire` defines these functions."""


def _texts(source: Path) -> dict[Path, str]:
    """The code of a folder's files without comments, strings and tests."""
    texts = {}
    for file in sorted(source.rglob("*.rs")):
        if file.stem in ("tests", "fixture") or file.stem.endswith("_tests"):
            continue
        text = _STRING.sub('""', _COMMENT.sub("", file.read_text(encoding="utf-8")))
        texts[file] = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text, maxsplit=1)[0]
    return texts


def calls(source: Path) -> dict[Path, set[Path]]:
    """By file of a crate's `src`, the files whose functions it calls; tests do not count."""
    homes: dict[str, set[Path]] = {}
    for each in CRATES.glob("*/src"):
        for file, text in _texts(each).items():
            for name in _DEFINED.findall(text):
                homes.setdefault(name, set()).add(file)
    texts = _texts(source)
    alone = {name: min(files) for name, files in homes.items() if len(files) == 1 and name not in STANDARD | _BY_MACRO}
    return {
        file: {alone[name] for name in _CALLED.findall(text) if alone.get(name) in texts} - {file}
        for file, text in texts.items()
    }


def main() -> None:
    """Print the circles of the crates that are named, or of all."""
    named = sys.argv[1:] or sorted(file.parent.name for file in CRATES.glob("*/src"))
    for crate in named:
        for circle in circles(calls(CRATES / crate / "src")):
            files = " ".join(str(file.relative_to(CRATES / crate / "src")) for file in circle)
            sys.stdout.write(f"{crate}: {len(circle)} files: {files}\n")


if __name__ == "__main__":
    main()
