"""Mutants of Python: each in a process of its own, forked from one that has loaded what the tests need."""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

from tools.mutation.operators import mutations

_BEFORE_THE_FORK: Final = ("asyncio", "numpy", "polars", "pydantic", "scipy.optimize")
"""What most tests load: once instead of for each mutant."""
ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    file: str
    line: int
    before: str
    after: str
    text: str
    """The whole module, changed."""

    @property
    def module(self) -> str:
        """Its name."""
        return self.file.removeprefix("python/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def mutants(file: str) -> Iterator[Mutant]:
    """Those of a module that compile."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for begin, end, other in mutations(text):
        changed = text[:begin] + other + text[end:]
        line = text.count("\n", 0, begin) + 1
        try:
            compile(changed, file, "exec")
        except SyntaxError:
            continue
        yield Mutant(file, line, text.splitlines()[line - 1].strip(), changed.splitlines()[line - 1].strip(), changed)


class _Changed(importlib.abc.MetaPathFinder):
    """Finds the mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """The mutant's module only."""
        if fullname != self._mutant.module:
            return None
        return importlib.util.spec_from_file_location(
            fullname, ROOT / self._mutant.file, loader=_Text(self._mutant.module, self._mutant)
        )


class _Text(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, mutant: Mutant) -> None:
        super().__init__(name, str(ROOT / mutant.file))
        self._text = mutant.text

    def get_code(self, fullname: str) -> CodeType:
        """The changed text, never a cached one."""
        return compile(self._text, self.get_filename(fullname), "exec")


def survives(mutant: Mutant | None, tests: Sequence[str], seconds: float) -> bool:
    """Whether the tests pass with it (without any for None); one that takes longer than `seconds` does not survive."""
    import pytest

    for name in _BEFORE_THE_FORK:
        importlib.import_module(name)

    child = os.fork()
    if child == 0:
        with open(os.devnull, "w") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        if mutant is not None:
            sys.meta_path.insert(0, _Changed(mutant))
            # What was loaded before the fork knows the unchanged module. The core cannot be loaded twice.
            for name in [each for each in sys.modules if each.partition(".")[0] == "mptcplab"]:
                if name != "mptcplab._core":
                    del sys.modules[name]
        os._exit(int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests])))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
