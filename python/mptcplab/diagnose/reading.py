"""Files in, facts by host out: each line goes to the reader that knows it, whatever the order they come in."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from mptcplab.diagnose import text
from mptcplab.diagnose.facts import Counters, Cpu, Host, Line, Reading, Socket
from mptcplab.diagnose.readers import counters, devices, logs, parameters, path_manager, routes, sockets
from mptcplab.diagnose.readers.context import Context
from mptcplab.diagnose.readers.documents import Documents
from mptcplab.errors import Error
from mptcplab.results import inventory

_READERS: Final[Sequence[Callable[[Line, Host, Context], bool]]] = (
    sockets.read,
    counters.read,
    path_manager.read,
    routes.read,
    devices.read,
    parameters.read,
)
_CAPTURES: Final = (
    b"\x0a\x0d\x0d\x0a",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ",
)
"""Beginnings of pcapng, pcap (two byte orders, two units) and of what compresses them."""
_KEPT: Final = 1000
Timed = TypeVar("Timed", Socket, Counters, Cpu)
_RULER: Final = 20
"""Equals signs that a line has at least to be the frame of a title."""


class InputError(Error, ValueError):
    """There is nothing to read, or it cannot be read."""


def read(files: Iterable[str]) -> Reading:
    """Read files, folders of files, and `-` for standard input. Raises InputError."""
    hosts: list[tuple[str, Host]] = []
    reading = Reading([])
    for name in _expanded(files):
        data = _data(name)
        if data.startswith(_CAPTURES):
            reading.captures.append(name)
            continue
        if len(data) > text.MAX_BYTES:
            reading.notes.append(f"{text.shown(name)}: only the first {text.MAX_BYTES >> 20} MiB were read")
        hosts += [(name, host) for host in read_text(data, Path(name).name if name != "-" else "-", reading)]
    reading.hosts = merged(hosts, reading)
    if not reading.captures and not any(_has(host) for host in reading.hosts):
        raise InputError(
            f"nothing to diagnose in {reading.unread_count} lines; expected output of ss -ntMiem, nstat -as, ip mptcp, "
            "ip route or sysctl net.mptcp, or a capture; mptcplab diagnose --collect prints a script that gathers them"
        )
    return reading


def read_text(data: bytes, source: str, reading: Reading) -> list[Host]:
    """The hosts of one text; what cannot be read goes to `reading`."""
    hosts: dict[str, Host] = {}
    context = Context(unknown=reading.unknown_fields)
    host = hosts.setdefault("", Host(""))
    documents = Documents()
    framed = False
    for position, raw in enumerate(text.lines(data), start=1):
        bare, second = text.bare(raw)
        forms = [bare, *text.logged(raw)]
        begun = next((found for each in forms if (found := text.begin(each))), None)
        if begun is not None:
            host = hosts.setdefault(begun.host, Host(begun.host))
            host.kernel, context = begun.kernel, Context(unknown=reading.unknown_fields)
            continue
        if set(forms[-1]) == {"="} and len(forms[-1]) >= _RULER:
            framed = True
            continue
        commands = (text.command(each) or (text.command(f"# {each}") if framed else None) for each in forms)
        asked = next((found for found in commands if found), None)
        framed = False
        if asked is not None:
            if asked.host:
                host = hosts.setdefault(asked.host, Host(asked.host))
            time_s = asked.time_s if asked.time_s is not None else second
            context = Context(asked.words, time_s, fresh=True, unknown=reading.unknown_fields)
            host.asked.setdefault(_plain(asked.words), Line(source, position, bare))
            continue
        if second is not None and context.time_s is None:
            context.time_s = second
        if not bare or bare in ("```", "---", "^C") or set(forms[-1]) <= {"="}:
            continue
        of_document = documents.take(position, bare)
        if of_document is not None:
            for each in of_document:
                _take([Line(source, position, each)], host, context)
        elif not _take([Line(source, position, each) for each in forms], host, context):
            context.socket = None
            _unread(Line(source, position, bare), reading)
    documents.give_up()
    for position, each in documents.lost:
        _unread(Line(source, position, each), reading)
    return [each for each in hosts.values() if each.name or _has(each)]


def _unread(line: Line, reading: Reading) -> None:
    reading.unread_count += 1
    if len(reading.unread) < _KEPT:
        reading.unread.append(line)


def _take(forms: list[Line], host: Host, context: Context) -> bool:
    """Whether a reader knows the line, in one of the forms that it may have."""
    reader = next((reader for form in forms for reader in _READERS if reader(form, host, context)), None)
    if reader is not None and reader is not sockets.read:
        context.socket = None
    return reader is not None or logs.read(forms[0], host, context)


def _plain(command: str) -> str:
    """`sudo ip mptcp endpoint show` and `ip mptcp endpoint` are one."""
    words = [word for word in command.split()[:8] if word not in ("sudo", "doas", "show", "list")]
    return " ".join(words).replace("endpoints", "endpoint")


def _has(host: Host) -> bool:
    first = (host.sockets, host.counters, host.endpoints, host.limits, host.routes, host.rules, host.events)
    return any(first) or any((host.sysctls, host.logs, host.devices, host.cpu))


def _expanded(files: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in files:
        if name != "-" and os.path.isdir(name):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
            inside = sorted(each for each in Path(name).rglob("*") if each.is_file() and each.name != inventory.FILE)
            found += map(str, inside)
        else:
            found.append(name)
    if not found:
        raise InputError("nothing to read: the folder has no files")
    return found


def _data(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(text.MAX_BYTES + 1)
    try:
        if not Path(name).is_file():
            raise InputError(f"{text.shown(name)}: no such file" if not Path(name).exists() else f"{name}: not a file")
        with Path(name).open("rb") as file:
            return file.read(text.MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{text.shown(name)}: {error.strerror}") from None


def merged(hosts: list[tuple[str, Host]], reading: Reading) -> list[Host]:
    """One for each host: by its name, or by the addresses that are its own."""
    found: list[Host] = []
    sources: list[str] = []
    for source, host in hosts:
        same = next((each for each in found if _same(each, host)), None)
        if same is None:
            found.append(host)
            sources.append(source)
        else:
            _add(same, host)
            same.name = same.name or host.name
    taken: set[str] = set()
    for source, host in zip(sources, found, strict=True):
        name = host.name or (Path(source).stem if len(found) > 1 else "this host")
        host.name = next(
            each for n in range(1, len(found) + 2) if (each := name if n == 1 else f"{name}-{n}") not in taken
        )
        taken.add(host.name)
    for host in found:
        _in_order(host)
        if "net.mptcp.mptcp_enabled" in host.sysctls:
            reading.notes.append(
                f"{text.shown(host.name)} has the kernel of multipath-tcp.org, which is not Linux's Multipath TCP: "
                "its outputs and counters mean other things"
            )
    if len(found) > 2:
        reading.notes.append(
            f"{len(found)} hosts were told apart: {', '.join(text.shown(each.name) for each in found)}"
        )
    return found


def _same(one: Host, other: Host) -> bool:
    mine, theirs = one.addresses(), other.addresses()
    if one.name and other.name:
        # Two may have the name that their system gives to all, and talk to one another.
        apart = mine.isdisjoint(theirs) and any(each.remote.address in theirs for each in one.sockets)
        return one.name == other.name and not apart
    if mine and theirs:
        return bool(mine & theirs)
    return True


def _in_order(host: Host) -> None:
    """Outputs that have times, by their times, wherever they stood."""
    host.sockets = _sorted(host.sockets)
    host.counters = _sorted(host.counters)
    host.cpu = {pid: _sorted(times) for pid, times in host.cpu.items()}


def _sorted(several: list[Timed]) -> list[Timed]:
    if any(each.time_s is None for each in several):
        return several
    return sorted(several, key=lambda each: each.time_s or 0.0)


def _add(one: Host, other: Host) -> None:
    for name in ("sockets", "counters", "endpoints", "limits", "routes", "rules", "events", "devices", "logs"):
        getattr(one, name).extend(getattr(other, name))
    one.sysctls.update(other.sysctls)
    for pid, times in other.cpu.items():
        one.cpu.setdefault(pid, []).extend(times)
    for words, line in other.asked.items():
        one.asked.setdefault(words, line)
    one.kernel = one.kernel or other.kernel
