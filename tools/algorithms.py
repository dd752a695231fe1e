"""Writes into the documentation what declares itself in the core: `python -m tools.algorithms`.

A page shows it between `<!-- algorithms: … -->` and `<!-- end -->`. `tests/test_algorithm_pages.py` compares the pages
with what the transport says now.
"""

import re
import sys
from pathlib import Path
from typing import Final

from mptcplab import profiles, registry, routers
from mptcplab.registry import Entry, Parameter
from mptcplab.scenario import written
from mptcplab.scenario.errors import one_of, show

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
FAMILIES: Final = {"congestion": "congestion", "schedulers": "scheduler", "path-managers": "path_manager"}
"""The families of the transport, and the keys of connections that take them."""
_MARK: Final = re.compile(r"(?P<begin><!-- algorithms: (?P<what>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.S)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def _range(parameter: Parameter) -> str:
    unit = f" {parameter.unit}" if parameter.unit else ""
    return written.words(parameter) or f"{parameter.minimum:g} to {parameter.maximum:g}{unit}"


def _brief(parameter: Parameter) -> str:
    default = f"`{parameter.name}` (`{show(parameter.default)}`"
    if isinstance(parameter.default, bool):
        return f"{default})"
    if parameter.choices:
        others = [f"`{show(word)}`" for word in parameter.choices if word != parameter.default]
        return f"{default}; or {one_of(others)})"
    return f"{default}; {_range(parameter)})"


_OTHER_PAGES: Final = {("path-managers", "linux"): "path-manager-linux"}
"""Pages of algorithms whose names another family has too."""


def page(family: str, name: str) -> str:
    """The page of an algorithm in docs/algorithms, without its ending."""
    return _OTHER_PAGES.get((family, name), name)


def index(family: str) -> str:
    """The table of a family in docs/algorithms/README.md."""
    noun = {"congestion": "congestion control", "schedulers": "scheduler", "path-managers": "path manager"}[family]
    rows = [
        [f"[{entry.name}]({page(family, entry.name)}.md)", entry.summary, entry.source, ", ".join(entry.capabilities)]
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


def _default(parameter: Parameter) -> str:
    text = written.default(parameter)
    return text if text in ("none", "required") else f"`{text}`"


def _keys(entry: Entry) -> list[Parameter]:
    """What a scenario file can say."""
    return [parameter for parameter in entry.parameters if parameter.kind != "largest packet"]


def kinds(family: str) -> str:
    """The table of the keys of a family whose kinds share them, as the queues do."""
    entries = registry.FAMILIES[family]
    default = '`"drop-tail"`' if family == "queues" else "required"
    names = one_of([f"`{show(entry.name)}`" for entry in entries])
    rows: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        for each in _keys(entry):
            row = (f"`{each.name}`", written.meaning(each), _default(each), written.bounds(each, entry))
            rows.setdefault(row, []).append(entry.name)
    lines = [["`kind`", "", names, default, ""]]
    for (name, *cells), of in sorted(rows.items(), key=lambda row: row[0][0] != "`limit`"):
        lines.append([name, "all" if len(of) == len(entries) else ", ".join(of), *cells])
    if family == "queues":
        at_least = "the larger of `limit` and `at_least` applies, a length"
        place = next(number for number, line in enumerate(lines) if line[0] not in ("`kind`", "`limit`"))
        lines.insert(place, ["`at_least`", "all", at_least, "none", ""])
    return _table(["key", "kinds", "value", "default", "range"], lines)


def boxes() -> str:
    """The table of the middleboxes, which share no keys."""
    rows = []
    for entry in registry.FAMILIES["middleboxes"]:
        keys = []
        for each in _keys(entry):
            values = written.words(each) or written.bounds(each, entry)
            keys.append(f"`{each.name}`: {each.summary} ({_default(each)}; {values})")
        rows.append([f"`{entry.name}`", entry.summary, "; ".join(keys)])
    return _table(["`kind`", "behaviour", "keys (default; range)"], rows)


def settings(name: str) -> str:
    """The table of what has parameters and is no family."""
    entry = registry.settings(name)
    rows = [
        [f"`{each.name}`", written.meaning(each), _default(each), written.bounds(each, entry)] for each in _keys(entry)
    ]
    return _table(["key", "value", "default", "range"], rows)


def profile_switches() -> str:
    """The table of what profiles set."""
    rows = [
        [f"`{profile.name}`" if number == 0 else "", f"`{switch.key}`", f"`{show(switch.value)}`", switch.source]
        for profile in profiles.PROFILES
        for number, switch in enumerate(profile.switches)
    ]
    return _table(["profile", "key", "value", "source"], rows)


def router_settings() -> str:
    """The table of what routers set."""
    rows = [
        [f"`{router.name}`, {router.summary}" if number == 0 else "", f"`{each.key} = {each.written}`", each.source]
        for router in routers.ROUTERS
        for number, each in enumerate(router.settings)
    ]
    return _table(["router", "what it sets", "source"], rows)


def filled(file: Path) -> str:
    """The text of a page with its tables as they should be."""

    def fill(mark: re.Match[str]) -> str:
        what = mark["what"]
        if what == "reference":
            text = reference()
        elif what == "profiles":
            text = profile_switches()
        elif what == "routers":
            text = router_settings()
        elif what == "parameters":
            entries = [(family, entry) for family in FAMILIES for entry in registry.FAMILIES[family]]
            found = next(entry for family, entry in entries if page(family, entry.name) == file.stem)
            text = parameters(found) + columns(found)
        elif what.startswith("keys-of-"):
            of = what.removeprefix("keys-of-")
            text = boxes() if of == "middleboxes" else kinds(of) if of in registry.FAMILIES else settings(of)
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
