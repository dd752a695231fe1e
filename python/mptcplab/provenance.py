"""Where a result comes from: versions, commit, scenario. No wall clock and no host name, so equal runs stay equal."""

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from mptcplab import _core, sources
from mptcplab.shipped import checkout

# What computes, or decides on the bytes of what is written.
_PACKAGES = ("altair", "numpy", "polars", "pydantic", "scipy", "vl-convert-python")
# What a result depends on in a checkout; a scenario or a note that is not committed does not make it dirty.
_SOURCES = ("crates", "python", "Cargo.toml", "Cargo.lock", "pyproject.toml")


@dataclass(frozen=True)
class Provenance:
    """What has to be known to get the same result again."""

    version: str
    commit: str | None
    """Commit of the checkout, or of the build; None when neither is known."""
    dirty: bool | None
    """Whether what runs differs from the commit: sources changed, or the core was built from others; None when there is
    no checkout to ask."""
    scenario_sha256: str
    engine: str
    seed: int
    repeat: int
    through_wire: bool
    python: str
    packages: dict[str, str]
    kernel: Mapping[str, Any] | None = None
    """Of the engine linux-virtual, the guest's kernel: version, hashes, HZ, controls."""

    def to_dict(self) -> dict[str, object]:
        """The object `provenance` of the JSON document."""
        return {name: value for name, value in asdict(self).items() if name != "kernel" or value is not None}


def collect(
    *,
    scenario_sha256: str,
    engine: str,
    seed: int,
    repeat: int,
    through_wire: bool,
    kernel: Mapping[str, Any] | None = None,
) -> Provenance:
    """Describe this program, as it stands, and what it is asked to run."""
    commit, dirty = source_state()
    return Provenance(
        version=_core.version(),
        commit=commit,
        dirty=dirty,
        scenario_sha256=scenario_sha256,
        engine=engine,
        seed=seed,
        repeat=repeat,
        through_wire=through_wire,
        python=platform.python_version(),
        packages=dict(_packages()),
        kernel=kernel,
    )


@cache
def _packages() -> dict[str, str]:
    # Reading the metadata takes longer than a short simulation.
    return {name: package_version(name) for name in _PACKAGES}


@cache
def source_state() -> tuple[str | None, bool | None]:
    """Commit, and whether the sources differ from it."""
    root = checkout()
    if root is not None and (root / ".git").exists():
        head = _git(root, "rev-parse", "HEAD")
        status = _git(root, "status", "--porcelain", "--", *_SOURCES)
        if head is not None and status is not None:
            return head, status != "" or not _core_is_current(root)
    return _core.build_commit(), None


def _core_is_current(root: Path) -> bool:
    """Whether the core was built from the checkout's sources; a build that was not told its sources counts as such."""
    return _core.build_sources() in (None, sources.digest(root))


def _git(root: Path, *arguments: str) -> str | None:
    # GIT_DIR and its like, set while a hook runs, would name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
