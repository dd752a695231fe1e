"""The cache of guest kernels: a directory for each, named by the hash of all that it is made of."""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from mptcplab import files, machine
from mptcplab.errors import UnknownEngineError

DIGITS: Final = 16
"""Of the hash, in the names of directories."""
_MANIFEST: Final = "kernel.json"


class UnknownKernelError(UnknownEngineError):
    """No guest kernel of that name is built."""


@dataclass(frozen=True)
class Kernel:
    """One kernel that is built."""

    name: str
    """What `--kernel` calls it."""
    key: str
    """SHA-256 of tree, configuration and controls."""
    version: str
    """As the tree says: `6.12.117`."""
    tree: str
    """Where its sources came from."""
    tree_sha256: str
    config_sha256: str
    hz: int
    controls: Mapping[str, str]
    """Coupled congestion controls that were compiled in, each with the SHA-256 of its sources."""
    compiler: str
    place: Path
    """Its directory."""

    @property
    def image(self) -> Path:
        """The program that is the kernel."""
        return self.place / "linux"

    @property
    def config(self) -> Path:
        """Its configuration."""
        return self.place / "config"

    def identity(self) -> dict[str, Any]:
        """What a result depends on, for its provenance."""
        return {
            "version": self.version,
            "sha256": self.key,
            "config_sha256": self.config_sha256,
            "hz": self.hz,
            "controls": dict(sorted(self.controls.items())),
            "compiler": self.compiler,
        }


def cache() -> Path:
    """Where all guest kernels of this user are."""
    return files.cache() / "kernels"


def kernels() -> list[Kernel]:
    """Every kernel that is built, by name."""
    found = []
    with contextlib.suppress(OSError):
        for manifest in cache().glob(f"*/{_MANIFEST}"):
            # One that another version wrote, or that is being removed, is not there.
            with contextlib.suppress(OSError, ValueError, TypeError):
                found.append(Kernel(**json.loads(manifest.read_text(encoding="utf-8")), place=manifest.parent))
    return sorted(found, key=lambda kernel: (kernel.name, kernel.key))


def find(name: str | None) -> Kernel:
    """The kernel of a name or of the first digits of a key; without a name the only one there is.

    Raises UnknownKernelError.
    """
    have = kernels()
    if not have:
        raise UnknownKernelError("no guest kernel is built: mptcplab kernel build 6.12 (about 10 minutes)")
    names = ", ".join(dict.fromkeys(kernel.name for kernel in have))
    if name is None:
        if len(have) > 1:
            raise UnknownKernelError(f"there are several guest kernels; choose with --kernel: {names}")
        return have[0]
    matches = [kernel for kernel in have if kernel.name == name]
    if not matches and len(name) >= 6:
        matches = [kernel for kernel in have if kernel.key.startswith(name)]
    if len(matches) != 1:
        raise UnknownKernelError(f"there is no guest kernel {name!r}; choose from {names}")
    return matches[0]


def finding() -> machine.Finding:
    """Is there any?"""
    have = kernels()
    what = "a guest's kernel"
    if not have:
        return machine.Finding(what, False, "none is built", "mptcplab kernel build 6.12 (about 10 minutes)")
    return machine.Finding(what, True, ", ".join(kernel.name for kernel in have))


def at(key: str) -> Kernel | None:
    """The kernel of a whole key, if it is built."""
    return next((kernel for kernel in kernels() if kernel.key == key), None)


def keep(kernel: Kernel, image: Path, config: Path) -> None:
    """Put a kernel into the cache at once; an older one of the same name goes."""
    kernel.place.parent.mkdir(parents=True, exist_ok=True)
    draft = kernel.place.with_name(f".{kernel.place.name}-{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    shutil.copy2(image, draft / "linux")
    shutil.copy2(config, draft / "config")
    _write(kernel, draft)
    files.exchange(draft, kernel.place)
    shutil.rmtree(draft, ignore_errors=True)
    _only(kernel)


def rename(kernel: Kernel, name: str) -> Kernel:
    """The same kernel by another name; an older one of that name goes."""
    fields = {**asdict(kernel), "name": name}
    renamed = Kernel(**fields)
    _write(renamed, renamed.place)
    _only(renamed)
    return renamed


def remove(kernel: Kernel) -> None:
    """Take a kernel out of the cache."""
    # Under another name first, so that nobody finds half of it.
    going = kernel.place.with_name(f".{kernel.place.name}-gone-{os.getpid()}")
    kernel.place.rename(going)
    shutil.rmtree(going, ignore_errors=True)


def _only(kernel: Kernel) -> None:
    for other in kernels():
        if other.name == kernel.name and other.key != kernel.key:
            remove(other)


def _write(kernel: Kernel, place: Path) -> None:
    fields = {key: value for key, value in asdict(kernel).items() if key != "place"}
    draft = place / f".{_MANIFEST}"
    draft.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(place / _MANIFEST)
