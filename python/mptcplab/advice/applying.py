"""An answer set on this machine, checked, and taken back: what was there is written to a file before anything changes.

The file is in /run, so it is there after a crash of the program, and gone with the settings after a restart.
"""

import base64
import contextlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mptcplab.advice.commands.iproute import endpoints, routes
from mptcplab.advice.commands.setup import Setup
from mptcplab.advice.places import Place
from mptcplab.errors import Error

_STATE: Final = Path("/run/mptcplab")
_NAMESPACE: Final = Path("/proc/self/ns/net")


class ApplyError(Error, RuntimeError):
    """This machine could not be set as advised; what had been changed was put back."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run, with its input if it reads any."""

    words: tuple[str, ...]
    given: bytes | None = None

    def __str__(self) -> str:
        """As a shell has it."""
        return shlex.join(self.words) + ("" if self.given is None else "   # from what was saved")


def commands(setup: Setup, places: Sequence[Place]) -> list[Command]:
    """What sets it on this machine, which has the paths."""
    found = []
    if setup.module and setup.control not in _available():
        found.append(Command(("modprobe", setup.module)))
    found += [_sysctl(key, value) for key, value in setup.sysctls.items()]
    if not setup.is_tcp:
        count = str(setup.subflows)
        found.append(Command(("ip", "mptcp", "limits", "set", "subflows", count, "add_addr_accepted", count)))
    found.append(Command(("ip", "mptcp", "endpoint", "flush")))
    for line in (*routes(setup), *(f"sysctl -w {key}=2" for key in setup.filters), *endpoints(setup)):
        found.append(Command(tuple(_filled(line, places).split())))
    return found


def _filled(text: str, places: Sequence[Place]) -> str:
    for place in places:
        text = place.fill(text)
    return text


def apply(setup: Setup, places: Sequence[Place], load: Callable[[str], object]) -> None:
    """Set it and check it. `load` makes a control of ours available. Raises ApplyError after taking it back."""
    if state_file().exists():
        undo()
    before = _snapshot(setup, places)
    _write(before)
    try:
        if setup.program:
            load(setup.program)
        for command in commands(setup, places):
            _run(command)
        wrong = check(setup, places)
    except BaseException:
        undo()
        raise
    if wrong:
        undo()
        raise ApplyError("\n".join(("the settings did not hold and were taken back:", *wrong)))


def check(setup: Setup, places: Sequence[Place]) -> list[str]:
    """What is not as it should be, in words."""
    wrong = []
    for key, value in setup.sysctls.items():
        found = _read_sysctl(key)
        if found != value:
            wrong.append(f"{key} is {found!r}, not {value!r}")
    by_path = {place.path: place for place in places}
    expected = {by_path[path].address: set(setup.flags(path)) for path in setup.used[1:]}
    found_flags = {each["address"]: _flags(each) for each in _json("mptcp", "endpoint", "show")}
    if found_flags != expected:
        wrong.append(f"the endpoints are {found_flags}, not {expected}")
    defaults = sorted(_json(_family(setup.ipv6), "route", "show", "default"), key=lambda route: route.get("metric", 0))
    devices = [route.get("dev") for route in defaults]
    wrong += [
        f"{path} has no default route on {by_path[path].interface}"
        for path in setup.used
        if by_path[path].interface not in devices
    ]
    first = by_path[setup.members[0]].interface
    if devices[:1] != [first]:
        wrong.append(f"connections open on {devices[0] if devices else 'no path'}, not on {first}")
    return wrong


def undo_commands() -> list[Command]:
    """What puts back what was there. Raises ApplyError when nothing was applied here."""
    before = _read()
    found = [Command(("ip", "mptcp", "endpoint", "flush"))]
    found += [Command(("ip", "mptcp", "endpoint", "add", *words)) for words in before["endpoints"]]
    found.append(Command(("ip", "mptcp", "limits", "set", *before["limits"])))
    routes = ("ip", before["family"], "route")
    found.append(Command((*routes, "flush", "exact", "default")))
    saved = base64.b64decode(before["routes"])
    if saved:
        found.append(Command((*routes, "restore"), saved))
    return [*found, *(_sysctl(key, value) for key, value in before["sysctls"].items())]


def undo() -> None:
    """Put back what was there, as far as it goes; what fails is said in an ApplyError, and can be tried again."""
    problems = []
    for command in undo_commands():
        try:
            _run(command)
        except ApplyError as error:
            problems.append(str(error))
    if problems:
        raise ApplyError("\n".join(problems))
    state_file().unlink()


def state_file() -> Path:
    """Of this network namespace."""
    return _STATE / f"advice-{_NAMESPACE.stat().st_ino}.json"


def _snapshot(setup: Setup, places: Sequence[Place]) -> dict[str, Any]:
    keys = ["net.mptcp.enabled", *setup.sysctls, *(_filled(key, places) for key in setup.filters)]
    family = _family(setup.ipv6)
    save = ["ip", family, "route", "save", "default"]
    saved = subprocess.run(save, capture_output=True, check=True, timeout=30).stdout
    return {
        "family": family,
        "sysctls": {key: _read_sysctl(key) for key in dict.fromkeys(keys)},
        "limits": _limits(),
        "endpoints": [_endpoint_words(each) for each in _json("mptcp", "endpoint", "show")],
        "routes": base64.b64encode(saved).decode("ascii"),
    }


def _family(ipv6: bool) -> str:
    return "-6" if ipv6 else "-4"


def _limits() -> list[str]:
    """As `ip mptcp limits set` takes them: what `show` prints, which has no JSON in every version."""
    done = subprocess.run(["ip", "mptcp", "limits", "show"], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


def _endpoint_words(endpoint: dict[str, Any]) -> list[str]:
    """For `ip mptcp endpoint add`."""
    words = [endpoint["address"]]
    for key in ("port", "dev", "id"):
        if key in endpoint:
            words += [key, str(endpoint[key])]
    return [*words, *sorted(_flags(endpoint))]


def _flags(endpoint: dict[str, Any]) -> set[str]:
    known = ("signal", "subflow", "laminar", "backup", "fullmesh")
    return {flag for flag in known if endpoint.get(flag) or flag in endpoint.get("flags", ())}


def _write(document: dict[str, Any]) -> None:
    """All of it or nothing, and on the disk before it returns."""
    file = state_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    with part.open("w", encoding="utf-8") as stream:
        json.dump(document, stream)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)


def _read() -> dict[str, Any]:
    try:
        return dict(json.loads(state_file().read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ApplyError(f"nothing to undo: no advice was applied here ({state_file()})") from None


def _json(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(["ip", "-j", *words], capture_output=True, text=True, check=True, timeout=30)
    found = json.loads(done.stdout or "[]")
    return [found] if isinstance(found, dict) else list(found)


def _run(command: Command) -> None:
    with tempfile.TemporaryFile() as given:  # `ip route restore` seeks in what it reads
        given.write(command.given or b"")
        given.seek(0)
        done = subprocess.run(command.words, stdin=given, capture_output=True, check=False, timeout=60)
    if done.returncode != 0:
        raise ApplyError(f"{command}: {done.stderr.decode(errors='replace').strip()}")


def _sysctl(key: str, value: str) -> Command:
    return Command(("sysctl", "-q", "-w", f"{key}={value}"))


def _read_sysctl(key: str) -> str:
    place = key if "/" in key else key.replace(".", "/")
    return " ".join((Path("/proc/sys") / place).read_text(encoding="ascii").split())


def _available() -> list[str]:
    found: list[str] = []
    with contextlib.suppress(OSError):
        found = _read_sysctl("net.ipv4.tcp_available_congestion_control").split()
    return found
