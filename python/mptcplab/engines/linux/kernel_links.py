"""Links that are the kernel's own queueing disciplines (`links = "tc"`), between the ports of the emulator.

Each stage of a direction of a link is a namespace with two devices: what comes in by `in` is forwarded to `out`, whose
discipline is the stage. The emulator has no links then: it hands each packet from device to device, at once.
"""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, Self

from mptcplab.engines.linux import disciplines
from mptcplab.engines.linux.queue_meter import Meter, without_losses
from mptcplab.engines.live import Interface, Namespace, Route, add_interface, set_up
from mptcplab.engines.live.netlink import Disciplines

_ANYWHERE: Final = "0.0.0.0/0"
_LOOK_NS: Final = 10_000_000
"""How often queues are looked at; means are those of the looks."""


class TrafficControlError(OSError):
    """tc does not do what it is told."""


@dataclass(frozen=True)
class Stage:
    """A device that packets come in by, the one they leave by, and what counts on it."""

    entrance: int
    """Descriptor of the device that they are handed to."""
    exit: int
    counts: Disciplines

    @classmethod
    def of(cls, name: str, commands: Sequence[str], mtu: int, stack: ExitStack) -> Self:
        """A stage whose discipline `commands` make; `stack` takes it down."""
        place = stack.enter_context(Namespace(name))
        set_up(place)
        place.set_controls({"net/ipv4/ip_forward": 1})
        devices = []
        for device, routes in (("in", []), ("out", [Route(_ANYWHERE)])):
            devices.append(add_interface(place, Interface(device, [], routes, mtu, alone=True)))
            stack.callback(os.close, devices[-1])
        place.run(_control, commands)
        counts = stack.enter_context(place.run(Disciplines, "out"))
        return cls(devices[0], devices[1], counts)


class KernelLinks:
    """All links of a description that paths cross."""

    def __init__(self, description: Mapping[str, Any], mtu: int, stack: ExitStack) -> None:
        """Made, and idle."""
        self._description = description
        crossed = {link for path in description["paths"] for link in path["links"]}
        self._stages: dict[tuple[int, bool], list[Stage]] = {}
        for number, link in enumerate(description["links"]):
            for way in ("down", "up") if number in crossed else ():
                commands = (disciplines.queue(link[way], mtu), disciplines.wire(link[way]))
                self._stages[number, way == "down"] = [
                    Stage.of(f"{link['name']} {way}", each, mtu, stack) for each in commands if each
                ]
        self._stop = threading.Event()

    def between(self, ports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The emulator's ports with these links between them in place of its own."""
        found: list[dict[str, Any]] = [{**port, "routes": []} for port in ports]
        places: dict[int, int] = {}
        for stages in self._stages.values():
            for stage in stages:
                places[stage.entrance] = len(found)
                found.append({"tun": stage.entrance, "routes": [], "inner": True})
                places[stage.exit] = len(found)
                found.append({"tun": stage.exit, "routes": [], "inner": True})
        for number, port in enumerate(ports):
            for route in port["routes"]:
                links = self._description["paths"][route["path"]]["links"]
                ordered = list(reversed(links)) if route["down"] else list(links)
                stages = [stage for link in ordered for stage in self._stages[link, route["down"]]]
                begins = [number, *(places[stage.exit] for stage in stages)]
                ends = [*(places[stage.entrance] for stage in stages), route["port"]]
                for begin, end in zip(begins, ends, strict=True):
                    own = {**route, "path": None, "port": end}
                    if own not in found[begin]["routes"]:
                        found[begin]["routes"].append(own)
        return found

    def begin(self, zero_ns: int) -> None:
        """Look at the queues from `zero_ns` of the monotonic clock on."""
        sample_ns = self._description["sample_ns"] or _LOOK_NS
        self._meter = Meter(self._description, self._stages, sample_ns // max(1, round(sample_ns / _LOOK_NS)))
        self._thread = threading.Thread(target=self._look, args=(zero_ns,), name="queues")
        self._thread.start()

    def finish(self, outcome: Mapping[str, Any], *, raw: bool) -> dict[str, Any]:
        """The outcome with what the disciplines counted in place of the emulator's rows of links."""
        self._stop.set()
        self._thread.join()
        return self._meter.told(outcome, raw=raw)

    @staticmethod
    def without_losses(outcome: Mapping[str, Any]) -> dict[str, Any]:
        """The outcome without what subflows lost, which the emulator has not seen."""
        return without_losses(outcome)

    def _look(self, zero_ns: int) -> None:
        duration_ns: int = self._description["duration_ns"]
        # Each moment is computed, so that a late look makes none of the next late.
        for at_ns in self._meter.moments(duration_ns):
            wait_s = (zero_ns + at_ns - time.monotonic_ns()) * 1e-9
            if self._stop.wait(max(wait_s, 0)):
                return
            self._meter.look(at_ns)


def _control(commands: Sequence[str]) -> None:
    done = subprocess.run(["tc", "-batch", "-"], input="\n".join(commands), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise TrafficControlError(0, f"tc {'; tc '.join(commands)}: {said}")
