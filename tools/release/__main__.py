"""Make a release: `python -m tools.release VERSION`; a dry run unless `--tag` is given.

Checks that the checkout is clean and that every place that names the version names this one, builds the wheel and the
source distribution, installs both in empty environments, and writes the notes from CHANGELOG.md to target/release.
With `--tag` it then makes the annotated tag vVERSION. It uploads and pushes nothing.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


class NotReadyError(Exception):
    """Something has to be done before this version can be released."""


def notes(changelog: str, version: str) -> str:
    """What CHANGELOG.md says of a version; raises NotReadyError where it says nothing."""
    section = re.search(
        rf"^## {re.escape(version)}(?P<rest>[^\n]*)\n(?P<body>.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if section is None or not section["body"].strip():
        raise NotReadyError(f"CHANGELOG.md has no section {version}, or an empty one")
    return section["body"].strip() + "\n"


def released(root: Path, version: str) -> str | None:
    """The day that CHANGELOG.md gives in the heading of a version; None where it has none."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    return dated[1] if dated else None


def versions(root: Path) -> dict[str, str]:
    """The version as each file has it."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    workspace = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    citation = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return {"pyproject.toml": project, "Cargo.toml": workspace, "CITATION.cff": citation[1] if citation else "none"}


def problems(root: Path, version: str) -> list[str]:
    """What stands in the way of a tag, one sentence each."""
    found = [f"{file} has version {has}, not {version}" for file, has in versions(root).items() if has != version]
    day = released(root, version)
    if day is None:
        found.append(f'CHANGELOG.md needs the heading "## {version} (YYYY-MM-DD)"')
    elif f"date-released: {day}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff needs the line date-released: {day}, as CHANGELOG.md has it")
    if _git(root, "status", "--porcelain"):
        found.append("the checkout has changes that are not committed")
    if _git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists")
    return found


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the version is ready (and tagged, with `--tag`)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--tag", action="store_true", help="make the tag; without it nothing is changed in git")
    parser.add_argument("--no-build", action="store_true", help="only the notes and the checks of the checkout")
    chosen = parser.parse_args(arguments)
    place = ROOT / "target" / "release-notes"
    try:
        text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), chosen.version)
    except NotReadyError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{chosen.version}.md").write_text(text, encoding="utf-8")
    sys.stdout.write(f"notes: {place / f'{chosen.version}.md'}\n")
    found = problems(ROOT, chosen.version)
    for obstacle in found:
        sys.stdout.write(f"not ready: {obstacle}\n")
    if found and chosen.tag:
        return 1
    if not chosen.no_build:
        subprocess.run(["make", "check-install"], cwd=ROOT, check=True)
    if chosen.tag:
        _git(ROOT, "tag", "--annotate", f"v{chosen.version}", "--file", str(place / f"{chosen.version}.md"))
        sys.stdout.write(f"tagged v{chosen.version}; push it and upload target/wheels by hand\n")
    else:
        sys.stdout.write("dry run: no tag made\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
