"""Programs that are there already, on the hosts of the engine `linux`, for real; and what is refused anywhere."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mptcplab
import pytest
import tomli_w
from mptcplab import _core, machine
from mptcplab.engines import catalogue
from mptcplab.engines.linux import refusals
from mptcplab.results import directory
from mptcplab.scenario import Scenario

from tests.needs import needs
from tests.networks import FAST_AND_SLOW

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING),
    reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)


NETWORK = (
    """
duration = "3 s"
"""
    + FAST_AND_SLOW
    + """
[connection.c]
paths = ["fast", "slow"]
congestion = "reno"
scheduler = "linux"
[connection.c.application]
kind = "program"
mptcpize = false
"""
)
# A server and a client in Python, over sockets of Multipath TCP (262).
SERVER = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as listening:
    listening.bind((sys.argv[1], 7000))
    listening.listen()
    while True:
        one, _ = listening.accept()
        with one:
            left = int(sys.argv[2])
            while left:
                left -= one.send(bytes(min(left, 65536)))
"""
CLIENT = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as calling:
    calling.connect((sys.argv[1], 7000))
    got = 0
    while data := calling.recv(65536):
        got += len(data)
print("got", got)
"""


def python(code: str, *arguments: str) -> list[str]:
    return ["{python}", "-c", code, *arguments]


def scenario(server: list[str], client: list[str], *overrides: str) -> Scenario:
    commands = tomli_w.dumps({"server": server, "client": client})
    return Scenario.from_toml(NETWORK + commands, "programs.toml", overrides)


def transfer(size: int, *overrides: str) -> Scenario:
    return scenario(python(SERVER, "{server}", str(size)), python(CLIENT, "{server}"), *overrides)


@live
def test_a_programs_bytes_are_counted_on_both_paths(tmp_path: Path) -> None:
    result = mptcplab.run(transfer(3_000_000), "linux")
    (row,) = result.connections.to_dicts()
    # To the byte, but for the SYN and FIN of each subflow and what arrived twice.
    assert 3_000_000 <= row["bytes_delivered"] < 3_100_000
    assert (row["fallback"], row["transfers_begun"], row["out_of_order_delay_mean_s"]) == (False, None, None)
    # 3 MB take 0.85 s at 30 Mbit/s of which 1,420 of 1,500 bytes are data.
    assert 0.8 < row["completion_s"] < 3
    fast, slow = result.subflows.to_dicts()
    assert (fast["path"], slow["path"]) == ("fast", "slow")
    assert fast["share"] + slow["share"] == pytest.approx(1)
    assert 0.1 < slow["share"] < 0.6
    for subflow in (fast, slow):
        arrived = subflow["share"] * row["bytes_delivered"]
        assert subflow["segments_sent"] - subflow["retransmissions"] >= arrived / 1448
        assert subflow["segments_sent"] < 1.3 * arrived / 1400
        assert subflow["rtt_mean_s"] > 0.02
        assert subflow["cwnd_mean_segments"] > 1
        assert subflow["reinjections"] is None
    samples = result.samples.filter(kind="subflow")
    assert samples["goodput_bps"].sum() * 0.1 / 8 == pytest.approx(row["bytes_delivered"], rel=0.02)
    client, server = result.to_dict()["live"]["programs"]
    assert (client["host"], client["status"], client["stdout"]) == ("client", 0, "got 3000000\n")
    assert (server["host"], server["status"], server["began_s"] < 0) == ("server", None, True)
    assert result.failures == ()
    result.save(tmp_path / "out")
    assert (tmp_path / "out/programs/c-client.stdout").read_text() == "got 3000000\n"
    directory.check(tmp_path / "out")


@live
def test_short_connections_one_after_another_are_all_counted() -> None:
    code = CLIENT.replace("with socket", "for _ in range(10):\n  with socket").replace("\n    ", "\n      ")
    client = python(code.replace('print("got", got)', ""), "{server}")
    result = mptcplab.run(scenario(python(SERVER, "{server}", "20000"), client), "linux")
    (row,) = result.connections.to_dicts()
    assert 10 * 20_000 <= row["bytes_delivered"] < 1.1 * 10 * 20_000
    assert result.to_dict()["live"]["mptcp_counters"]["c client"]["MPCapableSYNTX"] == 10


@live
def test_uploads_are_measured_at_the_server() -> None:
    server = python(
        "import socket, sys\nl = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\nl.bind((sys.argv[1], 7000))\n"
        "l.listen()\no, _ = l.accept()\nwhile o.recv(65536): pass",
        "{server}",
    )
    client = python(
        "import socket, sys\nc = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n"
        "c.connect((sys.argv[1], 7000))\nc.sendall(open('data', 'rb').read())\nc.shutdown(1)\nc.recv(1)",
        "{server}",
    )
    files = 'connection.c.application.files={ data = "2 MB" }'
    result = mptcplab.run(scenario(server, client, "connection.c.direction=up", files), "linux")
    (row,) = result.connections.to_dicts()
    assert 2_000_000 <= row["bytes_delivered"] < 2_070_000
    assert result.failures == ()


@live
def test_ours_and_theirs_side_by_side() -> None:
    beside = '[connection.tcp]\npaths = ["fast"]\nprotocol = "tcp"\ncongestion = "reno"\n'
    text = f"{transfer(1_000_000).to_toml()}\n{beside}"
    result = mptcplab.run(Scenario.from_toml(text, "both.toml"), "linux")
    rows = {row["name"]: row for row in result.connections.to_dicts()}
    # What the data level sends twice counts: more of it where the machine is busy.
    assert 1_000_000 <= rows["c"]["bytes_delivered"] < 1_100_000
    assert rows["tcp"]["goodput_bps"] > 2e6
    samples = result.samples.filter(kind="subflow")
    assert set(samples["connection"].unique()) == {"c", "tcp"}
    assert samples["time_s"].is_sorted()


@live
def test_what_fails_is_told_and_the_rest_stands() -> None:
    result = mptcplab.run(scenario(python(SERVER, "{server}", "1"), ["sh", "-c", "echo why >&2; exit 7"]), "linux")
    assert [failure.split("; ")[1] for failure in result.failures] == ["it said: why"]
    assert "the client's sh ended with status 7" in result.failures[0]
    (row,) = result.connections.to_dicts()
    assert (row["bytes_delivered"], row["completion_s"]) == (0, None)
    broken = scenario(["sh", "-c", "echo no port >&2; exit 3"], ["true"])
    with pytest.raises(_core.SimulationError, match=r"the server ended with status 3 before it listened; .* no port"):
        mptcplab.run(broken, "linux")


@live
def test_programs_that_speak_tcp_are_found_out() -> None:
    server, client = (code.replace(", 262", "") for code in (SERVER, CLIENT))
    result = mptcplab.run(scenario(python(server, "{server}", "9"), python(client, "{server}")), "linux")
    assert "spoke TCP, not Multipath TCP" in result.failures[0]
    assert result.connections["fallback"].to_list() == [True]


@live
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_run_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    mark = f"{tmp_path.name}-{number}"
    lingering = ["sh", "-c", f"setsid sleep 600 & exec -a {mark} sleep 600", mark]
    file = tmp_path / "linger.toml"
    text = scenario(python(SERVER, "{server}", "1"), ["bash", *lingering[1:]], "duration=60 s").to_toml()
    file.write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("mptcplab")), "run", str(file), "--engine", "linux"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert within_s(20, lambda: mark in processes())
        running.send_signal(number)
        assert running.wait(20) != 0
        assert within_s(10, lambda: mark not in processes())
    finally:
        running.kill()
        running.wait()


def processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def within_s(seconds: float, happens: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if happens():
            return True
        time.sleep(0.1)
    return False


@live
@needs("iperf3", "mptcpize")
def test_iperf3_measures_what_we_do() -> None:
    commands = (["iperf3", "-s", "-1"], ["iperf3", "-c", "{server}", "-R", "-t", "2", "--json"])
    result = mptcplab.run(scenario(*commands, "connection.c.application.mptcpize=true", "duration=4 s"), "linux")
    assert result.failures == ()
    told = json.loads(result.to_dict()["live"]["programs"][0]["stdout"])
    received = told["end"]["sum_received"]["bytes"]
    # iperf3 stops to count when its time is over; what was under way then arrives all the same.
    assert received * 0.98 < result.connections["bytes_delivered"][0] < received * 1.2 + 200_000
    assert result.subflows.filter(path="slow")["share"][0] > 0.1


@live
@needs("curl", "ab", "mptcpize")
def test_curl_and_ab_fetch_from_a_web_server() -> None:
    web = ["{python}", "-m", "http.server", "8000", "--bind", "{server}"]
    page = 'connection.c.application.files={ page = "100 kB" }'
    by = "connection.c.application.mptcpize=true"
    curl = scenario(web, ["curl", "-sSf", "-o", "page", "http://{server}:8000/page"], page, by)
    assert 100_000 < mptcplab.run(curl, "linux").connections["bytes_delivered"][0] < 110_000
    ab = mptcplab.run(scenario(web, ["ab", "-n", "5", "http://{server}:8000/page"], page, by), "linux")
    assert ab.failures == ()
    assert "Complete requests:      5" in ab.to_dict()["live"]["programs"][0]["stdout"]
    assert 500_000 < ab.connections["bytes_delivered"][0] < 550_000


@pytest.mark.parametrize("engine", ["sim", "model", "stack"])
def test_other_engines_refuse_by_name(engine: str) -> None:
    (problem,) = [each for each in catalogue.ENGINES[engine].unsupported(transfer(1)) if "application" in each.key]
    assert problem.found == '"program"'


def test_what_is_not_installed_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = scenario(["iperf3", "-s"], ["nothing-of-this-name"], "connection.c.application.mptcpize=true")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = {each.key: each for each in refusals.unsupported(asked)}
    assert found["connection.c.application.server"].expected == (
        "a program that is installed; on Debian: apt-get install iperf3"
    )
    assert (
        found["connection.c.application.client"].found
        == '"nothing-of-this-name", which is not installed on this machine'
    )
    assert "mptcpize" in found["connection.c.application"].expected or "util-linux" in (
        found["connection.c.application"].expected
    )


def test_several_clients_are_several_connections() -> None:
    found = {each.key: each.expected for each in refusals.unsupported(transfer(1, "connection.c.count=2"))}
    assert found["connection.c.count"] == "1: define one connection per program"
