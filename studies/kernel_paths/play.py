"""Several cases in one scenario, each a connection of its own on links of its own, on the simulator and on kernels."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mptcplab import _core, kernels
from mptcplab.capture.settings import Capture
from mptcplab.engines.linux.hosts import play
from mptcplab.engines.linux_virtual.guest import boot, command
from mptcplab.paths.seen import Seen, read
from mptcplab.scenario import Scenario

from .draw import DURATION_S, Case

SNAP_BYTES: Final = 160


def scenario(cases: Sequence[Case]) -> Scenario:
    """The network and the traffic of the cases; what the path managers are told comes with `description`."""
    lines = [f'duration = "{DURATION_S} s"', "[measure]", 'sample = "never"']
    for case in cases:
        names = paths(case)
        for place, name in enumerate(names):
            lines += [f"[link.{name}]", 'rate = "10 Mbit/s"', f'delay = "{7 + 4 * place} ms"', 'queue = "50 packets"']
        direction = "up" if case.number % 3 == 0 else "down"
        lines += [
            f"[connection.c{case.number}]",
            f"paths = {json.dumps(names)}",
            'path_manager = "linux"',
            'scheduler = "linux"',
            'congestion = "reno"',
            f'direction = "{direction}"',
            'application = { kind = "rate", rate = "400 kbit/s" }',
        ]
    for case in cases:
        for place, at_s, back_s in case.goes:
            for moment, there in ((at_s, "false"), (back_s, "true")):
                if moment is not None:
                    lines += ["[[event]]", f'at = "{moment} s"', f'link = "{paths(case)[place]}"']
                    lines += [f"set = {{ address = {there} }}"]
    return Scenario.from_toml("\n".join(lines), "<cases>")


def paths(case: Case) -> list[str]:
    """The names of the case's paths."""
    return [f"c{case.number}-{place}" for place in range(case.paths)]


def description(cases: Sequence[Case], kernel: str) -> dict[str, Any]:
    """What the core reads, with each case's endpoints and limits."""
    whole = scenario(cases).description(seed=1)
    for case, connection in zip(cases, whole["connections"], strict=True):
        connection["kernel_paths"] = case.told(kernel)
        connection["path_manager"]["kernel"] = kernel
    return whole


def simulated(cases: Sequence[Case], kernel: str) -> list[Seen]:
    """What the simulator's hosts send."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-cases-") as place:
        _core.simulate(json.dumps(description(cases, kernel)), None, capture=Path(place), snap_length=SNAP_BYTES)
        return [read([Path(place) / f"client-{path}.pcapng" for path in paths(case)]) for case in cases]


def in_guest(cases: Sequence[Case], kernel: str) -> list[Seen]:
    """What the hosts of a guest's kernel send."""
    task = {
        "description": description(cases, kernel),
        "programs": {},
        "snap_length": SNAP_BYTES,
        "controls": {},
        "links": "emulator",
    }
    with tempfile.TemporaryDirectory(prefix="mptcplab-cases-") as name:
        place = Path(name)
        (place / "task").write_text(json.dumps(task), encoding="utf-8")
        (place / "captures").mkdir()
        boot(kernels.find(kernel), place, seed=1, progress=None, words=command())
        if (place / "error").exists():
            raise RuntimeError((place / "error").read_text(encoding="utf-8"))
        return _seen(place / "captures", cases)


def on_this_machine(cases: Sequence[Case], kernel: str) -> list[Seen]:
    """What the hosts of this machine's own kernel send, in real time; the simulator's rules are those of `kernel`."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-cases-") as place:
        play(description(cases, kernel), {}, capture=Capture(Path(place), SNAP_BYTES), progress=None)
        return _seen(Path(place), cases)


def _seen(place: Path, cases: Sequence[Case]) -> list[Seen]:
    """What the hosts of kernels sent."""
    return [read([place / f"c{case.number}-client-{path}.pcapng" for path in paths(case)]) for case in cases]
