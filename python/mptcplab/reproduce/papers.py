"""The papers that there are, and their studies, loaded by path: the folders stand outside of the package."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

from mptcplab.errors import Error
from mptcplab.reproduce import causes, machine, published
from mptcplab.reproduce.context import Context
from mptcplab.reproduce.machine import Machine
from mptcplab.reproduce.outcome import Outcome
from mptcplab.reproduce.published import Published
from mptcplab.scenario.errors import did_you_mean, one_of, show
from mptcplab.shipped import papers_directory

_PACKAGE: Final = "mptcplab_papers"


class PaperError(Error):
    """There is no such paper, or no such item of it."""


@dataclass(frozen=True)
class Paper:
    """A paper and its study."""

    name: str
    directory: Path
    published: Published
    items: Mapping[str, Callable[[Context], Outcome]]
    """By the ids of the published items, in the order of `published.toml`."""
    engines: tuple[str, ...] = ("sim",)
    """What it can be repeated on; the study's ENGINES."""
    machine: Machine = field(default_factory=Machine)
    """What the work ran on."""

    def literals(self) -> frozenset[str]:
        """The sentences of the study that have numbers (`causes.literals`)."""
        return causes.literals(self.directory / "study")

    def require(self, engine: str) -> None:
        """Raise PaperError unless the study runs on this engine."""
        if engine not in self.engines:
            raise PaperError(f"{self.name} is not repeated on {show(engine)}, but on {one_of(self.engines)}")

    def choose(self, ids: tuple[str, ...]) -> dict[str, Callable[[Context], Outcome]]:
        """The items of these ids, or all; raises PaperError."""
        for each in ids:
            if each not in self.items:
                hint = did_you_mean(each, self.items)
                raise PaperError(
                    f"{self.name} has no item {show(each)}; it has {one_of([show(name) for name in self.items])}{hint}"
                )
        return {name: study for name, study in self.items.items() if not ids or name in ids}


def paper_names() -> list[str]:
    """The papers that there are."""
    place = papers_directory()
    return [] if place is None else sorted(file.parent.name for file in place.glob("*/published.toml"))


def load_paper(name: str) -> Paper:
    """Load a paper and its study. Raises PaperError, PublishedError, MachineError."""
    place = papers_directory()
    names = paper_names()
    if place is None or name not in names:
        have = f"choose {one_of(names)}" if names else "this installation has no papers"
        raise PaperError(f"there is no paper {show(name)}; {have}{did_you_mean(name, names)}")
    directory = place / name
    printed = published.read(directory / "published.toml")
    study = _study(name, directory / "study")
    items: Mapping[str, Callable[[Context], Outcome]] = study.ITEMS
    unpublished = sorted(items.keys() - printed.items.keys())
    missing = sorted(printed.items.keys() - items.keys())
    if unpublished or missing:
        raise PaperError(
            f"{directory}: study and published.toml disagree: "
            + "; ".join(
                text
                for names, text in (
                    (unpublished, f"only the study has {', '.join(unpublished)}"),
                    (missing, f"only published.toml has {', '.join(missing)}"),
                )
                if names
            )
        )
    engines = tuple(getattr(study, "ENGINES", ("sim",)))
    ran_on = machine.read(directory / machine.FILE)
    return Paper(name, directory, printed, {each: items[each] for each in printed.items}, engines, ran_on)


def _study(name: str, directory: Path) -> ModuleType:
    """The package `study` of a paper as `mptcplab_papers.NAME`; relative imports within it work."""
    if _PACKAGE not in sys.modules:
        parent = ModuleType(_PACKAGE, "The studies of papers, loaded by path.")
        parent.__path__ = []
        sys.modules[_PACKAGE] = parent
    full = f"{_PACKAGE}.{name.replace('-', '_')}"
    if full in sys.modules:
        return sys.modules[full]
    spec = importlib.util.spec_from_file_location(
        full, directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    if spec is None or spec.loader is None or not (directory / "__init__.py").is_file():
        raise PaperError(f"{directory} has no study (no __init__.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[full]
        raise
    return module
