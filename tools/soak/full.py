"""Each command that writes meets a full disk: it says which file, and what was there stays."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from tools.soak.kill import whole
from tools.soak.writers import WRITERS, Writer, call, prepare, quietly, state

PARTS: Final = (0.0, 0.3, 0.6, 0.9)
"""Of what the command writes, so much finds room."""
_PAGE: Final = 4096


def fill(name: str, place: Path, parts: Sequence[float] = PARTS) -> Iterator[str]:
    """Run the command on disks with room for these parts of what it writes; what it said each time.

    Raises AssertionError.
    """
    writer = WRITERS[name]
    whole(place, partial(prepare, place))
    with _disk(place / "disk", 64 << 20) as disk:
        whole(place, partial(call, writer, disk / "target", "new"))
        needs = _used(disk)
    for part in parts:
        with _disk(place / "disk", 64 << 20) as disk:
            out = disk / "target"
            if writer.target == "replaced":
                whole(place, partial(call, writer, out, "old"))
            before = state(out)
            room = int(needs * part) // _PAGE * _PAGE
            filler = disk / "filler"
            filler.touch()
            about = os.statvfs(disk)
            with filler.open("wb") as opened:
                os.posix_fallocate(opened.fileno(), 0, about.f_bavail * about.f_frsize - room)
            _, status = os.waitpid(quietly(place / "log", partial(call, writer, out, "new")), 0)
            said = (place / "log").read_text(encoding="utf-8")
            if status != 0 or part < PARTS[-1]:
                _check(writer, os.waitstatus_to_exitcode(status), said, disk)
                yield next(line for line in said.splitlines() if line.startswith("error: "))
                if writer.target != "resumed":
                    assert state(out) == before
                    assert {entry.name for entry in disk.iterdir()} <= {"target", "filler"}
            filler.unlink()
            if writer.target == "resumed":
                whole(place, partial(call, writer, out, "new", *writer.again.split()))


def _check(writer: Writer, status: int, said: str, disk: Path) -> None:
    """The status and the words for a full disk."""
    assert status == 1, f"status {status}: {said}"
    assert "Traceback" not in said, said
    assert "No space left on device" in said, said
    assert f"{disk}/" in said, said
    assert writer.target != "resumed" or "resume" in said, said


@contextmanager
def _disk(place: Path, size: int) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _used(disk: Path) -> int:
    about = os.statvfs(disk)
    return (about.f_blocks - about.f_bfree) * about.f_frsize
