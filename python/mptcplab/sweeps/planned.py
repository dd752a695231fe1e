"""One run of many: what a worker needs for it, and the name that tells it from every other run.

The name is the hash of the complete scenario, the seed, the engine and the version of what computes. For the engine
`sim` the complete scenario is the description that the core reads; for others it is the canonical text.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core
from mptcplab.engines.catalogue import find
from mptcplab.scenario.load import once

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

_SEED: Final = "\x00the seed\x00"
"""Stands for the seed while a task is described; no text of a scenario has a NUL."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that is to be carried out, or was."""

    name: str
    """64 hexadecimal digits; runs of the same name are the same run."""
    engine: str
    seed: int
    duration_s: float
    """What it simulates."""
    around_seed: tuple[str, ...]
    """The task's text before, between and after the places of its seed: the same for all seeds of a scenario, so that a
    million runs do not take the memory of a million texts."""

    @property
    def task(self) -> str:
        """JSON, one line: what `worker.execute` takes."""
        return str(self.seed).join(self.around_seed)


def plan(scenario: "Scenario", seed: int, *, engine: str = "sim", samples: bool = False) -> Planned:
    """Plan one run of a scenario that the engine supports; without `samples` its time series are not even taken.

    Raises mptcplab.scenario.UnsupportedError for what the simulator cannot do.
    """
    return plans(scenario, engine=engine, samples=samples)(seed)


def plans(scenario: "Scenario", *, engine: str = "sim", samples: bool = False) -> Callable[[int], Planned]:
    """`plan` for one seed after another, which keeps of the scenario no more than it needs.

    Raises mptcplab.scenario.UnsupportedError for what the simulator cannot do.
    """
    version = code_version(engine)
    duration_s = scenario.duration_ns / 1e9

    def with_task(seed: int, around_seed: tuple[str, ...]) -> Planned:
        task = str(seed).join(around_seed)
        name = hashlib.sha256(f"{version}\n{task}".encode()).hexdigest()
        return Planned(name, engine, seed, duration_s, around_seed)

    def make(seed: int = scenario.seed) -> tuple[str, ...]:
        return _around_seed(scenario, seed, engine, samples)

    if engine != "sim":  # their scenario has the seed of its file
        described = make()
    elif scenario.document.is_drawn:
        return lambda seed: with_task(seed, make(seed))  # what is drawn from the seed is drawn anew for each
    else:
        described = once(scenario, f"task{' with samples' if samples else ''}", make)
    return lambda seed: with_task(seed, described)


def _around_seed(scenario: "Scenario", seed: int, engine: str, samples: bool) -> tuple[str, ...]:
    """The text of the task of one run, split at the places of its seed."""
    what: dict[str, Any]
    if engine == "sim":
        what = {"description": scenario.description(seed=seed) | {"seed": _SEED}}
        if not samples:
            what["description"]["sample_ns"] = None
    else:
        what = {"scenario": _with_the_kernels_scheduler(scenario, engine).to_toml()}
    if scenario.document.plugins:
        from mptcplab.plugins import running  # for scenarios that have some

        # With the text of its file, so that a run of other code has another name.
        what["plugins"] = running.described(scenario.document)
    task = {"engine": engine, "seed": _SEED, "samples": samples, **what}
    text = json.dumps(task, separators=(",", ":"), ensure_ascii=False)
    return tuple(text.split(json.dumps(_SEED)))


def _with_the_kernels_scheduler(scenario: "Scenario", engine: str) -> "Scenario":
    """A complete text names the default scheduler, which the kernel lacks; one that nobody named is the kernel's."""
    if not engine.startswith("linux"):
        return scenario
    own = {
        f"connection.{name}.scheduler": "linux"
        for name, connection in scenario.document.connections.items()
        if connection.protocol == "mptcp" and "scheduler" not in connection.model_fields_set
    }
    return scenario.with_(own) if own else scenario


def code_version(engine: str) -> str:
    """What tells versions of an engine apart: version, the core's sources and, but for `sim`, those in Python; of a
    guest its kernel too.
    """
    if engine.startswith("linux-virtual"):
        from mptcplab import kernels

        return f"{_code_version(engine)} {kernels.find(find(engine).arguments.get('kernel')).key}"
    return _code_version(engine)


@cache
def _code_version(engine: str) -> str:
    core = _core.build_sources() or _core.build_commit() or "unknown sources"
    version = f"{_core.version()} {core}"
    return version if engine == "sim" else f"{version} {_python_digest()}"


@cache
def _python_digest() -> str:
    """SHA-256 of the package's Python sources."""
    whole = hashlib.sha256()
    waiting = [(files("mptcplab"), "mptcplab")]
    found = []
    while waiting:
        place, name = waiting.pop()
        for entry in place.iterdir():
            if entry.is_dir():
                waiting.append((entry, f"{name}/{entry.name}"))
            elif entry.name.endswith(".py"):
                found.append((f"{name}/{entry.name}", entry.read_bytes()))
    for name, content in sorted(found):
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()
