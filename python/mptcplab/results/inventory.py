"""The list of the files that a command wrote into a directory, so that it never removes what it did not write.

`files.sha256` has the format of `sha256sum`: `sha256sum -c files.sha256` checks a directory.
"""

import hashlib
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mptcplab.errors import Error

FILE: Final = "files.sha256"
_SHOWN: Final = 3


class OccupiedError(Error):
    """The directory holds something else than what the command would replace."""


class NoListError(Error, ValueError):
    """The directory has no list of what was written into it."""


class DamagedError(Error, ValueError):
    """Files are not what was written."""


@dataclass(frozen=True)
class Compared:
    """The files of a directory beside its list."""

    listed: int
    changed: Sequence[str]
    missing: Sequence[str]
    added: Sequence[str]


def write(directory: Path, names: Iterable[str] | None = None, contents: Mapping[str, bytes] | None = None) -> None:
    """List files of `directory` with their digests: all, or those of `names`, and `contents`, which follow."""
    chosen = [name for name in (_files(directory) if names is None else names) if name != FILE]
    digests = [(name, _digest(directory / name)) for name in chosen]
    later = [(name, hashlib.sha256(content).hexdigest()) for name, content in (contents or {}).items()]
    _write(directory, [*digests, *later])


def compared(directory: Path) -> Compared:
    """What became of the files that were written. Raises NoListError."""
    listed = _listed(directory)
    if not listed:
        what = "is not a directory" if not directory.is_dir() else f"has no {FILE} that can be read"
        raise NoListError(f"{directory} {what}; expected a directory that run, sweep, analyze or advise wrote")
    missing = [name for name in listed if not os.path.lexists(directory / name)]
    added = [name for name in _files(directory) if name not in listed and name != FILE]
    return Compared(len(listed), changed(directory), missing, added)


def require(directory: Path, folders: Container[str], names: Iterable[str]) -> None:
    """Raise DamagedError unless the files `names`, and what was written into one of `folders`, are as written."""
    listed = _listed(directory)
    inside = [name for name in listed if name.partition("/")[0] in folders]
    unknown = [name for name in names if name not in listed]
    if unknown:
        raise DamagedError(f"{directory / FILE} does not list {shown(unknown)}")
    wrong = [name for name in (*names, *inside) if _digest(directory / name) not in listed[name]]
    if wrong:
        raise DamagedError(
            f"{shown(wrong)} {'is' if len(wrong) == 1 else 'are'} not what was written: "
            f"mptcplab verify {directory} compares all files"
        )


def check(directory: Path, what: str, key: str) -> None:
    """Raise OccupiedError unless `directory` may be replaced.

    That is: it is absent, empty, or `what` ("a result"), which has the file `key`, with no file added to it or changed
    since. Files that were removed since do not matter.
    """
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise OccupiedError(f"{directory} is not a directory; name another one")
    found = _files(directory)
    if not found:
        return
    listed = _listed(directory)
    if key not in listed:
        lacks = f"no {FILE} that lists {key}" if FILE in found else f"no {FILE}"
        raise OccupiedError(
            f"{directory} does not contain {what} ({lacks}), but {shown(found)}; move it or name another directory"
        )
    added = [name for name in found if name not in listed and name != FILE]
    if added:
        raise OccupiedError(
            f"{directory} contains files that are not part of {what}: {shown(added)}; "
            "move them or name another directory"
        )
    differ = changed(directory)
    if differ:
        raise OccupiedError(
            f"{directory} has been changed since it was written: {shown(differ)}; move it or name another directory"
        )


def changed(directory: Path) -> list[str]:
    """The listed files of `directory` that were changed since; those that were removed are not among them."""
    listed = _listed(directory)
    return [
        name for name in listed if os.path.lexists(directory / name) and _digest(directory / name) not in listed[name]
    ]


def overwrite(directory: Path, contents: Mapping[str, bytes]) -> None:
    """Write files, by their names, into `directory` beside what else is there, and list them.

    Raises OccupiedError, with nothing written, when a file of one of the names was not written by this function or has
    been changed since.
    """
    listed = _listed(directory)
    fresh = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    theirs = [
        name
        for name, digest in fresh.items()
        if os.path.lexists(directory / name) and _digest(directory / name) not in (*listed.get(name, ()), digest)
    ]
    if theirs:
        raise OccupiedError(f"{directory} has files that would be overwritten: {shown(theirs)}; move them")
    # Both the old and the new files are ours while the one replaces the other, which may be interrupted.
    after = {**{name: digests[-1] for name, digests in listed.items()}, **fresh}
    before = [(name, digest) for name, digests in listed.items() for digest in digests]
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory, sorted({*before, *after.items()}))
    for name, content in contents.items():
        place = directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(place.name + ".part")
        part.write_bytes(content)
        part.replace(place)
    _write(directory, sorted(after.items()))


def shown(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def _files(directory: Path) -> list[str]:
    """Every file under `directory`, links among them; nothing is behind a link. Raises OSError for a folder that cannot
    be read.
    """

    def fail(error: OSError) -> None:
        raise error

    found = []
    for place, folders, files in os.walk(directory, onerror=fail):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        found += [(Path(place) / name).relative_to(directory).as_posix() for name in (*files, *links)]
    return sorted(found)


def _listed(directory: Path) -> dict[str, list[str]]:
    """The digests by name; nothing where there is no list that can be read."""
    try:
        lines = (directory / FILE).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return {}
    listed: dict[str, list[str]] = {}
    for line in lines:
        digest, _, name = line.partition("  ")
        if name:
            listed.setdefault(name, []).append(digest)
    return listed


def _write(directory: Path, digests: Iterable[tuple[str, str]]) -> None:
    part = directory / f"{FILE}.part"
    part.write_text("".join(f"{digest}  {name}\n" for name, digest in digests), encoding="utf-8")
    part.replace(directory / FILE)


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
