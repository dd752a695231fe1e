"""`python -m tools.requirements`: the table of requirements in docs/conformance.md made anew; `--check` only compares.

Every MUST and SHOULD of RFC 9293's appendix B and of RFC 8684 has an entry in `conformance/rfc….toml`. What shows it
are the cases whose first line names its identifier, further cases and tests in Rust that the entry names; else the
entry says why not. The tool refuses a case or a test that does not exist, an identifier that has no entry, and an
entry that nothing shows and that says nothing.
"""

import argparse
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "conformance.md"
LISTS: Final = ("rfc9293", "rfc8684")
BEGIN: Final = "<!-- made by python -m tools.requirements; do not edit by hand -->"
END: Final = "<!-- end -->"
STATES: Final = {"met": "met", "partly": "partly", "not": "not met", "none": "does not apply"}


class Problem(Exception):  # noqa: N818 - it ends the tool
    """The lists, the cases and the code do not fit together."""


@dataclass(frozen=True)
class Case:
    """What the head of a case says."""

    name: str
    identifiers: tuple[str, ...]
    departs: str | None


@dataclass(frozen=True)
class Row:
    """A requirement."""

    name: str
    level: str
    says: str
    state: str
    shown: tuple[str, ...]
    why: str


def cases() -> dict[str, Case]:
    """All cases by name."""
    found = {}
    for file in sorted((ROOT / "conformance").rglob("*.case")):
        head = file.read_text(encoding="utf-8")
        name = str(file.relative_to(ROOT / "conformance").with_suffix(""))
        identifiers = tuple(re.findall(r"(?:MUST|SHLD|REC)-\d+", head.partition("\n")[0]))
        departs = re.search(r"^departs transport: (.*)$", head, re.MULTILINE)
        found[name] = Case(name, identifiers, departs[1] if departs else None)
    return found


def tests() -> set[str]:
    """The names of all functions in Rust that are tests."""
    found: set[str] = set()
    for file in (ROOT / "crates").rglob("*.rs"):
        found.update(re.findall(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)", file.read_text(encoding="utf-8")))
    return found


def rows(name: str, known: dict[str, Case], functions: set[str]) -> tuple[str, list[Row]]:
    """The title and the rows of a list."""
    entries = tomllib.loads((ROOT / "conformance" / f"{name}.toml").read_text(encoding="utf-8"))
    title = str(entries.pop("title"))
    made = []
    for identifier, entry in entries.items():
        where = f"conformance/{name}.toml: {identifier}"
        named = [case for case in known.values() if identifier in case.identifiers]
        for further in entry.get("cases", []):
            if further not in known:
                raise Problem(f"{where}: found the case {further!r}, expected one below conformance/")
            named += [known[further]] if known[further] not in named else []
        for test in entry.get("test", []):
            if test not in functions:
                raise Problem(f"{where}: found the test {test!r}, expected a function with #[test] in crates/")
        departs = [case.departs for case in named if case.departs]
        state = entry.get("state")
        if state is None and not named and not entry.get("test"):
            raise Problem(f"{where}: found neither case nor test nor state, expected one of them")
        if state is None:
            state = "met" if not departs else "not" if len(departs) == len(named) else "partly"
        if state not in STATES:
            raise Problem(f"{where}: found the state {state!r}, expected {', '.join(STATES)}")
        why = entry.get("why", "; ".join(departs))
        if not why and state != "met":
            raise Problem(f"{where}: found no reason, expected why it is {STATES[state]}")
        level = entry.get("level") or ("MUST" if identifier.startswith("MUST") else "SHOULD")
        shown = (*(case.name for case in named), *entry.get("test", []))
        made.append(Row(identifier, level, entry["says"], STATES[state], shown, why))
    if name == "rfc9293":
        for case in known.values():
            for identifier in case.identifiers:
                if identifier not in entries:
                    raise Problem(f"{case.name}: found {identifier}, expected an identifier of conformance/{name}.toml")
    return title, made


def table() -> tuple[str, str]:
    """The section of the page, and its counts in one line each."""
    known, functions = cases(), tests()
    parts, counts = [], []
    for name in LISTS:
        title, made = rows(name, known, functions)
        for level in ("MUST", "SHOULD"):
            found = Counter(row.state for row in made if row.level == level)
            rest = ", ".join(
                f"{found[state]} {state}" for state in ("partly", "not met", "does not apply") if found[state]
            )
            counts.append(f"{title}: {level}: {found['met']} of {found.total()} met" + (f" ({rest})" if rest else ""))
        lines = ["| | Level | Requirement | State | Shown by | |", "| --- | --- | --- | --- | --- | --- |"]
        for row in made:
            shown = ", ".join(f"`{place}`" for place in row.shown[:4])
            shown += f" and {len(row.shown) - 4} more" if len(row.shown) > 4 else ""
            lines.append(f"| {row.name} | {row.level} | {row.says} | {row.state} | {shown} | {row.why} |")
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
    summary = "\n".join(f"- {line}" for line in counts)
    return f"{BEGIN}\n\n{summary}\n\n" + "\n".join(parts) + f"\n{END}", "\n".join(counts)


def main() -> int:
    """Make the table anew, or compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.requirements", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only look whether the page is up to date")
    check = parser.parse_args().check
    try:
        section, counts = table()
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)  # noqa: T201
        return 1
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    new = f"{before}{section}{after}"
    print(counts)  # noqa: T201
    if check and new != page:
        print("error: docs/conformance.md is not up to date: run python -m tools.requirements", file=sys.stderr)  # noqa: T201
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
