"""Scenarios as scripts of namespaces: what they say, what is refused, and two of them run for real."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import mptcplab
import pytest
from mptcplab import machine
from mptcplab.cli import invoke
from mptcplab.export import netns, refusals
from mptcplab.scenario import Scenario, describe

NETWORK = """
title = "Two links without delay"
duration = "{seconds} s"
[link.one]
rate = "10 Mbit/s"
delay = "0 ms"
queue = "60 ms"
[link.two]
rate = "5 Mbit/s"
delay = "0 ms"
queue = "40 packets"
[connection.m]
{connection}
congestion = "reno"
[measure]
warmup = "1 s"
"""
TCP = 'paths = ["one"]\nprotocol = "tcp"'
MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
LACKING = [name for name in ("ip", "tc", "iperf3", "mptcpize") if shutil.which(name) is None]
live = [
    pytest.mark.live,
    pytest.mark.skipif(
        bool(MISSING or LACKING or os.getuid()),
        reason="no live system here: "
        + "; ".join(
            [f"{each.what} {each.found}" for each in MISSING] + [f"{name} is not installed" for name in LACKING]
        ),
    ),
]


def scenario(connection: str = 'paths = ["one", "two"]', *, seconds: int = 4, more: str = "") -> Scenario:
    return Scenario.from_toml(NETWORK.format(connection=connection, seconds=seconds) + more, "network.toml")


def script(given: Scenario) -> str:
    assert refusals.unsupported(given) == []
    return netns.script(describe.description(given.document, 1, False), "a title\x1b[31m")


@pytest.mark.parametrize(
    "given",
    [
        scenario(),
        scenario('paths = ["two", "one"]\npath_manager = "backup"\ndirection = "up"\necn = true'),
        scenario('paths = ["one"]\npath_manager = { name = "ndiffports", subflows = 3 }\nreceive_buffer = "1 MB"'),
        scenario(
            TCP,
            more='[link.far]\nrate = "1 Gbit/s"\ndelay = "5 ms"\nloss = "1 %"\n[path.both]\nlinks = ["one", "far"]\n',
        ),
        scenario(TCP + '\ncount = 3\napplication = { kind = "rate", rate = "1 Mbit/s" }\nstart = ["0 s", "1 s"]'),
    ],
    ids=["two paths", "backup", "ndiffports", "a chain", "three flows"],
)
def test_a_script_is_a_shell_script(given: Scenario, tmp_path: Path) -> None:
    text = script(given)
    file = tmp_path / "lab.sh"
    file.write_text(text, encoding="utf-8")
    subprocess.run(["sh", "-n", str(file)], check=True)
    assert "\x1b" not in text
    # What a line calls is a function of the script, a builtin or one of the programs that it asks for.
    functions = set(re.findall(r"^(\w+)\(\)", text, re.MULTILINE))
    body = text.split("needs ip tc", 1)[1].splitlines()[1:]
    calls = {line.split()[0] for line in body if re.match(r"[a-z_]+ ", line)}
    assert calls <= functions | {"ip", "tc", "echo", "for", "exit", "die"}, calls


def test_a_queue_has_room_for_the_header_of_ethernet() -> None:
    """10 Mbit/s with packets of 1,500 bytes are 10.0933 with 1,514, and 75,000 bytes of queue are 75,700."""
    text = script(scenario(TCP))
    assert "tbf rate 10093333bit burst 1514 limit 75700" in text
    # pfifo counts packets; the bucket's own limit only has to be large enough.
    assert "pfifo limit 40" not in text, "nothing crosses link two"
    assert "link1a" not in text


def test_a_path_over_two_links_goes_through_both_and_back() -> None:
    given = scenario(
        'paths = ["both"]\nprotocol = "tcp"',
        more='[link.far]\nrate = "1 Gbit/s"\ndelay = "5 ms"\n[path.both]\nlinks = ["one", "far"]\n',
    )
    text = script(given)
    hops = re.findall(r"^route (\S+) 10\.0\.255\.1 via \S+ dev (\S+)$", text, re.MULTILINE)
    assert hops == [
        ("link0a", "far"),
        ("link0b", "to-link2a"),
        ("link2a", "far"),
        ("link2m", "far"),
        ("link2b", "s0-0"),
    ]
    assert text.count("netem limit 1000000 delay 5000us") == 2
    assert "needs netem" in text


def test_hosts_announce_what_the_links_of_their_path_take() -> None:
    """In place of the router that lowers the MSS: 1,452 bytes on the path over a link of 1,492."""
    both = '[link.far]\nrate = "1 Gbit/s"\ndelay = "0 ms"\nmss = "1460 B"\n[path.both]\nlinks = ["two", "far"]\n'
    given = scenario('paths = ["one", "both"]', more=both).with_("link.two.mtu=1492 B", "link.one.mtu=9000 B")
    lines = re.findall(r"^route (?:client|server)0 .*dev (path\d) .*$", script(given), re.M)
    told = re.findall(r"^route (client|server)0 .* dev (path\d) .*advmss (\d+)", script(given), re.M)
    assert len(told) == len(lines) == 6, "each route of a host: of its main table and of the path's own"
    assert set(told) == {(host, *of) for host in ("client", "server") for of in (("path0", "1460"), ("path1", "1452"))}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (scenario('paths = ["one"]\nprotocol = "tcp"\napplication = { kind = "requests", size = "8 kB" }'), "requests"),
        (scenario(more='[[event]]\nat = "1 s"\nlink = "one"\nset = { down = true }\n'), "an event"),
        (scenario('paths = ["one", "two"]\nscheduler = "blest"'), "blest"),
        (scenario(more='[link.radio]\nrate = "1 Mbit/s"\ndelay = "1 ms"\njitter = "1 ms"\n'), "jitter"),
    ],
)
def test_what_a_script_cannot_do_is_refused(given: Scenario, said: str) -> None:
    assert any(said in str(problem) for problem in refusals.unsupported(given))


def test_the_command_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "network.toml", tmp_path / "lab.sh"
    file.write_text(NETWORK.format(connection=TCP, seconds=4), encoding="utf-8")
    assert invoke(["export", str(file), "--to", "netns", "--out", str(out)]) == 0
    before = out.read_bytes()
    assert invoke(["export", str(file), "--to", "netns", "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_bytes() == before
    requests = 'connection.m.application={kind="requests", size="8 kB"}'
    assert invoke(["export", str(file), "--to", "netns", "--set", requests, "--out", str(tmp_path / "no.sh")]) == 3
    assert not (tmp_path / "no.sh").exists()


def namespaces() -> set[str]:
    told = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in told.splitlines() if line.startswith("lab")}


def processes(namespace: str) -> list[str]:
    told = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True).stdout
    return told.split()


def start(given: Scenario, directory: Path) -> subprocess.Popen[str]:
    file = directory / "lab.sh"
    file.write_text(script(given), encoding="utf-8")
    return subprocess.Popen(["sh", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class TestLive:
    pytestmark = live

    @pytest.mark.parametrize("connection", [TCP, 'paths = ["one", "two"]'], ids=["tcp", "two paths"])
    def test_a_script_gives_what_the_engine_gives(self, connection: str, tmp_path: Path) -> None:
        given = scenario(connection, seconds=6)
        with start(given, tmp_path) as running:
            out, said = running.communicate(timeout=60)
        assert running.returncode == 0, said
        told = re.search(r"connection m: ([\d.]+) Mbit/s", out)
        assert told is not None, out
        expected = mptcplab.run(given, engine="linux").connections["goodput_bps"][0] / 1e6
        assert float(told[1]) == pytest.approx(expected, rel=0.05)
        assert not {name for name in namespaces() if name.startswith(f"lab{running.pid}-")}

    def test_an_interrupted_script_leaves_nothing(self, tmp_path: Path) -> None:
        with start(scenario(seconds=30), tmp_path) as running:
            for _ in range(300):
                if "running for" in (running.stderr.readline() if running.stderr else ""):
                    break
            time.sleep(1.5)
            inside = [pid for name in namespaces() for pid in processes(name) if name.startswith(f"lab{running.pid}-")]
            assert inside, "iperf3 is running"
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=30) == 143
        for _ in range(100):
            if not any(Path(f"/proc/{pid}").exists() for pid in inside):
                break
            time.sleep(0.1)
        assert not [pid for pid in inside if Path(f"/proc/{pid}").exists()]
        assert not {name for name in namespaces() if name.startswith(f"lab{running.pid}-")}
