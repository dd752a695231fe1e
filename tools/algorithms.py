"""Writes into the documentation what the algorithms declare of themselves: `python -m tools.algorithms`.

A page shows it between `<!-- algorithms: … -->` and `<!-- end -->`. `tests/test_algorithm_pages.py` compares the pages
with what the transport says now.
"""

import re
import sys
from pathlib import Path
from typing import Final

from mptcplab import registry
from mptcplab.registry import Entry, Parameter
from mptcplab.scenario.errors import one_of, show

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
FAMILIES: Final = {"congestion": "congestion", "schedulers": "scheduler", "path-managers": "path_manager"}
"""The families of the transport, and the keys of connections that take them."""
_MARK: Final = re.compile(r"(?P<begin><!-- algorithms: (?P<what>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.S)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return one_of([f"`{show(word)}`" for word in parameter.choices])
    if isinstance(parameter.default, bool):
        return "`true` or `false`"
    return f"{parameter.minimum:g} to {parameter.maximum:g}{f' {parameter.unit}' if parameter.unit else ''}"


def _brief(parameter: Parameter) -> str:
    default = f"`{parameter.name}` (`{show(parameter.default)}`"
    if isinstance(parameter.default, bool):
        return f"{default})"
    if parameter.choices:
        others = [f"`{show(word)}`" for word in parameter.choices if word != parameter.default]
        return f"{default}; or {one_of(others)})"
    return f"{default}; {_range(parameter)})"


def index(family: str) -> str:
    """The table of a family in docs/algorithms/README.md."""
    noun = {"congestion": "congestion control", "schedulers": "scheduler", "path-managers": "path manager"}[family]
    rows = [
        [f"[{entry.name}]({entry.name}.md)", entry.summary, entry.source, ", ".join(entry.capabilities)]
        for entry in registry.FAMILIES[family]
        if "sim" in entry.engines
    ]
    return _table([noun, "what it is", "source", "capabilities"], rows)


def reference() -> str:
    """The table in docs/scenario-format.md."""
    rows = []
    for family, key in FAMILIES.items():
        for number, entry in enumerate(registry.FAMILIES[family]):
            parameters = ", ".join(_brief(parameter) for parameter in entry.parameters)
            runs = "yes" if "sim" in entry.engines else ""
            rows.append([f"`{key}`" if number == 0 else "", f"`{entry.name}`", parameters, runs])
    return _table(["key", "name", "parameters (default)", "sim"], rows)


def parameters(entry: Entry) -> str:
    """The table of parameters on the page of an algorithm."""
    if not entry.parameters:
        return "It has no parameters.\n"
    rows = [[f"`{each.name}`", f"`{show(each.default)}`", _range(each), each.summary] for each in entry.parameters]
    return _table(["parameter", "default", "values", "meaning"], rows)


def columns(entry: Entry) -> str:
    """What follows them on the page of a congestion control with numbers of its own."""
    if not entry.columns:
        return ""
    rows = [[f"`{each.name}`", each.unit or "–", each.summary] for each in entry.columns]
    return f"\nIts columns in [`samples`](../results.md#samples):\n\n{_table(['column', 'unit', 'meaning'], rows)}"


def filled(file: Path) -> str:
    """The text of a page with its tables as they should be."""

    def fill(mark: re.Match[str]) -> str:
        what = mark["what"]
        if what == "reference":
            text = reference()
        elif what == "parameters":
            entries = [entry for family in FAMILIES for entry in registry.FAMILIES[family]]
            found = next(entry for entry in entries if entry.name == file.stem)
            text = parameters(found) + columns(found)
        else:
            text = index(what)
        return f"{mark['begin']}\n{text}\n{mark['end']}"

    return _MARK.sub(fill, file.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    """The pages that have such tables."""
    return [DOCS / "scenario-format.md", *sorted((DOCS / "algorithms").glob("*.md"))]


def main() -> None:
    """Write all of them."""
    for file in pages():
        text = filled(file)
        if text != file.read_text(encoding="utf-8"):
            file.write_text(text, encoding="utf-8")
            sys.stderr.write(f"{file.relative_to(DOCS.parent)}\n")


if __name__ == "__main__":
    main()
