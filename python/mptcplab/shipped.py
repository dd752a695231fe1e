"""Files that come with the package: the ready-made scenarios and the papers, of the checkout or of the wheel."""

from pathlib import Path


def checkout() -> Path | None:
    """Root of the checkout that this package is imported from; None when it is installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "crates").is_dir() else None


def scenario_directory() -> Path | None:
    """Where the ready-made scenario files are; None when neither checkout nor package has them."""
    return _beside("scenarios")


def papers_directory() -> Path | None:
    """Where the papers' folders are; None when neither checkout nor package has them."""
    return _beside("papers")


def _beside(name: str) -> Path | None:
    root = checkout()
    places = [] if root is None else [root / name]
    places.append(Path(__file__).parent / name)
    return next((place for place in places if place.is_dir()), None)
