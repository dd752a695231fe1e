"""`python -m tools.cases run [--engine NAME] [--kernel V]`: run all cases, keep the results, write the page."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from mptcplab import __version__
from mptcplab.casebook import Case, case_names, load, run, shown
from mptcplab.casebook.book import TOPICS

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "docs" / "data" / "cases.json"
PAGE: Final = ROOT / "docs" / "cases.md"
_HEAD: Final = """# The book of cases

Questions about Multipath TCP that somebody asked in public, each with a scenario, an answer, and checks of that answer.
Run one with `mptcplab case run NAME`, read one with `mptcplab case show NAME`. Scenarios are in
`cases/NAME/scenario.toml`: change them to your own numbers.

This page is written by `python -m tools.cases page`, the results below by `python -m tools.cases run`. Values are means
over the seeds of a column of the [results](results.md).
"""


def results() -> dict[str, Any]:
    """What `run` kept: by engine, the version and, by case, rows of checks."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def page() -> str:
    """The page."""
    kept = results()
    cases = [load(name) for name in case_names()]
    parts = [_HEAD]
    parts += [f"- **{engine}**: mptcplab {each['version']}" for engine, each in sorted(kept.items())]
    for topic in TOPICS:
        inside = [case for case in cases if case.file.topic == topic]
        if inside:
            parts.append(f"\n## {topic[0].upper()}{topic[1:]}\n")
            parts += [_case(case, kept) for case in inside]
    return "\n".join(parts) + "\n"


def _case(case: Case, kept: dict[str, Any]) -> str:
    file = case.file
    texts = [
        f"### {case.name}\n\n**{file.title}.** {_line(file.question)}",
        f"*Observed* ([{file.source.date}]({file.source.url})): {_line(file.observed)}",
        f"*Answer*: {_line(file.answer)}",
    ]
    engines = [engine for engine in sorted(kept) if case.name in kept[engine]["cases"]]
    if engines:
        head = ["check", "expected", *engines]
        rows = []
        for number, check in enumerate(file.check):
            found = [kept[engine]["cases"][case.name][number] for engine in engines]
            cells = [f"{shown(check.what, e['found'])}{'' if e['holds'] else ' (does not hold)'}" for e in found]
            bound = f"`{check.what}` {found[0]['relation']} {shown(check.what, found[0]['bound'])}"
            rows.append([check.says, bound, *cells])
        table = [head, ["---"] * len(head), *rows]
        texts.append("\n".join(f"| {' | '.join(row)} |" for row in table))
    return "\n\n".join(texts) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def keep(engine: str) -> None:
    """Run all cases that are meant for the engine, and keep what they gave."""
    found = {}
    for name in case_names():
        case = load(name)
        if engine.partition(":")[0] not in case.file.engines:
            continue
        sys.stderr.write(f"{name}\n")
        found[name] = [
            {
                "relation": each.relation,
                "bound": float(f"{each.bound:.6g}"),
                "found": float(f"{each.found.mean:.6g}"),
                "holds": each.holds,
            }
            for each in run(case, engine=engine, jobs=os.cpu_count() or 1)
        ]
    kept = results()
    kept[engine] = {"version": __version__, "cases": found}
    RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.cases", description=__doc__)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--engine", default="sim")
    given = parser.parse_args()
    if given.what == "run":
        keep(given.engine)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
