"""Sessions of a controller with the key that asks for anything in any order and leaves at any time.

After each the agent answers the next one, and nothing is left: settings of the machine, processes, threads, open files,
directories. `MPTCPLAB_SESSIONS` says how many sessions there are.
"""

import contextlib
import copy
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mptcplab import machine
from mptcplab.testbed import clock_ns, frames, key

from tests.left import family
from tests.needs import needs

from .home import PORT, Agent, Home

MISSING = [finding for finding in (*machine.live(), *machine.agent()) if not finding.good]
pytestmark = [
    pytest.mark.skipif(
        bool(MISSING),
        reason="no testbed here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
    ),
    needs("openssl", "ip", "tc", "iperf3"),
]
SESSIONS = int(os.environ.get("MPTCPLAB_SESSIONS", "40"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
AT_MOST_S = 60.0
SCENARIO = """
duration = "1500 ms"
[testbed]
client = "127.0.0.1"
server = "10.71.9.2"
key = "{key}"
[link.wifi]
interface = "wlan0"
rate = "40 Mbit/s"
delay = "1 ms"
[link.ethernet]
interface = {{ client = "eth0", server = "net0" }}
rate = "20 Mbit/s"
delay = "1 ms"
[connection.own]
paths = ["wifi", "ethernet"]
congestion = "reno"
[connection.other]
paths = ["wifi"]
protocol = "tcp"
application = {{ kind = "program", server = "iperf3 -s", client = "iperf3 -c {{server}} -t 1 -J" }}
[measure]
sample = "50 ms"
"""
RECORDING = """
import json, sys
from mptcplab.engines.testbed import remote
ask = remote.Remote.ask
def asking(self, do, **fields):
    if do in ("prepare", "play"):
        with open(sys.argv[1], "a") as file:
            file.write(json.dumps([self.end, {"do": do, **fields}]) + "\\n")
    return ask(self, do, **fields)
remote.Remote.ask = asking
from mptcplab import cli
sys.exit(cli.invoke(["run", sys.argv[2], "--engine", "testbed"]))
"""
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 255, 256, 65_535, 65_536, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 0.5, 1e308),
    *(None, True, "", "a", "127.0.0.1", "::1", "10.71.9.2:7413", "x" * 300, "\0", [], {}, [0], [[]], {"a": 1}),
)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with Home() as made:
        yield made


def recorded(home: Home, key_file: Path, place: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """By end and operation, what a run asks."""
    text = SCENARIO.format(key=key_file)
    (place / "home.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", RECORDING, str(place / "asked"), str(place / "home.toml")]
    done = home.client.run(lambda: subprocess.run(command, capture_output=True, text=True, check=False, timeout=300))
    assert done.returncode == 0, done.stderr
    asked: dict[str, dict[str, dict[str, Any]]] = {}
    for line in (place / "asked").read_text(encoding="utf-8").splitlines():
        end, message = json.loads(line)
        asked.setdefault(end, {})[message["do"]] = message
    return asked


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*path, name)
        yield from places(inner, (*path, name))


def changed(message: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """Some of its values are others: of any kind, or numbers where numbers were."""
    message = copy.deepcopy(message)
    for _ in range(dice.choice((0, 1, 1, 2, 5))):
        *way, last = dice.choice([way for way in places(message) if way != ("do",)])
        inside = message
        for name in way:
            inside = inside[name]
        whole = isinstance(inside[last], int) and dice.random() < 0.8
        inside[last] = dice.choice([each for each in VALUES if isinstance(each, int)] if whole else VALUES)
    return message


def session(channel: socket.socket, asked: dict[str, dict[str, Any]], dice: random.Random) -> Counter[str]:
    """Ask for anything; how often what was answered."""
    found: Counter[str] = Counter()
    if dice.random() < 0.7:
        order = ["prepare", "play", *dice.choices(["status", "result", "clock", "fetch", "wait"], k=dice.randint(0, 4))]
    else:
        order = dice.choices(["hello", "clock", "status", "result", "release", "fetch", "prepare", "play"], k=6)
    for do in order:
        if do == "wait":
            time.sleep(dice.uniform(0, 0.5))
            continue
        message: dict[str, Any] = {"do": do}
        if do == "fetch":
            message |= {"name": dice.choice(["", "../x", "wlan0.pcapng"]), "offset": dice.choice([0, 1, 1 << 40])}
        elif do == "prepare":
            message = asked[do] if dice.random() < 0.8 else changed(asked[do], dice)
        elif do == "play":
            message = {**asked[do], "zero_ns": clock_ns() + dice.choice((0, 10**8, 10**12, -(10**9)))}
            message["capture_on"] = dice.choice([[], message["capture_on"]])
            message["snap_length"] = dice.choice([None, 0, 128])
            message = changed(message, dice)
        try:
            data = frames.encode(message)
        except ValueError:  # infinite
            continue
        if dice.random() < 0.05:
            channel.sendall(data[: dice.randrange(len(data))])
            found["cut short"] += 1
            break
        try:
            channel.sendall(data)
            if dice.random() < 0.05:
                found["left without an answer"] += 1
                break
            answer = frames.read(channel.recv, frames.LARGEST_ANSWER)
        except TimeoutError:
            pytest.fail(f"no answer to {message}")
        except OSError:
            answer = None
        if answer is None:
            found[f"{do}: session ended"] += 1
            break
        found[f"{do}: {'refused' if answer['refused'] else 'done'}"] += 1
    return found


def left_by(agent: int) -> dict[str, Any]:
    return {
        "processes": family(agent),
        "threads": len(list(Path(f"/proc/{agent}/task").iterdir())),
        "files": len(list(Path(f"/proc/{agent}/fd").iterdir())),
        "directories": sorted(place.name for place in Path(os.environ["TMPDIR"]).glob("mptcplab-agent-*")),
    }


@pytest.fixture
def _own_directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A directory for temporary files in which tests beside this one have no agents; its path is short, for sockets."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as place:
        monkeypatch.setenv("TMPDIR", place)
        yield


@pytest.mark.usefixtures("_own_directory")
@pytest.mark.parametrize("end", ["client", "server"])
def test_whatever_is_asked_nothing_is_left(home: Home, tmp_path: Path, end: str) -> None:
    key_file = tmp_path / "testbed.key"
    key.make(key_file)
    hosts = {"client": home.client, "server": home.server}
    running = {
        name: Agent(host, key_file, tmp_path / f"{name}.json", "--allow", "iperf3") for name, host in hosts.items()
    }
    context = key.context(key_file, server=False)
    dice = random.Random(f"{SEED} {end}")
    found: Counter[str] = Counter()

    def connect() -> Any:
        plain = hosts[end].run(lambda: socket.create_connection(("127.0.0.1", PORT), AT_MOST_S))
        return context.wrap_socket(plain)

    def admitted() -> dict[str, Any]:
        """Another session, which is let in once the one before is over."""
        until = time.monotonic() + AT_MOST_S
        while True:
            with connect() as channel, contextlib.suppress(OSError):
                channel.sendall(frames.encode({"do": "hello"}))
                answer = frames.read(channel.recv, frames.LARGEST_ANSWER)
                if answer is not None and not answer["refused"]:
                    return answer
            assert time.monotonic() < until, f"the agent is not free again; {running[end].log.read_text()}"
            time.sleep(0.05)

    try:
        asked = recorded(home, key_file, tmp_path)[end]
        admitted()
        before, settled = home.state(hosts[end]), left_by(running[end].process.pid)
        for number in range(SESSIONS):
            state = dice.getstate()
            with connect() as channel:
                found += session(channel, asked, dice)
            admitted()
            until = time.monotonic() + AT_MOST_S
            while (now := left_by(running[end].process.pid)) != settled and time.monotonic() < until:
                time.sleep(0.02)
            assert now == settled, f"session {number} of seed {SEED}: {state[1][:1]}"
            assert home.state(hosts[end]) == before, f"session {number} of seed {SEED}"
        said = running[end].log.read_text()
        assert "Traceback" not in said, said
        assert "panicked" not in said, said
    finally:
        for each in running.values():
            assert each.end() == 0
    sys.stdout.write(f"\n{end}: {SESSIONS} sessions, {dict(sorted(found.items()))}\n")
    assert found["play: done"] > 0
