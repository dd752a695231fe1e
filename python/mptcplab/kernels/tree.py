"""Sources of Linux: a developer's tree or a package of Debian's, and a hash of what is in them."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

from mptcplab import files
from mptcplab.errors import Error
from mptcplab.kernels import store

PACKAGES: Final = Path("/usr/src")
"""Where Debian's packages put their sources."""
_VERSION: Final = re.compile(r"\d+\.\d+")
_MAKEFILE_VERSION: Final = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(.*)$", re.MULTILINE)


class TreeError(Error, ValueError):
    """There are no such sources, or they cannot be built as they are."""


@dataclass(frozen=True)
class Sources:
    """What a kernel is built from."""

    label: str
    """For the user: a path, or a package with its version."""
    name: str
    """The default name of the kernel."""
    directory: Path | None
    """A developer's tree; None for a package, which `unpack` unpacks."""
    archive: Path | None
    sha256: str

    def unpack(self, stack: ExitStack, tell: Callable[[str], None]) -> Path:
        """The directory of the sources; those of a package go with `stack`."""
        if self.directory is not None:
            return self.directory
        assert self.archive is not None, "one or the other"
        store.cache().mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".sources-", dir=store.cache()))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        tell(f"unpacking {self.archive.name}")
        with tarfile.open(self.archive) as archive:
            if hasattr(tarfile, "tar_filter"):
                archive.extractall(place, filter="tar")
            else:  # before Python 3.11.4
                archive.extractall(place)
        (directory,) = place.iterdir()
        return directory


def check(what: str) -> Path | None:
    """The directory that `what` means, or None for a version, such as 6.12. Raises TreeError where it is neither."""
    directory = Path(what)
    if _VERSION.fullmatch(what) and not directory.is_dir():
        return None
    if not directory.is_dir():
        raise TreeError(f"found {what!r}; expected a directory with Linux's sources, or a version such as 6.12")
    directory = directory.resolve()
    for name in ("Kconfig", "arch/um/Kconfig"):
        if not (directory / name).exists():
            raise TreeError(f"{directory}: not a Linux source tree (it has no {name})")
    if (directory / ".config").exists() or (directory / "include/config").exists():
        raise TreeError(
            f"{directory}: the tree was built in place, so it cannot be built in another directory; "
            "save .config, run make mrproper, and build in another directory (make O=DIR)"
        )
    return directory


def sources(what: str, stack: ExitStack, tell: Callable[[str], None]) -> Sources:
    """The sources that `what` means: a directory, or a version such as 6.12. What is fetched for it goes with `stack`.

    Raises TreeError.
    """
    directory = check(what)
    if directory is None:
        return _package(what, stack, tell)
    tell(f"reading {directory}")
    return Sources(str(directory), directory.name, directory, None, digest(directory))


def version(directory: Path) -> str:
    """What a tree calls itself, such as 6.12.117."""
    found: dict[str, str] = dict(
        _MAKEFILE_VERSION.findall((directory / "Makefile").read_text(encoding="utf-8", errors="replace"))
    )
    numbers = ".".join(found.get(part, "").strip() for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    return numbers + found.get("EXTRAVERSION", "").strip()


def check_multipath(directory: Path) -> None:
    """Raise TreeError where a tree has no Multipath TCP that the engine can use."""
    if (directory / "net/mptcp/protocol.c").exists():
        return
    found = f"{directory}: Linux {version(directory)} has no net/mptcp/protocol.c"
    if (directory / "net/mptcp").exists():
        raise TreeError(
            f"{found}: its Multipath TCP is the out-of-tree kernel's, which has other sockets and path managers; "
            "expected the one of Linux 5.6 and later"
        )
    raise TreeError(f"{found}: Multipath TCP is part of Linux 5.6 and later")


def digest(directory: Path) -> str:
    """SHA-256 of a tree's content: by git where it is a checkout, file by file elsewhere."""
    if (directory / ".git").exists() and (found := _git_digest(directory)) is not None:
        return found
    whole = sha256()
    for base, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = Path(base, name)
            whole.update(f"{path.relative_to(directory)}\0".encode(errors="surrogateescape"))
            if path.is_symlink():
                whole.update(os.fsencode(path.readlink()))
            elif path.is_file():
                with path.open("rb") as file:
                    whole.update(file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _git_digest(directory: Path) -> str | None:
    """The tree that a commit of everything would have; index and objects are written elsewhere, not to the checkout."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str, **variables: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**clean, **variables},
        )
        return done.stdout.strip()

    try:
        with files.scratch("mptcplab-tree-") as place:
            index, objects = Path(place, "index"), Path(place, "objects")
            objects.mkdir()
            # With the checkout's own index only what changed since is read.
            own = Path(git("rev-parse", "--absolute-git-dir")) / "index"
            if own.exists():
                shutil.copy2(own, index)
            common = Path(directory, git("rev-parse", "--git-common-dir")) / "objects"
            elsewhere = {
                "GIT_INDEX_FILE": str(index),
                "GIT_OBJECT_DIRECTORY": str(objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(common),
            }
            git("add", "--all", **elsewhere)
            return sha256(git("write-tree", **elsewhere).encode()).hexdigest()
    except (OSError, subprocess.CalledProcessError):
        return None


def _package(wanted: str, stack: ExitStack, tell: Callable[[str], None]) -> Sources:
    """Debian's package of a version: the installed one, or one that apt downloads, which needs no root."""
    name = f"linux-source-{wanted}"
    archive = PACKAGES / f"{name}.tar.xz"
    if not archive.exists():
        archive = _fetched(name, stack, tell)
    tell(f"reading {archive.name}")
    with archive.open("rb") as file:
        return Sources(f"{name} of Debian", wanted, None, archive, file_digest(file, "sha256").hexdigest())


def _fetched(name: str, stack: ExitStack, tell: Callable[[str], None]) -> Path:
    remedy = f"install it (on Debian: apt-get install {name}), or give the directory of a tree"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise TreeError(f"{PACKAGES / name}.tar.xz is not there: {remedy}")
    store.cache().mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".package-", dir=store.cache()))
    stack.callback(shutil.rmtree, place, ignore_errors=True)
    tell(f"fetching {name}")
    done = subprocess.run(["apt-get", "download", name], cwd=place, capture_output=True, text=True, check=False)
    packages = list(place.glob("*.deb"))
    if done.returncode != 0 or len(packages) != 1:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise TreeError(f"apt-get download {name}: {said}; {remedy}")
    subprocess.run(["dpkg-deb", "--extract", str(packages[0]), str(place)], check=True)
    return place / "usr/src" / f"{name}.tar.xz"
