"""`python -m tools.mutation FILE…`: the mutants of these files that their tests do not notice.

Rust: `python -m tools.mutation crates/transport/src/scheduler/ecf.rs --tests scheduler::`; the unit tests of the crate
whose names contain `--tests`, by default those of the file's own module. Python:
`python -m tools.mutation python/mptcplab/models/rounds.py --tests tests/models`. With `--sample N` only N of them are
tried, the same ones each time. A survivor is either equivalent to the
original or shows that a test is missing. The exit status is 1 if any survives.
"""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.mutation import python, rust


def _rust(files: list[str], tests: list[str]) -> tuple[list[Any], Callable[[Any], bool]]:
    package = Path(files[0]).parts[1]
    binary, found = rust.build(files, package)
    began = time.monotonic()
    nobody = rust.Mutant(0, files[0], 0, "", "", (0, 0), "")
    if not rust.survives(binary, nobody, tests or [rust.module(file) for file in files], 3600):
        raise SystemExit("error: the tests fail without any mutant")
    limit = 20 + 10 * (time.monotonic() - began)
    return list(found), lambda mutant: rust.survives(binary, mutant, tests or [rust.module(mutant.file)], limit)


def _python(files: list[str], tests: list[str]) -> tuple[list[Any], Callable[[Any], bool]]:
    found = [mutant for file in files for mutant in python.mutants(file)]
    began = time.monotonic()
    if not python.survives(None, tests, 3600):
        raise SystemExit("error: the tests fail without any mutant")
    limit = 20 + 10 * (time.monotonic() - began)
    return list(found), lambda mutant: python.survives(mutant, tests, limit)


def main() -> int:
    """Try them all and print the survivors."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("files", nargs="+", help="source files, all Rust of one crate or all Python")
    parser.add_argument("--tests", nargs="+", default=[], help="names of Rust tests, or files of Python tests")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn at random")
    given = parser.parse_args()
    found, survives = (_rust if given.files[0].endswith(".rs") else _python)(given.files, given.tests)
    if given.sample is not None and given.sample < len(found):
        found = random.Random(1).sample(found, given.sample)
    survivors = 0
    for mutant in found:
        if survives(mutant):
            survivors += 1
            print(f"{mutant.file}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)  # noqa: T201
    print(f"{len(found)} mutants, {len(found) - survivors} noticed, {survivors} survive")  # noqa: T201
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
