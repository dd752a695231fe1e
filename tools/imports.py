"""Which source files of the Rust crates import which, and circles among them: `python -m tools.imports`.

An import counts for the file that defines the name, wherever it is exported again; so does a path in the code
(`crate::queue::LIMIT`). Test modules do not count, and neither does a module's list of its parts (`mod`, `pub use`).
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CRATES: Final = Path(__file__).resolve().parents[1] / "crates"
_COMMENT: Final = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
_USE: Final = re.compile(r"^\s*(?P<pub>pub(?:\([^)]*\))?\s+)?use\s+(?P<path>[^;]+);", re.M)
_PATH: Final = re.compile(r"(?<!in )\b(?:crate|super|self)(?:::\w+)+")
_DEFINED: Final = re.compile(
    r"^(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|unsafe\s+|async\s+)*"
    r"(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+(\w+)",
    re.M,
)


def _expanded(path: str) -> Iterator[tuple[str, ...]]:
    """`a::{b, c::d}` one by one; a name that is given another is its own."""
    path = path.strip()
    head, brace, rest = path.partition("{")
    before = tuple(part for part in re.split(r"\s*::\s*", head.strip()) if part)
    if not brace:
        *way, last = before
        yield (*way, last.split(" as ")[0].strip())
        return
    depth, part = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield from ((*before, *each) for each in _expanded(part))
            part = ""
        else:
            part += letter


class Crate:
    """The modules of a crate: for each its file, what it defines and what it imports."""

    def __init__(self, source: Path) -> None:
        self.files: dict[tuple[str, ...], Path] = {}
        self._defined: dict[tuple[str, ...], set[str]] = {}
        self._uses: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        self._exports: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for file in sorted(source.rglob("*.rs")):
            way = file.relative_to(source).with_suffix("").parts
            module = () if way in (("lib",), ("main",)) else way[:-1] if way[-1] == "mod" else way
            if way[-1] == "tests" or way[-1].endswith("_tests"):
                continue
            text = _COMMENT.sub("", file.read_text(encoding="utf-8")).split("#[cfg(test)]\nmod tests", 1)[0]
            self.files[module] = file
            self._defined[module] = set(_DEFINED.findall(text))
            self._uses[module], self._exports[module] = [], []
            for found in _USE.finditer(text):
                for path in _expanded(found["path"]):
                    target = self._absolute(module, path)
                    if target is not None:
                        (self._exports if found["pub"] else self._uses)[module].append(target)
            for written in _PATH.findall(_USE.sub("", text)):
                target = self._absolute(module, tuple(written.split("::")))
                if target is not None:
                    self._uses[module].append(target)

    @staticmethod
    def _absolute(module: tuple[str, ...], path: tuple[str, ...]) -> tuple[str, ...] | None:
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return (*module, *path[1:])
        place = module
        while path and path[0] == "super":
            place, path = place[:-1], path[1:]
            if not path or path[0] != "super":
                return (*place, *path)
        return (*module, *path)

    def _home(self, target: tuple[str, ...], seen: frozenset[tuple[str, ...]] = frozenset()) -> tuple[str, ...] | None:
        """The module that defines what is imported."""
        if target in seen:
            return None
        for size in range(len(target), -1, -1):
            module = target[:size]
            if module not in self.files:
                continue
            if size == len(target) or target[size] in self._defined[module]:
                return module
            for export in self._exports[module]:
                if export[-1] in (target[size], "*"):
                    way = export[:-1] if export[-1] == "*" else export
                    home = self._home((*way, *target[size + (export[-1] != "*") :]), seen | {target})
                    if home is not None:
                        return home
            for way in self._uses[module]:
                if way[-1] == target[size]:
                    return self._home((*way, *target[size + 1 :]), seen | {target})
            return module if size else None
        return None

    def imports(self) -> dict[Path, set[Path]]:
        """By file, the files that it imports."""
        found: dict[Path, set[Path]] = {file: set() for file in self.files.values()}
        for module, uses in self._uses.items():
            homes = {self._home(target) for target in uses} - {None, module}
            found[self.files[module]] |= {self.files[home] for home in homes if home is not None}
        return found


def circles(imports: dict[Path, set[Path]]) -> list[list[Path]]:
    """Files that import each other, directly or by others: each group of them once."""

    def reached(start: Path) -> set[Path]:
        seen, waiting = set[Path](), [start]
        while waiting:
            for each in imports[waiting.pop()] - seen:
                seen.add(each)
                waiting.append(each)
        return seen

    reach = {file: reached(file) for file in imports}
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in imports if a in reach[a]}
    return sorted(sorted(group) for group in groups)


def main() -> None:
    """Print the circles of every crate; status 1 if there is one."""
    found = [each for source in sorted(CRATES.glob("*/src")) for each in circles(Crate(source).imports())]
    for circle in found:
        sys.stdout.write(" ".join(str(file.relative_to(CRATES)) for file in circle) + "\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
