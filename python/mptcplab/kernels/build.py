"""Builds a guest's kernel out of its tree, and puts it into the cache."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from mptcplab import machine
from mptcplab.errors import BusyError, Error
from mptcplab.kernels import clock, configure, controls, store
from mptcplab.kernels.store import Kernel
from mptcplab.kernels.tree import Sources, TreeError, check, check_multipath, digest, sources, version

_STEP: Final = re.compile(r"^  [A-Z]+ ")
_STEPS: Final = 1560
"""Lines that a whole build of 6.12 prints; others are near enough for an estimate."""
_LAST_LINES: Final = 15
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class BuildError(Error, RuntimeError):
    """The kernel could not be built; the message has the last lines of what make said."""


def requirements() -> tuple[machine.Finding, ...]:
    """What building takes."""
    header = Path("/usr/include/libelf.h")
    libelf = machine.Finding(
        "libelf's headers",
        header.exists(),
        "present" if header.exists() else "not found",
        None if header.exists() else "install them, on Debian: apt-get install libelf-dev",
        # Only trees that check their own objects, which User-Mode Linux of most versions does not.
        optional=True,
    )
    tools = (("gcc", "gcc"), ("make", "make"), ("flex", "flex"), ("bison", "bison"), ("bc", "bc"))
    return (*(machine.tool(name, package) for name, package in tools), libelf)


def build(
    what: str,
    *,
    name: str | None = None,
    hz: int = configure.HZ,
    with_controls: Iterable[str] = (),
    selftests: bool = False,
    jobs: int | None = None,
    directory: Path | None = None,
    rename: bool = True,
    tell: Callable[[str], None] = lambda _: None,
    progress: Callable[[float], None] = lambda _: None,
) -> Kernel:
    """Build the kernel of a tree or of a Debian version, unless the cache has it; the tree is only read.

    `directory` is where make works (its `O=`), kept for the next build; without one a developer's tree has its own in
    the cache and a package's goes when it is done. Without `rename` a kernel that is there keeps its
    name. `with_controls` are names of controls that are compiled in, `selftests` adds what the kernel's own tests need.

    Raises TreeError, BuildError, and EngineUnavailableError when tools are missing.
    """
    if name is not None and not _PLAIN_NAME.fullmatch(name):
        raise TreeError(f"--name: found the name {name!r}; expected letters, digits and . _ + -, such as my-tree")
    try:
        names = controls.chosen(with_controls)
    except ValueError as error:
        raise TreeError(str(error)) from None
    check(what)
    machine.require("building a kernel", requirements())
    with ExitStack() as stack:
        found = sources(what, stack, tell)
        called = name or (f"{found.name}-selftests" if selftests else found.name)
        fragment = configure.fragment(selftests=selftests)
        compiled_in = controls.digests(names)
        key = _key(found, hz, compiled_in, fragment)
        have = store.at(key)
        if have is not None:
            tell(f"already built: {have.key[: store.DIGITS]}")
            return have if have.name == called or not rename else store.rename(have, called)
        tree = found.unpack(stack, tell)
        check_multipath(tree)
        lacking = controls.lacking(tree, names)
        if lacking:
            raise TreeError(lacking)
        place = directory or _own_directory(found, stack)
        place.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_alone(place))
        tell(f"building {version(tree)} in {place}")
        _make(tree, place, hz, names, fragment, jobs or os.cpu_count() or 1, progress)
        if found.directory is not None and digest(found.directory) != found.sha256:
            raise BuildError(
                f"{found.directory} was changed while it was built: build it again, in another --build-dir or after "
                f"removing {place}, where objects are newer than their sources are now"
            )
        config = place / ".config"
        _check(config, hz, names)
        kernel = Kernel(
            name=called,
            key=key,
            version=version(tree),
            tree=found.label,
            tree_sha256=found.sha256,
            config_sha256=sha256(config.read_bytes()).hexdigest(),
            hz=hz,
            controls=compiled_in,
            compiler=_compiler(),
            place=store.cache() / key[: store.DIGITS],
        )
        store.keep(kernel, place / "linux", config)
        return kernel


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Raise BusyError where another build is at work in this directory; two would mix their objects."""
    with (place / "mptcplab.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(f"{place} is in use by another build; wait for it, or name another --build-dir") from None
        yield


def _key(found: Sources, hz: int, compiled_in: Mapping[str, str], fragment: str) -> str:
    parts = {
        "tree": found.sha256,
        "fragment": fragment,
        "hz": hz,
        "controls": dict(sorted(compiled_in.items())),
        "clock": clock.digest(),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _own_directory(found: Sources, stack: ExitStack) -> Path:
    if found.directory is not None:
        # The next build of a changed tree takes seconds with it.
        return store.cache() / "trees" / sha256(str(found.directory).encode()).hexdigest()[: store.DIGITS]
    store.cache().mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=".build-", dir=store.cache()))
    stack.callback(shutil.rmtree, place, ignore_errors=True)
    return place


def _make(
    tree: Path,
    place: Path,
    hz: int,
    names: Sequence[str],
    fragment: str,
    jobs: int,
    progress: Callable[[float], None],
) -> None:
    top = place / "Kconfig.mptcplab"
    text = configure.top(tree, hz)
    if not top.exists() or top.read_text(encoding="utf-8") != text:
        top.write_text(text, encoding="utf-8")
    arguments = ["make", "-C", str(tree), f"O={place.resolve()}", "ARCH=um", f"-j{jobs}"]
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "KCONFIG_CONFIG")},
        "KBUILD_KCONFIG": str(top.resolve()),
        "LC_ALL": "C",
        # The version string enters the guest's random numbers: equal trees have equal ones.
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
        "KBUILD_BUILD_VERSION": "1",
        "KBUILD_BUILD_USER": "mptcplab",
        "KBUILD_BUILD_HOST": "guest",
    }
    # What is left of an earlier build is not made again, and nobody knows how much that is.
    begun = (place / "linux").exists()
    log = place / "mptcplab.log"
    with log.open("wb") as file:
        _run([*arguments, "defconfig"], environment, file, lambda: None)
        with (place / ".config").open("a", encoding="utf-8") as config:
            config.write(fragment)
        _run([*arguments, "olddefconfig"], environment, file, lambda: None)
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            if not begun:
                progress(min(done / _STEPS, 0.99))

        _run([*arguments, *clock.arguments(), *controls.arguments(place, names), "linux"], environment, file, step)
    progress(1.0)


def _run(command: list[str], environment: Mapping[str, str], log: BinaryIO, step: Callable[[], None]) -> None:
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=dict(environment),
        start_new_session=True,
    ) as made:
        assert made.stdout is not None, "a pipe was asked for"
        try:
            for line in made.stdout:
                log.write(line.encode())
                last.append(line.rstrip())
                if _STEP.match(line):
                    step()
            status = made.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(made.pid, signal.SIGTERM)
            raise
    if status != 0:
        raise BuildError("\n".join([f"{' '.join(command)} ended with status {status}:", *last]))


def _check(config: Path, hz: int, names: Sequence[str]) -> None:
    """What was asked for and is not there would show much later, and worse."""
    text = config.read_text(encoding="utf-8")
    wanted = (
        "CONFIG_UML_TIME_TRAVEL_SUPPORT=y",
        "CONFIG_MPTCP=y",
        "CONFIG_TUN=y",
        "CONFIG_HOSTFS=y",
        f"CONFIG_HZ={hz}",
        *controls.needed(names),
    )
    lacking = [line for line in wanted if f"\n{line}\n" not in text]
    if lacking:
        raise BuildError(f"the tree lacks options that a guest needs: {', '.join(lacking)} is not in {config}")


def _compiler() -> str:
    done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or ["gcc"])[0].strip()
