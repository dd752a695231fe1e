"""Files that come with the package: ready-made scenarios, papers, cases, and cases of conformance.

In a checkout the package has symbolic links to the folders at the root; a wheel holds copies of what they lead to.
"""

import re
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def checkout() -> Path | None:
    """Root of the checkout that this package is imported from; None when it is installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "crates").is_dir() else None


def scenario_directory() -> Path | None:
    """Where the ready-made scenario files are; None when the package was built without them."""
    return _inside("scenarios")


def papers_directory() -> Path | None:
    """Where the papers' folders are; None when the package was built without them."""
    return _inside("papers")


def conformance_directory() -> Path | None:
    """Where the cases of conformance are; None when the package was built without them."""
    return _inside("conformance")


def cases_directory() -> Path | None:
    """Where the book of cases is; None when the package was built without it."""
    return _inside("cases")


def scenario_names() -> list[str]:
    """The names of the ready-made scenarios, sorted."""
    place = scenario_directory()
    return [] if place is None else sorted(file.stem for file in place.glob("*.toml"))


def paper_names() -> list[str]:
    """The names of the papers, sorted."""
    place = papers_directory()
    return [] if place is None else sorted(file.parent.name for file in place.glob("*/published.toml"))


def scenario_file(name: str) -> Path | None:
    """The file of the ready-made scenario of this name; None when there is no such scenario."""
    place = scenario_directory()
    return None if place is None or name not in scenario_names() else place / f"{name}.toml"


def sweep_names() -> list[str]:
    """The names of the ready-made sweep files, sorted."""
    place = scenario_directory()
    return [] if place is None else sorted(file.stem for file in place.glob("sweeps/*.toml"))


def sweep_file(name: str) -> Path | None:
    """The ready-made sweep file of this name; None when there is no such file."""
    place = scenario_directory()
    return None if place is None or name not in sweep_names() else place / "sweeps" / f"{name}.toml"


def is_name(text: str) -> bool:
    """Whether this can be the name of a ready-made scenario or sweep; a path with a directory or an ending cannot."""
    return _NAME.fullmatch(text) is not None


def _inside(name: str) -> Path | None:
    place = (_PACKAGE / name).resolve()
    return place if place.is_dir() else None
