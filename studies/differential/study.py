"""Networks, hosts and the run of many programs at once."""

import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from mptcplab import _core
from mptcplab.engines.linux import kernel
from mptcplab.engines.linux.layout import Endpoint, Pair
from mptcplab.engines.live import Interface, Namespace, add_interface, set_up
from mptcplab.scenario import Scenario
from mptcplab.stack import Stack, Tun
from mptcplab.stack.tun import ip

from studies.runs import say

from .ends import KernelEnd, OurEnd, Player
from .program import SIDES, Program, Seen, digest, draw_program, judge

PAIRINGS: Final = ("ours-ours", "ours-kernel", "kernel-ours", "kernel-kernel")
"""Who is the client, and who the server."""
PROGRAMS: Final = 6
"""Of one network; each in every pairing."""
_DURATION_S: Final = 25.0
_FIRST_WAIT_S: Final = 0.3
_FIRST_PORT: Final = 5100
_FIRST_TABLE: Final = 3000
_MPTCP: Final = 262
_HARMLESS: Final = ('"nat"', '"sequence-rewriting"', '{ kind = "splitting", size = "700 B" }')
_ON_FURTHER_PATHS: Final = (
    '"syn-filter"',
    '{ kind = "strip", on = "syn" }',
    '{ kind = "reset-injection", after = "40 kB" }',
)


class _DoneError(Exception):
    """All programs have ended: the emulation need not go on."""


@dataclass(frozen=True)
class Case:
    """One program in one pairing, and what came of it."""

    seed: int
    pairing: str
    program: Program
    seen: dict[str, Seen]
    problems: list[str]

    def __str__(self) -> str:
        ends = "; ".join(f"{side}: {digest(self.seen[side])}" for side in SIDES)
        return f"seed {self.seed}, program {self.program.number}, {self.program.protocol}, {self.pairing}: {ends}"


def network(rng: random.Random) -> Scenario:
    """One to three paths with losses, reordering, boxes and a link that goes down for a while."""
    text = [f'duration = "{_DURATION_S} s"']
    names = ["a", "b", "c"][: rng.choice([1, 2, 2, 3])]
    for number, name in enumerate(names):
        boxes = [box for box in _HARMLESS if rng.random() < 0.2]
        if number and rng.random() < 0.25:
            boxes.append(rng.choice(_ON_FURTHER_PATHS))
        text += [
            f"[link.{name}]",
            f'rate = "{rng.choice([5, 10, 20, 50])} Mbit/s"',
            f'delay = "{rng.choice([1, 5, 10, 30])} ms"',
            f'queue = "{rng.choice([30, 100])} ms"',
            f'loss = "{rng.choice([0, 0, 0.1, 0.5, 1, 2])} %"',
            f"middleboxes = [{', '.join(boxes)}]",
        ]
        if rng.random() < 0.3:
            by = rng.choice([2, 10])
            text.append(f'reorder = {{ probability = "{rng.choice([0.5, 2])} %", by = "{by} ms" }}')
    for kind, pairing in enumerate(PAIRINGS):
        paths = ", ".join(f'"{name}"' for name in names)
        text += [f"[connection.{pairing}-{kind}]", f"paths = [{paths}]", 'congestion = "reno"']
    if len(names) > 1 and rng.random() < 0.4:
        gone_s = rng.uniform(0.5, 2)
        for at_s, down in ((gone_s, "true"), (gone_s + rng.uniform(0.5, 2), "false")):
            text += ["[[event]]", f'at = "{at_s:.3f} s"', f'link = "{names[-1]}"', f"set = {{ down = {down} }}"]
    return Scenario.from_toml("\n".join(text), "<differential>")


def play(seed: int, programs: int = PROGRAMS) -> list[Case]:
    """All pairings of some programs over one network. Needs root and a kernel with Multipath TCP."""
    rng = random.Random(seed)
    description = network(rng).description(seed=seed)
    drawn = [draw_program(rng, 1000 * seed + number) for number in range(programs)]
    with ExitStack() as stack:
        ports: list[dict[str, Any]] = []
        pairs = []
        for kind, pairing in enumerate(PAIRINGS):
            pair = Pair(kind, description["connections"][kind])
            ends, tuns = _hosts(pair, pairing, stack)
            ports += pair.ports(tuns, len(ports))
            pairs.append((pair, pairing, ends))
        plan = {
            "description": {**description, "connections": []},
            "ports": ports,
            "packet_bytes": max(pair.mtu for pair, _, _ in pairs),
            "hosts": [],
        }
        with _emulating(plan):
            deadline_s = time.monotonic() + _DURATION_S - 2
            cases = [
                _Running(seed, pair, pairing, ends, program, deadline_s)
                for pair, pairing, ends in pairs
                for program in drawn
            ]
            return [case.finish() for case in cases]


@contextmanager
def _emulating(plan: dict[str, Any]) -> Iterator[None]:
    done = threading.Event()
    failures: list[BaseException] = []

    def progress(_: float) -> None:
        if done.is_set():
            raise _DoneError

    def emulate() -> None:
        try:
            _core.run_linux(json.dumps(plan), progress)
        except _DoneError:
            pass
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=emulate, name="emulation")
    thread.start()
    try:
        time.sleep(_FIRST_WAIT_S)
        yield
    finally:
        done.set()
        thread.join()
    if failures:
        raise failures[0]


@dataclass(frozen=True)
class _Host:
    namespace: Namespace
    stack: Stack | None
    """None: the kernel's."""


def _hosts(pair: Pair, pairing: str, stack: ExitStack) -> tuple[dict[str, _Host], list[int]]:
    """Both hosts of a pairing, and the emulator's devices: the client's, then the server's."""
    hosts, tuns = {}, []
    for side, who in zip(SIDES, pairing.split("-"), strict=True):
        host = stack.enter_context(Namespace(f"{pairing} {side}"))
        set_up(host)
        interfaces = pair.client_interfaces() if side == "client" else [pair.server_interface()]
        for interface in interfaces:
            # Of ours the kernel is a router without addresses.
            bare = Interface(interface.name, [], interface.routes if side == "server" else [], pair.mtu, alone=True)
            tuns.append(add_interface(host, bare if who == "ours" else interface))
            stack.callback(os.close, tuns[-1])
        if who == "ours":
            host.set_controls({"net/ipv4/ip_forward": 1})
            hosts[side] = _Host(host, stack.enter_context(host.run(_stack, pair, side)))
            continue
        kernel.configure(host, "reno", ecn=False, checksum=False, send_bytes=16 << 20)
        addresses = pair.joining if side == "client" else ()
        joining = [Endpoint(number, address, 0, backup=False) for number, address in enumerate(addresses, start=1)]
        kernel.set_path_manager(host, joining, subflows=len(pair.joining))
        hosts[side] = _Host(host, None)
    return hosts, tuns


def _stack(pair: Pair, side: str) -> Stack:
    """Our stack behind a device of the namespace that this is called in, which routes by the client's address."""
    if side == "server":
        device = Tun("stack", host=f"10.{pair.kind}.255.2/30", stack=str(pair.server))
        return Stack([device])
    addresses = [str(address) for of_path in pair.addresses for address in of_path]
    device = Tun("stack", host=f"10.{pair.kind}.200.1/16", stack=addresses)
    for path, address in enumerate(addresses):
        ip("route", "add", f"{pair.server}/32", "dev", f"path{path}", "table", str(_FIRST_TABLE + path))
        ip("rule", "add", "from", address, "lookup", str(_FIRST_TABLE + path), "priority", "100")
    return Stack([device])


class _Running:
    """A program that goes on in a pairing."""

    def __init__(
        self, seed: int, pair: Pair, pairing: str, hosts: dict[str, _Host], program: Program, deadline_s: float
    ) -> None:
        self._seed, self._pair, self._pairing, self._program = seed, pair, pairing, program
        self._hosts, self._deadline_s = hosts, deadline_s
        self._port = _FIRST_PORT + program.number % 1000
        self._seen: dict[str, Seen] = {}
        self._problems: list[str] = []
        self._listening = threading.Event()
        self._threads = [threading.Thread(target=self._side, args=(side,), daemon=True) for side in SIDES]
        for thread in reversed(self._threads):
            thread.start()

    def finish(self) -> Case:
        for thread in self._threads:
            thread.join(max(0.1, self._deadline_s + 1 - time.monotonic()))
        seen = {side: self._seen.get(side, Seen(b"", "unfinished")) for side in SIDES}
        problems = self._problems + judge(self._program, seen)
        return Case(self._seed, self._pairing, self._program, seen, problems)

    def _side(self, side: str) -> None:
        opens: Callable[[], KernelEnd | OurEnd] = self._call if side == "client" else self._accept
        try:
            end = opens()
        except OSError as error:
            # A connection that is reset before it was accepted is one that the other end aborted.
            if self._program.aborts is None or side == self._program.aborts[0]:
                self._problems.append(f"{side}: {type(error).__name__} {error}")
            else:
                self._seen[side] = Seen(b"", "reset")
            return
        player = Player(self._program, side, end)
        player.start()
        self._seen[side] = player.finish(self._deadline_s)
        end.leave()

    def _left_s(self) -> float:
        return max(0.01, self._deadline_s - time.monotonic())

    def _socket(self, side: str) -> socket.socket:
        protocol = _MPTCP if self._program.protocol == "mptcp" else socket.IPPROTO_TCP
        own = self._hosts[side].namespace.run(socket.socket, socket.AF_INET, socket.SOCK_STREAM, protocol)
        own.settimeout(self._left_s())
        return own

    def _call(self) -> KernelEnd | OurEnd:
        self._listening.wait(self._left_s())
        address, ours = str(self._pair.server), self._hosts["client"].stack
        if ours is None:
            own = self._socket("client")
            own.bind((str(self._pair.addresses[0][0]), 0))
            own.connect((address, self._port))
            return KernelEnd(own, self._deadline_s)
        manager = {"path_manager": "fullmesh"} if self._program.protocol == "mptcp" else {}
        options = {"protocol": self._program.protocol, **manager}
        addresses = () if manager else (0,)
        connection = ours.connect(address, self._port, addresses=addresses, timeout_s=self._left_s(), **options)
        return OurEnd(connection, self._deadline_s)

    def _accept(self) -> KernelEnd | OurEnd:
        ours = self._hosts["server"].stack
        if ours is None:
            with self._socket("server") as listener:
                listener.bind((str(self._pair.server), self._port))
                listener.listen(8)
                self._listening.set()
                own, _ = listener.accept()
            return KernelEnd(own, self._deadline_s)
        manager = {"path_manager": "default"} if self._program.protocol == "mptcp" else {}
        accepting = ours.listen(self._port, protocol=self._program.protocol, **manager)
        self._listening.set()
        return OurEnd(accepting.accept(self._left_s()), self._deadline_s)


def main() -> None:
    """Play networks from MPTCPLAB_DIFFERENTIAL_SEED (1) on until MPTCPLAB_DIFFERENTIAL_CASES (240) are done."""
    wanted = int(os.environ.get("MPTCPLAB_DIFFERENTIAL_CASES", "240"))
    seed = int(os.environ.get("MPTCPLAB_DIFFERENTIAL_SEED", "1"))
    began_s = time.monotonic()
    done = 0
    failed: dict[str, int] = dict.fromkeys(PAIRINGS, 0)
    while done < wanted:
        for case in play(seed):
            done += 1
            if case.problems:
                failed[case.pairing] += 1
                say(f"{case}\n  " + "\n  ".join(case.problems))
        seed += 1
    took_s = time.monotonic() - began_s
    counts = ", ".join(f"{pairing} {count}" for pairing, count in failed.items())
    say(f"{done} cases in {took_s:.0f} s; with a problem: {counts}")
    if failed["ours-ours"] or failed["ours-kernel"] or failed["kernel-ours"]:
        sys.exit(1)
