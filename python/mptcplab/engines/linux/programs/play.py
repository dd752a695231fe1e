"""The programs of a scenario, from the servers that stand ready before it begins to the last output that is kept."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from mptcplab import _core, files
from mptcplab.engines.linux.layout import Pair
from mptcplab.engines.linux.programs.diagnostics import LostError, Sockets, TcpSocket
from mptcplab.engines.linux.programs.ledger import CLIENT, SERVER, Ledger
from mptcplab.engines.linux.programs.process import Process, words
from mptcplab.engines.live import Namespace

_LOOK_NS: Final = 20_000_000
_READY_WITHIN_S: Final = 10.0
_PREFIX: Final = "mptcplab-programs-"
_LISTENING: Final = "0A"
_BLOCK: Final = bytes(random.Random(0).randbytes(1 << 20))
_LAST_LINES: Final = 5


@dataclass(frozen=True)
class Command:
    """What the scenario says of the programs of one connection."""

    client: Sequence[str]
    server: Sequence[str]
    files: Mapping[str, int]
    mptcpize: bool


@dataclass
class Cast:
    """The programs of one connection, and the hosts that they run on."""

    kind: int
    pair: Pair
    program: Command
    client: Namespace
    server: Namespace
    start_ns: int
    stop_ns: int | None
    ledger: Ledger
    directory: Path
    values: Mapping[str, str]
    processes: dict[int, Process] = field(default_factory=dict)
    sockets: tuple[Sockets, Sockets] | None = None

    @property
    def name(self) -> str:
        """The connection's."""
        return self.pair.name

    def host(self, end: int) -> Namespace:
        """The host of an end."""
        return self.server if end == SERVER else self.client

    def command(self, end: int) -> tuple[str, ...]:
        """What runs there, without what contains it."""
        values = {**self.values, "directory": str(self.directory / _END[end])}
        return words(self.program.server if end == SERVER else self.program.client, values)

    def begin(self, end: int) -> None:
        """Begin the program of an end. Raises SimulationError when it cannot be begun."""
        place = self.directory / _END[end]
        command = self.command(end)
        mptcpize = self.program.mptcpize and self.pair.mptcp
        name = f"{self.directory.name}-{_END[end]}"
        try:
            self.processes[end] = Process(self.host(end), command, place, mptcpize=mptcpize, name=name)
        except OSError as error:
            raise _core.SimulationError(f"{self.name}: {command[0]}: {error.strerror}") from None

    def look(self, now_ns: int) -> None:
        """Ask the kernel of all sockets of both hosts."""
        assert self.sockets is not None, "furnished"
        self.ledger.look(now_ns, (self._seen(CLIENT), self._seen(SERVER)))

    def _seen(self, end: int) -> list[TcpSocket]:
        assert self.sockets is not None, "furnished"
        seen = self.sockets[end].standing()
        try:
            seen += self.sockets[end].gone()
        except LostError:
            self.ledger.whole = False
        return seen


_END: Final = ("client", "server")


class Programs:
    """All programs of a run: made ready within `with`, played by `begin` and `finish`, gone when it ends."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        """For a complete description; connections that are programs are added by `add`."""
        self.casts: list[Cast] = []
        self.description = description
        self._directory: Path | None = None
        self._scratch = contextlib.ExitStack()
        self._lock = -1
        self._stop = threading.Event()
        self._player: ThreadPoolExecutor | None = None
        self._played: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def add(self, pair: Pair, program: Command, client: Namespace, server: Namespace) -> None:
        """The programs of a connection, on hosts that are furnished; its server stands ready on return.

        Raises SimulationError when the server does not come to listen, OSError when the machine refuses.
        """
        connection = pair.connection
        seed = self.description["seed"]
        addresses = {address.packed: number for number, of_path in enumerate(pair.addresses) for address in of_path}
        cast = Cast(
            kind=pair.kind,
            pair=pair,
            program=program,
            client=client,
            server=server,
            start_ns=random.Random(f"{seed}/{pair.name}/start").randint(*connection["start_ns"]),
            stop_ns=connection["stop_ns"],
            ledger=Ledger(
                {address: connection["paths"][number] for address, number in addresses.items()},
                CLIENT if connection["direction"] == "up" else SERVER,
            ),
            directory=self._place() / f"{pair.kind}",
            values={"server": str(pair.server), "client": str(pair.addresses[0][0]), "seed": str(seed)},
        )
        self.casts.append(cast)
        for end in _END:
            (cast.directory / end).mkdir(parents=True)
        for name, size in program.files.items():
            write_file(cast.directory / _END[cast.ledger.sender] / name, size)
        cast.sockets = (client.run(Sockets), server.run(Sockets))
        cast.begin(SERVER)
        try:
            await_listening(cast.processes[SERVER], lambda: cast.server.run(partial(listens, pair.server)))
        except NotListeningError as error:
            raise _core.SimulationError(f"{cast.name}: {error}") from None

    def begin(self, zero_ns: int) -> None:
        """Play from this reading of CLOCK_MONOTONIC on."""
        if self.casts:
            self._player = ThreadPoolExecutor(1, thread_name_prefix="programs")
            self._played = self._player.submit(self._play, zero_ns)

    def finish(self) -> None:
        """Wait for the end of the scenario; what still runs is ended. Raises what went wrong on the way."""
        if self._played is not None:
            self._played.result()
        self._end_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._player is not None:
            self._player.shutdown()
        self._end_all()
        for cast in self.casts:
            for sockets in cast.sockets or ():
                sockets.close()
        self._scratch.close()

    def _play(self, zero_ns: int) -> None:
        agenda: Agenda = [(cast.start_ns, 0, partial(cast.begin, CLIENT)) for cast in self.casts]
        agenda += [(cast.stop_ns, 1, partial(_stop_client, cast)) for cast in self.casts if cast.stop_ns is not None]
        follow(agenda, self.description, zero_ns, self._stop, self._look, [cast.ledger for cast in self.casts])

    def _look(self, now_ns: int) -> None:
        for cast in self.casts:
            cast.look(now_ns)

    def _end_all(self) -> None:
        running = [process for cast in self.casts for process in cast.processes.values()]
        for process in running:
            process.ask_to_stop()
        for process in running:
            process.stop()

    def _place(self) -> Path:
        """The directory of this run's programs; those that a killed run left are removed."""
        if self._directory is None:
            self._directory = self._scratch.enter_context(files.scratch(_PREFIX))
        return self._directory


def _stop_client(cast: Cast) -> None:
    if CLIENT in cast.processes:
        cast.processes[CLIENT].ask_to_stop()


def write_file(path: Path, size: int) -> None:
    """A file of so many bytes, which cannot be compressed and are always the same."""
    with path.open("wb") as file:
        for _ in range(size // len(_BLOCK)):
            file.write(_BLOCK)
        file.write(_BLOCK[: size % len(_BLOCK)])


Agenda = list[tuple[int, int, Callable[[], object]]]
"""What is due, with its time and its place among what is due at the same time."""


def follow(
    agenda: Agenda,
    description: Mapping[str, Any],
    zero_ns: int,
    stopped: threading.Event,
    look: Callable[[int], None],
    ledgers: Sequence[Ledger],
) -> None:
    """Do what is due, and `look` at the sockets in between, until the end of the run or the event."""
    duration_ns, warmup_ns, sample_ns = (description[key] for key in ("duration_ns", "warmup_ns", "sample_ns"))

    def warm_up_ends() -> None:
        look(warmup_ns)
        for ledger in ledgers:
            ledger.warm_up_ends()

    looks = -(-sample_ns // _LOOK_NS) if sample_ns else 1
    look_ns = sample_ns // looks if sample_ns else 5 * _LOOK_NS
    warm_up: Agenda = [(warmup_ns, 2, warm_up_ends)] if warmup_ns > 0 else []
    due = sorted((item for item in agenda + warm_up if item[0] < duration_ns), key=lambda item: item[:2])
    next_look = 1
    while True:
        look_at_ns = min(next_look * look_ns, duration_ns)
        at_ns = min(due[0][0], look_at_ns) if due else look_at_ns
        if stopped.wait(max(0.0, (zero_ns + at_ns - time.monotonic_ns()) / 1e9)):
            return
        while due and due[0][0] <= at_ns:
            due.pop(0)[2]()
        if at_ns < look_at_ns:
            continue
        now_ns = time.monotonic_ns() - zero_ns
        look(now_ns)
        if sample_ns and next_look % looks == 0:
            for ledger in ledgers:
                ledger.sample(next_look * look_ns, sample_ns)
        if look_at_ns >= duration_ns:
            return
        # A look that is missed on a busy machine is not made up for; samples are.
        next_look += 1
        behind = now_ns // look_ns - next_look
        if behind > 0 and not sample_ns:
            next_look += behind


def await_listening(process: Process, listening: Callable[[], bool]) -> None:
    """Wait for a server. Raises NotListeningError."""
    until_s = time.monotonic() + _READY_WITHIN_S
    while not listening():
        if not process.running:
            raise NotListeningError(f"the server {ended(process)} before it listened{said(process)}")
        if time.monotonic() > until_s:
            command = " ".join(process.command)
            raise NotListeningError(
                f"the server does not listen, after {_READY_WITHIN_S:g} s: {command}{said(process)}"
            )
        time.sleep(0.01)


class NotListeningError(Exception):
    """A server does not come to listen."""


def listens(address: IPv4Address) -> bool:
    """Whether a TCP socket of this namespace listens where others reach it."""
    places = {f"{int.from_bytes(address.packed, 'little'):08X}", "0" * 8, "0" * 32}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path("/proc/thread-self/net", table).read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state == _LISTENING and local.partition(":")[0] in places:
                    return True
    return False


def ended(process: Process) -> str:
    """How it ended, in words."""
    outcome = process.outcome()
    return f"died of {outcome.signal}" if outcome.signal else f"ended with status {outcome.status}"


def said(process: Process) -> str:
    """The last lines of what it wrote, the errors before all."""
    text = process.output("stderr").strip() or process.output("stdout").strip()
    lines = text.splitlines()
    return "; it said: " + " / ".join(lines[-_LAST_LINES:]) if lines else ""
