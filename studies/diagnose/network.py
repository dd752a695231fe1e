"""Two hosts with the kernel's Multipath TCP and emulated links between them, set wrong on purpose and looked at.

The client has an interface for each path, 10.0.0.1 and 10.0.1.1, the server one with 10.0.255.1 and 10.0.254.1. A
server sends to the client while the script of `mptcplab diagnose --collect` runs on both hosts.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

from mptcplab import _core
from mptcplab.diagnose.collect import SCRIPT
from mptcplab.engines.linux import kernel
from mptcplab.engines.live import OUTSIDE, Interface, Namespace, Route, add_interface, set_up
from mptcplab.scenario import Scenario

from studies.diagnose.rebinding import Rebinding

CLIENT: Final = ("10.0.0.1", "10.0.1.1")
SERVER: Final = ("10.0.255.1", "10.0.254.1")
PORT: Final = 5001
OUTSIDE_OF_NAT: Final = ("100.64.1.1", "100.64.1.2")
COLLECT_S: Final = 3
_TRANSFER: Final = Path(__file__).with_name("transfer.py")
_LINK: Final = 'rate = "10 Mbit/s"\ndelay = "10 ms"\nqueue = "50 ms"'


@dataclass(frozen=True)
class Situation:
    """What is set up, and what is to be found."""

    name: str
    cause: str | None
    """The cause that is to be named; None for a healthy one."""
    or_cause: str | None = None
    """Another that is right as well, as chance has it."""
    first: str = _LINK
    """The link of the first path, as in a scenario."""
    second: str = _LINK
    events: str = ""
    """Events of the links `first` and `second`."""
    client: Sequence[str] = ("ip mptcp limits set subflows 2", "ip mptcp endpoint add 10.0.1.1 dev path1 id 1 subflow")
    """Commands on the client before the transfer."""
    server: Sequence[str] = ("ip mptcp limits set subflows 2",)
    client_sysctl: Mapping[str, object] = field(default_factory=dict)
    server_sysctl: Mapping[str, object] = field(default_factory=dict)
    protocols: tuple[str, str] = ("mptcp", "mptcp")
    """Of the client's socket and of the server's."""
    up: bool = False
    """Whether the client sends."""
    sender: Mapping[str, Any] = field(default_factory=dict)
    """What the sending program does."""
    receiver: Mapping[str, Any] = field(default_factory=dict)
    during: Sequence[tuple[str, str]] = ()
    """Commands (host, command) in the middle of `warm_s`."""
    late: Sequence[tuple[str, str]] = ()
    """Commands while the script runs, one and a half seconds after it began."""
    rebinds: bool = False
    """Whether the second path has a NAT that forgets in the middle of `warm_s`."""
    warm_s: float = 2.5
    """Seconds of the transfer before it is looked at."""
    congestion: str = "cubic"


def collect(situation: Situation, place: Path) -> list[Path]:
    """Make it, and write what the script gathers on each host to `place`: NAME/client.txt and NAME/server.txt.

    Raises OSError where the kernel refuses, RuntimeError where a command of the set-up fails.
    """
    folder = place / situation.name
    folder.mkdir(parents=True, exist_ok=True)
    # Much longer than it takes: links that end while a busy machine still looks would be dead paths.
    duration_s = situation.warm_s + COLLECT_S + 60
    description = _description(situation, duration_s)
    with ExitStack() as stack:
        client, server = (stack.enter_context(Namespace(f"{situation.name} {end}")) for end in ("client", "server"))
        ports = _furnish(client, server, situation, stack)
        plan = {
            "description": {**description, "connections": []},
            "ports": ports,
            "packet_bytes": 1500,
            "hosts": [],
        }
        pool = stack.enter_context(ThreadPoolExecutor(1))
        over = threading.Event()
        stack.callback(over.set)

        def watch(_: float) -> None:
            if over.is_set():
                raise _OverError

        emulating = pool.submit(_core.run_linux, json.dumps(plan), watch)
        time.sleep(0.3)
        files = _play(situation, client, server, folder)
        if emulating.done():
            raise RuntimeError(f"{situation.name}: the links ended before the look at them did")
        over.set()
        with contextlib.suppress(_OverError):
            emulating.result()
    return files


class _OverError(Exception):
    """The emulation is not needed any more."""


def _description(situation: Situation, duration_s: float) -> dict[str, Any]:
    text = f"""
duration = "{duration_s:.3f} s"
{situation.events}
[link.first]
{situation.first}
[link.second]
{situation.second}
[connection.c]
paths = ["first", "second"]
[measure]
sample = "never"
warmup = "0 s"
"""
    return Scenario.from_toml(text, f"<{situation.name}>").description()


def _furnish(client: Namespace, server: Namespace, situation: Situation, stack: ExitStack) -> list[dict[str, Any]]:
    for host, sysctls in ((client, situation.client_sysctl), (server, situation.server_sysctl)):
        set_up(host)
        kernel.configure(host, situation.congestion, ecn=False, checksum=False, send_bytes=4 << 20)
        kernel.configure_for_programs(host, situation.congestion, None)
        host.set_controls(sysctls)
    tuns = []
    for number, address in enumerate(CLIENT):
        if number and situation.rebinds:
            tuns.append(_behind_nat(client, address, situation, stack))
            continue
        routes = [Route(f"{each}/32", number + 1) for each in SERVER]
        tuns.append(add_interface(client, Interface(f"path{number}", [IPv4Address(address)], routes)))
        stack.callback(os.close, tuns[-1])
    routes = [Route("10.0.0.0/16"), Route(OUTSIDE)]
    addresses = [IPv4Address(each) for each in SERVER]
    tuns.append(add_interface(server, Interface("net0", addresses, routes, alone=True)))
    stack.callback(os.close, tuns[-1])
    for host, commands in ((client, situation.client), (server, situation.server)):
        for command in commands:
            _command(host, command)
    ports: list[dict[str, Any]] = [
        {
            "tun": tuns[path],
            "routes": [{"destination": each, "path": path, "down": False, "port": 2} for each in SERVER],
        }
        for path in (0, 1)
    ]
    back = [{"destination": CLIENT[path], "path": path, "down": True, "port": path} for path in (0, 1)]
    back += [{"destination": each, "path": 1, "down": True, "port": 1} for each in OUTSIDE_OF_NAT]
    return [*ports, {"tun": tuns[2], "routes": back}]


def _behind_nat(client: Namespace, address: str, situation: Situation, stack: ExitStack) -> int:
    """The interface of the second path with a NAT before it; answers what the emulator takes for its device."""
    tun: int = client.run(_core.open_tun, "path1", False)
    stack.callback(os.close, tun)
    for command in (
        f"ip address add {address}/32 dev path1",
        "ip link set path1 up",
        *(f"ip route add {each}/32 dev path1 metric 2" for each in SERVER),
        *(f"ip route add {each}/32 dev path1 table 78" for each in SERVER),
        f"ip rule add from {address} lookup 78",
    ):
        _command(client, command)
    # The emulator starts a third of a second later, the programs after that.
    nat = Rebinding(tun, address, OUTSIDE_OF_NAT, 0.9 + situation.warm_s / 2)
    stack.callback(nat.close)
    return nat.port.fileno()


def _command(host: Namespace, command: str) -> None:
    done = host.run(subprocess.run, command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr.strip()}")


def _play(situation: Situation, client: Namespace, server: Namespace, folder: Path) -> list[Path]:
    common = {"address": SERVER[0], "port": PORT}
    ends = (situation.receiver, situation.sender) if situation.up else (situation.sender, situation.receiver)
    with ExitStack() as stack:
        for host, own in (
            (server, {"listen": True, "send": not situation.up, "protocol": situation.protocols[1], **ends[0]}),
            (client, {"listen": False, "send": situation.up, "protocol": situation.protocols[0], **ends[1]}),
        ):
            program = host.run(
                subprocess.Popen, [sys.executable, "-I", str(_TRANSFER), json.dumps({**common, **own})], stderr=-1
            )
            stack.callback(_end, program)
            time.sleep(0.3)
        time.sleep(situation.warm_s / 2)
        for end, command in situation.during:
            _command({"client": client, "server": server}[end], command)
        time.sleep(situation.warm_s / 2)
        files = [folder / "client.txt", folder / "server.txt"]
        looks = [
            threading.Thread(target=_look, args=(host, file))
            for host, file in zip((client, server), files, strict=True)
        ]
        for look in looks:
            look.start()
        time.sleep(1.5 if situation.late else 0)
        for end, command in situation.late:
            host = client if end == "client" else server
            # A thread of its own: that of the namespace runs the script.
            with ThreadPoolExecutor(1, initializer=_core.enter_namespace, initargs=(host.descriptor,)) as beside:
                beside.submit(subprocess.run, command.split(), check=True).result()
        for look in looks:
            look.join()
    return files


def _look(host: Namespace, file: Path) -> None:
    file.unlink(missing_ok=True)
    host.run(
        subprocess.run,
        ["sh", "-s", str(COLLECT_S), str(file)],
        input=SCRIPT,
        text=True,
        capture_output=True,
        check=True,
    )
    # Both ends are namespaces of one machine and have its name.
    text = file.read_text(encoding="utf-8", errors="replace")
    file.write_text(text.replace(f", host {os.uname().nodename},", f", host {file.stem},", 1), encoding="utf-8")


def _end(program: "subprocess.Popen[bytes]") -> None:
    program.kill()
    program.communicate()
