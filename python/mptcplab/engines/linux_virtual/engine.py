"""Describes the scenario, lets a guest play it, and reports what came back: the host parses and reports."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from mptcplab import _core, files, kernels
from mptcplab.capture.settings import Capture
from mptcplab.engines.linux import engine as linux
from mptcplab.engines.linux_virtual.columns import unpack
from mptcplab.engines.linux_virtual.guest import boot, command
from mptcplab.engines.linux_virtual.refusals import unsupported
from mptcplab.errors import EngineUnavailableError
from mptcplab.results.result import Run
from mptcplab.scenario import UnsupportedError
from mptcplab.scenario.links import WAYS

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario

_PREFIX: Final = "mptcplab-guest-"


def run(
    scenario: "Scenario",
    *,
    seed: int,
    kernel: str | None = None,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
) -> Run:
    """Run one scenario in a guest, in virtual time; `seed` decides everything random in it.

    Raises UnsupportedError for what the kernel cannot do, UnknownKernelError, EngineUnavailableError when the guest's
    kernel refuses what it is asked, SimulationError when it fails on the way.
    """
    assert not through_wire, "refused before"
    chosen = kernels.find(kernel)
    problems = unsupported(scenario, kernel)
    if problems:
        raise UnsupportedError("linux-virtual", problems)
    description = linux.described(scenario, seed)
    task: dict[str, Any] = {
        "description": description,
        "programs": {kind: asdict(command) for kind, command in linux.commands(scenario).items()},
        "snap_length": None if capture is None else capture.snap_length,
        "controls": {},
        "links": scenario.document.links_by,
    }
    with files.scratch(_PREFIX) as place:
        (place / "task").write_text(json.dumps(task), encoding="utf-8")
        (place / "captures").mkdir()
        boot(chosen, place, seed=seed, progress=progress, words=command(programs=bool(task["programs"])))
        error = place / "error"
        if error.exists():
            _raise(json.loads(error.read_text(encoding="utf-8")))
        played = unpack((place / "answer").read_bytes())
        if capture is not None:
            for file in sorted((place / "captures").iterdir()):
                shutil.copyfile(file, capture.directory / file.name)
    told = linux.told(scenario, description, played)
    return replace(told, notes=(*told.notes, *_about(scenario)))


def _about(scenario: "Scenario") -> list[str]:
    """What the kernel's own links do that the scenario does not say."""
    queues = [link.direction(way).queue for link in scenario.document.links.values() for way in WAYS]
    if scenario.document.links_by == "tc" and any(queue.kind == "red" for queue in queues):
        return [
            "RED inside the kernel's shaper: its average does not fall while the queue is empty, so that it may go on "
            "dropping every packet after it was above max"
        ]
    return []


def _raise(error: dict[str, str]) -> None:
    kind = EngineUnavailableError if error["kind"] == "EngineUnavailableError" else _core.SimulationError
    raise kind(f"in the guest: {error['message']}")
