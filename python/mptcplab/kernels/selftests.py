"""The kernel's own tests of Multipath TCP, made ready for a guest: scripts and compiled programs of a tree.

They are read from the tree that a kernel was built from (tools/testing/selftests/net/mptcp), compiled against that
tree's headers, and kept in the cache by the hash of the tree.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from mptcplab import machine
from mptcplab.kernels import store
from mptcplab.kernels.build import BuildError
from mptcplab.kernels.store import Kernel
from mptcplab.kernels.tree import Sources, TreeError, sources

_HOME: Final = "tools/testing/selftests/net"
_OWN: Final = "mptcp"
_SHARED: Final = ("lib.sh", "net_helper.sh", "lib")
"""What the scripts read of the directory above them, as far as the tree has it."""
_OF_DEBIAN: Final = " of Debian"


def requirements() -> tuple[machine.Finding, ...]:
    """What the tests call; without the optional ones some of them are skipped."""
    needed = (("gcc", "gcc"), ("make", "make"), ("bash", "bash"), ("ip", "iproute2"), ("ss", "iproute2"))
    extra = (
        ("tc", "iproute2"),
        ("nstat", "iproute2"),
        ("iptables", "iptables"),
        ("ip6tables", "iptables"),
        ("nft", "nftables"),
        ("ethtool", "ethtool"),
        ("ping", "iputils-ping"),
    )
    return (
        *(machine.tool(name, package) for name, package in needed),
        *(machine.tool(name, package, optional=True) for name, package in extra),
    )


def prepared(kernel: Kernel, tree: str | None, tell: Callable[[str], None]) -> Path:
    """The directory with the scripts and programs: of the tree that the kernel was built from, or of `tree`.

    Raises TreeError, BuildError, and EngineUnavailableError when tools are missing.
    """
    machine.require("the kernel's own tests", requirements())
    with ExitStack() as stack:
        found = sources(tree or _origin(kernel), stack, tell)
        if tree is None and found.sha256 != kernel.tree_sha256:
            tell(f"{found.label} has changed since {kernel.name} was built from it: the tests are the current ones")
        place = store.cache() / "selftests" / found.sha256[: store.DIGITS]
        if not place.exists():
            _make(found, place, stack, tell)
        return place / _OWN


def _origin(kernel: Kernel) -> str:
    """What `sources` is to be asked for."""
    if kernel.tree.endswith(_OF_DEBIAN):
        return kernel.tree.removesuffix(_OF_DEBIAN).removeprefix("linux-source-")
    return kernel.tree


def _make(found: Sources, place: Path, stack: ExitStack, tell: Callable[[str], None]) -> None:
    tree = found.unpack(stack, tell)
    home = tree / _HOME
    if not (home / _OWN).is_dir():
        raise TreeError(f"{found.label} has no tests of Multipath TCP ({_HOME}/{_OWN})")
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    stack.callback(shutil.rmtree, draft, ignore_errors=True)
    shutil.copytree(home / _OWN, draft / _OWN)
    for name in _SHARED:
        if (home / name).is_dir():
            shutil.copytree(home / name, draft / name, symlinks=True)
        elif (home / name).exists():
            shutil.copy2(home / name, draft / name)
    headers = Path(tempfile.mkdtemp(prefix=".headers-", dir=place.parent))
    stack.callback(shutil.rmtree, headers, ignore_errors=True)
    tell("compiling the tests' programs")
    _run(["make", "-C", str(tree), f"O={headers}", "-s", f"-j{os.cpu_count() or 1}", "headers"])
    for source in sorted((draft / _OWN).glob("*.c")):
        include = ("-isystem", str(headers / "usr/include"))
        _run(["gcc", "-O2", "-D_GNU_SOURCE", *include, str(source), "-o", str(source.with_suffix(""))])
    draft.chmod(0o755)
    draft.rename(place)


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "ARCH")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-10:]
        raise BuildError("\n".join([f"{' '.join(command)} ended with status {done.returncode}:", *last]))
