"""The programs of a run that are this machine's: begun, ended, and measured by what the kernel tells of their sockets.

As on the engine `linux` (`mptcplab.engines.linux.programs`), but of one end: the other's sockets are another machine's.
"""

import os
import random
import shutil
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final, TypeVar

from mptcplab.agent.requests import ProgramOfEnd
from mptcplab.agent.system import Refused
from mptcplab.engines.linux.programs.diagnostics import LostError, Sockets, TcpSocket
from mptcplab.engines.linux.programs.ledger import CLIENT, SERVER, Ledger
from mptcplab.engines.linux.programs.play import (
    Agenda,
    NotListeningError,
    await_listening,
    ended,
    follow,
    listens,
    said,
    write_file,
)
from mptcplab.engines.linux.programs.process import Process, words

T = TypeVar("T")

_NOBODY: Final = 65_534
_WITHOUT_RIGHTS: Final = (
    *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
    *("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"),
)
"""Programs are the scenario's, and its arguments are anybody's: they run as nobody."""


class _Thread:
    """A thread in place of a namespace's, for `Process`."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def run(self, work: Callable[[], T]) -> T:
        """What `work` returns there."""
        return self._pool.submit(work).result()


@dataclass
class _One:
    """The program of one kind of connection."""

    asked: ProgramOfEnd
    name: str
    start_ns: int
    stop_ns: int | None
    ledger: Ledger
    directory: Path
    values: Mapping[str, str]
    process: Process | None = None


_TIMES: Final = ("duration_ns", "warmup_ns", "sample_ns")


class Programs:
    """All of them, which is one: the kernel's sockets do not say whose they are, so whatever connects the two machines
    during the run counts, but for the control channel, our own connections, and what was there before."""

    def __init__(
        self,
        end: int,
        description: Mapping[str, Any],
        hosts: Mapping[int, Mapping[str, Any]],
        asked: Sequence[ProgramOfEnd],
        directory: Path,
        control_port: int,
    ) -> None:
        self._end = end
        self._description = {**description, **{key: time_of(description, key) for key in _TIMES}}
        # The kernel ends a program with the thread that began it: one that lasts as long as this.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="programs")
        self._here = _Thread(self._thread)
        self._sockets = Sockets()
        self._before = {each.cookie for each in self._sockets.standing()}
        ports = [int(str(host["server"]).rpartition(":")[2]) for host in hosts.values()]
        self._not_ports = {control_port, *ports}
        self._all = [_one(end, description, hosts[each.kind], each, directory) for each in asked]

    def begin_servers(self) -> None:
        """Raises Refused when one does not come to listen."""
        for one in self._all if self._end == SERVER else ():
            address = IPv4Address(one.values["server"])
            try:
                await_listening(self._begin(one), partial(listens, address))
            except NotListeningError as error:
                raise Refused(f"{one.name}: {error}") from None

    def play(self, zero_ns: int, stopped: threading.Event) -> None:
        """Until the end of the run, or until the event is set."""
        agenda: Agenda = []
        if self._end == CLIENT:
            agenda += [(one.start_ns, 0, partial(self._begin, one)) for one in self._all]
            agenda += [(one.stop_ns, 1, partial(_stop, one)) for one in self._all if one.stop_ns is not None]
        follow(agenda, self._description, zero_ns, stopped, self._look, [one.ledger for one in self._all])

    def _begin(self, one: _One) -> Process:
        command = (*_WITHOUT_RIGHTS, *words(one.asked.words, one.values))
        mptcp = self._description["connections"][one.asked.kind]["protocol"] == "mptcp"
        try:
            name = f"{one.asked.kind}"
            mptcpize = one.asked.mptcpize and mptcp
            one.process = Process(self._here, command, one.directory, mptcpize=mptcpize, name=name)
        except OSError as error:
            raise Refused(f"{one.name}: {one.asked.words[0]}: {error.strerror}") from None
        return one.process

    def _look(self, now_ns: int) -> None:
        found: list[TcpSocket] = self._sockets.standing()
        whole = True
        try:
            found += self._sockets.gone()
        except LostError:
            whole = False
        seen = [each for each in found if self._counts(each)]
        for one in self._all:
            one.ledger.whole &= whole
            one.ledger.look(now_ns, (seen, ()) if self._end == CLIENT else ((), seen))

    def _counts(self, each: TcpSocket) -> bool:
        server = each.remote if self._end == CLIENT else each.local
        return each.cookie not in self._before and server.port not in self._not_ports

    def end(self) -> None:
        """End what still runs."""
        running = [one.process for one in self._all if one.process is not None]
        for process in running:
            process.ask_to_stop()
        for process in running:
            process.stop()
        self._thread.shutdown()
        self._sockets.close()

    def tell(self, zero_ns: int) -> list[dict[str, Any]]:
        """Of each, what it came to at this end."""
        return [self._told(one, zero_ns) for one in self._all]

    def _told(self, one: _One, zero_ns: int) -> dict[str, Any]:
        of, ledger = self._description, one.ledger
        outcome = None if one.process is None else one.process.outcome()
        began_ns = one.start_ns if outcome is None or self._end == SERVER else outcome.began_ns - zero_ns
        finished_ns = None if outcome is None or outcome.ended_ns is None else outcome.ended_ns - zero_ns
        until_ns = min(of["duration_ns"], one.stop_ns or of["duration_ns"])
        if finished_ns is not None and self._end == CLIENT:
            until_ns = min(until_ns, finished_ns)
        window_ns = until_ns - max(began_ns, of["warmup_ns"])
        return {
            "kind": one.asked.kind,
            "began_ns": began_ns,
            "finished_ns": finished_ns,
            "window_ns": window_ns,
            "measured_bytes": sum(count.arrived - count.warm_arrived for count in ledger.counts.values()),
            "bytes": ledger.arrived,
            "whole": ledger.whole,
            "subflows": ledger.rows(window_ns, {}),
            "samples": {**asdict(ledger.samples), "srtt_s": [_number(each) for each in ledger.samples.srtt_s]},
            "congestion": sorted(ledger.congestion),
            "command": [] if one.process is None else list(one.process.command[len(_WITHOUT_RIGHTS) :]),
            "status": None if outcome is None else outcome.status,
            "signal": None if outcome is None else outcome.signal,
            "stdout": "" if one.process is None else one.process.output("stdout"),
            "stderr": "" if one.process is None else one.process.output("stderr"),
            "how": "" if one.process is None or finished_ns is None else ended(one.process) + said(one.process),
        }


def _stop(one: _One) -> None:
    if one.process is not None:
        one.process.ask_to_stop()


def time_of(of: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - None where the description may have that
    """A time of a description of which the core reads nothing if all connections are programs."""
    value = of[key]
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise Refused(f"an invalid value of {key}")
    return value


def _number(value: float) -> float | None:
    """None for what is no number, which JSON does not have."""
    return value if value == value else None


def _one(
    end: int, description: Mapping[str, Any], host: Mapping[str, Any], asked: ProgramOfEnd, directory: Path
) -> _One:
    connection, seed = description["connections"][asked.kind], description["seed"]
    sender = CLIENT if connection["direction"] == "up" else SERVER
    place = directory / f"program-{asked.kind}" / "here"
    place.mkdir(parents=True)
    os.chown(place, _NOBODY, _NOBODY)
    for name, size in asked.files.items() if end == sender else ():
        write_file(place / name, size)
    server = str(host["server"]).rpartition(":")[0]
    return _One(
        asked=asked,
        name=str(connection["name"]),
        start_ns=random.Random(f"{seed}/{connection['name']}/start").randint(*connection["start_ns"]),
        stop_ns=time_of(connection, "stop_ns"),
        ledger=Ledger({IPv4Address(address).packed: path for address, path in host["paths"]}, sender),
        directory=place,
        values={"server": server, "client": host["client"], "seed": str(seed), "directory": str(place)},
    )


def check_allowed(asked: Sequence[ProgramOfEnd], allowed: Collection[str]) -> None:
    """Raises Refused unless every program is one that the owner of this machine allows."""
    for each in asked:
        if each.words[0] not in allowed:
            raise Refused(
                f"this agent does not allow the program {each.words[0]}; "
                f"the owner of the machine can allow it with --allow {each.words[0]}"
            )
        if shutil.which(each.words[0]) is None:
            raise Refused(f"the program {each.words[0]} was not found on this machine")
