"""Files and directories that are there whole or not at all, whoever else writes and however a process ends.

Every command loads this module, so what only directories need is loaded when there is one.
"""

import contextlib
import errno
import fcntl
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from mptcplab.errors import Error

if TYPE_CHECKING:
    import polars as pl

_PART: Final = ".part"
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")

MOST_BYTES: Final = 64 << 20
"""Of a file that is read as a whole: more than any that somebody wrote or recorded on purpose."""


class TargetError(Error, ValueError):
    """Nothing can be written to this place."""


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something of this name, which may be too long, or have a null byte."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read(path: str | os.PathLike[str]) -> bytes:
    """All of a regular file of at most `MOST_BYTES`: a device or a pipe might have no end.

    Raises OSError, also for what is no such file and for a name that can be none.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a null byte, or half of a surrogate pair
        raise OSError(errno.EINVAL, f"{error} in the name", str(path)) from None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            kind = "a directory" if stat.S_ISDIR(about.st_mode) else "not a regular file"
            raise OSError(errno.EINVAL, kind, str(path))
        # What grows meanwhile, or has no size to tell, as in /proc, is bounded too.
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MiB", str(path))
    return content


def cache() -> Path:
    """The user's directory for what can be made again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mptcplab"


def check_target(path: Path, *, new: bool = False) -> None:
    """Raise TargetError where `written` could not write a file, before the work whose outcome it is to have."""
    place = path.resolve()
    if new and os.path.lexists(path):
        raise TargetError(f"{path}: exists already; expected a new file")
    if place.is_dir():
        raise TargetError(f"{path} is a directory; expected the name of a file")
    if not place.parent.is_dir():
        raise TargetError(f"{path}: there is no directory {place.parent}")
    if not os.access(place if place.exists() and not place.is_file() else place.parent, os.W_OK):
        raise TargetError(f"{path}: no permission to write there")


@contextmanager
def written(path: Path, *, new: bool = False, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` at the end; after an error what was there stays.

    With `private` a new file is for its owner only.

    Raises TargetError, also where `new` forbids that there is a file already, and OSError with the name of the file.
    """
    check_target(path, new=new)
    place = path.resolve()
    with named(path):
        if place.exists() and not place.is_file():  # a device or a pipe
            with place.open("wb") as opened:
                yield opened
            return
        draft = place.with_name(f".{place.name}.{os.getpid()}{_PART}")
        try:
            with _begun(draft, place, 0o600 if private else 0o666) as opened:
                yield opened
            if place.exists():
                draft.chmod(place.stat().st_mode & 0o777)
            if new:
                os.link(draft, place)
            else:
                draft.replace(place)
        except FileExistsError:
            raise TargetError(f"{path}: exists already; expected a new file") from None
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _begun(draft: Path, place: Path, mode: int) -> Iterator[BinaryIO]:
    """The draft of a file, opened; those that killed processes left there go first."""
    with held(place.parent):
        for left in place.parent.glob(f"{_literally(f'.{place.name}.')}*{_PART}"):
            _remove_abandoned(left)
        opened = os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb")
        fcntl.flock(opened, fcntl.LOCK_EX)
    with opened:
        yield opened


def write_parquet(frame: "pl.DataFrame", path: Path) -> None:
    """Write a frame; polars itself has errors without a file's name, or without the system's reason."""
    content = io.BytesIO()
    frame.write_parquet(content, statistics=True)
    with named(path):
        path.write_bytes(content.getbuffer())


@contextmanager
def named_by_core(directory: Path) -> Iterator[None]:
    """Give an error of the core that has the system's reason that reason's type, and the name `directory`."""
    try:
        yield
    except Error as error:
        number = _OS_ERROR.search(str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(directory)) from None


def with_file(error: OSError) -> str:
    """An error of the system with the file's name, where it has one."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def write_text(path: Path, text: str, *, new: bool = False) -> None:
    """Write a text as UTF-8, whole or not at all; see `written`."""
    with written(path, new=new) as file:
        file.write(text.encode())


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Give an OSError that names no file the name `path`: write() does not know which file it writes."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Nobody else holds `directory` meanwhile; waits for whoever does."""
    with _descriptor(directory) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextmanager
def beside(place: Path, what: str = _PART) -> Iterator[Path]:
    """A directory beside `place`, which goes at the end; those that killed processes left there go first."""
    import shutil
    import tempfile

    place.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{place.name}."
    with held(place.parent):
        for left in place.parent.glob(f"{_literally(prefix)}????????{what}"):
            _remove_abandoned(left)
        work = Path(tempfile.mkdtemp(prefix=prefix, suffix=what, dir=place.parent))
        descriptor = os.open(work, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A directory for temporary files, which goes at the end; those that killed processes left go first.

    They are this user's, and `name` begins the names of none but such directories.
    """
    import shutil
    import tempfile

    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{_literally(name)}????????"):
        with contextlib.suppress(OSError):
            if left.lstat().st_uid == os.geteuid():
                _remove_abandoned(left)
    while True:
        work = Path(tempfile.mkdtemp(prefix=name))
        # Before it is locked another process may take it for an abandoned one.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(work, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if work.exists():
                break
            os.close(descriptor)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(descriptor)


def exchange(fresh: Path, place: Path) -> None:
    """Put `fresh` in the place of `place`, and what is there in that of `fresh`, at once where the file system can."""
    import ctypes

    if not os.path.lexists(place):
        fresh.rename(place)
        return
    try:
        # Not by name where the libc is older than glibc 2.28.
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        code = errno.ENOSYS
    else:
        done = rename(_AT_FDCWD, os.fsencode(fresh), _AT_FDCWD, os.fsencode(place), _RENAME_EXCHANGE)
        code = ctypes.get_errno() if done else 0
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        old = fresh.with_name(f"{fresh.name}.old")
        place.rename(old)
        try:
            fresh.rename(place)
        except OSError:
            old.rename(place)
            raise
        old.rename(fresh)
    elif code:
        raise OSError(code, os.strerror(code), str(place))


def _remove_abandoned(work: Path) -> None:
    """Remove what `beside` or `written` made and no process holds any more."""
    with contextlib.suppress(OSError), _descriptor(work) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if work.is_dir():
            import shutil

            shutil.rmtree(work, ignore_errors=True)
        else:
            work.unlink()


@contextmanager
def _descriptor(place: Path) -> Iterator[int]:
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _literally(text: str) -> str:
    """A text that a pattern of glob matches only as it stands."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)
