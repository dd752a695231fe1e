"""The engine testbed for real, between namespaces that stand for machines.

Links have the rates that the test gives them, so bounds are those of physics; no test is about the machine's speed.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mptcplab import machine
from mptcplab.results.columns import FRAMES
from mptcplab.results.result import Result
from mptcplab.testbed import key

from tests.needs import needs

from .home import CLIENT, Agent, Home, agents, mptcplab, starts, until

MISSING = [finding for finding in (*machine.live(), *machine.agent()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING),
    reason="no testbed here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)
pytestmark = [live, needs("openssl")]

SCENARIO = """
duration = "4 s"
[testbed]
client = "127.0.0.1"
server = "10.71.9.2"
key = "testbed.key"
[link.wifi]
interface = "wlan0"
rate = "40 Mbit/s"
delay = "1 ms"
[link.ethernet]
interface = { client = "eth0", server = "net0" }
rate = "20 Mbit/s"
delay = "1 ms"
[connection.download]
paths = ["wifi", "ethernet"]
congestion = "reno"
[measure]
warmup = "1 s"
"""


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("key") / "testbed.key"
    key.make(file)
    return file


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with Home() as made:
        yield made


def scenario(folder: Path, key_file: Path, text: str = SCENARIO, *more: str) -> str:
    file = folder / "home.toml"
    file.write_text("".join([text.replace("testbed.key", str(key_file)), *more]), encoding="utf-8")
    return str(file)


def run(home: Home, folder: Path, file: str, *options: str) -> Result:
    done = mptcplab(home.client, "run", file, "--engine", "testbed", "--out", str(folder / "out"), *options)
    assert done.returncode == 0, done.stderr
    return Result.load(folder / "out")


def test_two_interfaces_are_joined_and_everything_is_put_back(home: Home, key_file: Path, tmp_path: Path) -> None:
    before = {host.name: home.state(host) for host in (home.client, home.server)}
    with agents(home, key_file, tmp_path):
        result = run(home, tmp_path, scenario(tmp_path, key_file))
        assert {host.name: home.state(host) for host in (home.client, home.server)} == before
    assert not list(tmp_path.glob("*.json")), "nothing is left to be put back"
    (connection,) = result.connections.to_dicts()
    # 60 Mbit/s of frames with 14 bytes of Ethernet, of which 1,420 of 1,514 are data; the buckets begin full, and what
    # waited for its order at 1 s comes on top.
    ceiling_bps = 60e6 * 1420 / 1514
    assert 0.6 * ceiling_bps < connection["goodput_bps"] < 1.15 * ceiling_bps
    assert (connection["congestion"], connection["scheduler"], connection["fallback"]) == ("reno", "linux", False)
    wifi, ethernet = sorted(result.subflows.to_dicts(), key=lambda row: -row["share"])
    assert (wifi["path"], ethernet["path"]) == ("wifi", "ethernet")
    assert 0.2 < ethernet["share"] < 0.5
    # What only the sender knows comes from the server, what arrived from the client.
    for row in (wifi, ethernet):
        assert row["segments_sent"] > 1000
        assert row["cwnd_mean_segments"] > 2
        assert 0 < row["rtt_mean_s"] < 0.2
        assert row["reinjections"] is None
    assert sum(row["goodput_bps"] for row in (wifi, ethernet)) == pytest.approx(connection["goodput_bps"], rel=0.05)
    samples = result.samples
    assert samples["kind"].unique().to_list() == ["subflow"]
    assert samples.group_by("path").len()["len"].min() >= 35  # type: ignore[operator]
    assert samples.filter(pl.col("time_s") > 1)["cwnd_segments"].null_count() == 0
    assert result.links["utilization"].null_count() == 4


def test_columns_are_those_of_the_engine_linux(home: Home, key_file: Path, tmp_path: Path) -> None:
    applications = """
[connection.up]
paths = ["wifi"]
protocol = "tcp"
direction = "up"
congestion = "reno"
stop = "2500 ms"
[connection.rate]
paths = ["ethernet"]
protocol = "tcp"
congestion = "reno"
application = { kind = "rate", rate = "2 Mbit/s" }
[connection.file]
paths = ["wifi"]
protocol = "tcp"
congestion = "reno"
direction = "up"
application = { kind = "file", size = "500 kB" }
[connection.requests]
paths = ["wifi"]
protocol = "tcp"
congestion = "reno"
application = { kind = "requests", size = "20 kB" }
[connection.ping]
paths = ["wifi", "ethernet"]
congestion = "reno"
application = { kind = "ping" }
"""
    with agents(home, key_file, tmp_path):
        result = run(home, tmp_path, scenario(tmp_path, key_file, SCENARIO, applications))
    for name in FRAMES:
        expected = [column.name for column in FRAMES[name]]
        assert getattr(result, name).columns == expected
    rows = {row["name"]: row for row in result.connections.to_dicts()}
    # Measured where it arrives, from the warm-up until it stops; nothing bounds it from above but the machine.
    assert rows["up"]["goodput_bps"] > 5e6
    assert rows["up"]["completion_s"] == pytest.approx(2.5, abs=1)
    assert rows["rate"]["goodput_bps"] == pytest.approx(2e6, rel=0.1)
    assert rows["file"]["bytes_delivered"] == 500_000
    assert 0 < rows["file"]["completion_s"] < 4
    requests = rows["requests"]
    assert requests["transfers_complete"] > 5
    assert set(requests["transfer_sizes_bytes"]) == {20_000}
    # 20 kB over 40 Mbit/s take 4 ms.
    assert min(requests["transfer_times_s"]) > 0.003
    ping = rows["ping"]
    assert ping["transfers_complete"] >= 2
    assert 0 < min(ping["transfer_times_s"]) < 0.5
    up = result.subflows.filter(pl.col("connection") == "up").to_dicts()
    assert [row["path"] for row in up] == ["wifi"]
    assert up[0]["segments_sent"] * 1460 > 0.5 * rows["up"]["bytes_delivered"], "the client counts what it sent"
    assert not [note for note in result.notes if "failed" in note], result.notes


def test_shapers_are_set_up_and_taken_away(home: Home, key_file: Path, tmp_path: Path) -> None:
    text = SCENARIO.replace("[connection.download]", 'shaper = { rate = "5 Mbit/s" }\n[connection.download]')
    text = text.replace('paths = ["wifi", "ethernet"]', 'paths = ["ethernet"]\nprotocol = "tcp"')
    before = home.tc(home.server, "qdisc show")
    with agents(home, key_file, tmp_path):
        down = run(home, tmp_path, scenario(tmp_path, key_file, text)).connections.to_dicts()[0]
        upwards = ("--json", "--set", 'connection.download.direction="up"')
        up = mptcplab(home.client, "run", str(tmp_path / "home.toml"), "--engine", "testbed", *upwards)
    assert 3.5e6 < down["goodput_bps"] < 5e6
    assert up.returncode == 0, up.stderr
    assert 3.5e6 < json.loads(up.stdout)["connections"][0]["goodput_bps"] < 5.2e6
    assert home.tc(home.server, "qdisc show") == before


def test_another_key_is_refused(home: Home, key_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    key.make(other)
    with agents(home, key_file, tmp_path) as running:
        done = mptcplab(home.client, "run", scenario(tmp_path, other), "--engine", "testbed")
        assert done.returncode == 3
        assert "has a different key" in done.stderr
        assert home.ip(home.client, "mptcp endpoint show") == ""
        # The agent still serves who has the right one.
        assert run(home, tmp_path, scenario(tmp_path, key_file), "--set", "duration=2 s").connections.height == 1
    assert "was not admitted" in running["server"].log.read_text()


def test_a_controller_that_is_killed_leaves_nothing(home: Home, key_file: Path, tmp_path: Path) -> None:
    before = {host.name: home.state(host) for host in (home.client, home.server)}
    text = SCENARIO.replace('"4 s"', '"60 s"')
    with agents(home, key_file, tmp_path):
        controller = starts(home.client, "run", scenario(tmp_path, key_file, text), "--engine", "testbed")
        until(lambda: "10.71.9.2:7420" in home.say(home.client, "ss", "-Htn state established"))
        assert home.state(home.client) != before["client"]
        controller.kill()
        controller.communicate()
        until(lambda: {host.name: home.state(host) for host in (home.client, home.server)} == before)
        assert "7420" not in home.say(home.server, "ss", "-Hltn")


def test_an_agent_that_is_killed_is_put_right_by_the_next(home: Home, key_file: Path, tmp_path: Path) -> None:
    before = {host.name: home.state(host) for host in (home.client, home.server)}
    text = SCENARIO.replace('"4 s"', '"60 s"').replace("[connection", 'shaper.rate = "9 Mbit/s"\n[connection', 1)
    with agents(home, key_file, tmp_path) as running:
        controller = starts(home.client, "run", scenario(tmp_path, key_file, text), "--engine", "testbed")
        until(lambda: "tbf" in home.state(home.client)["qdiscs"])
        running["client"].end(signal.SIGKILL)
        _, said = controller.communicate(timeout=60)
        assert controller.returncode in (1, 3)  # 3: the agent ended before the run had begun
        assert "the agent of the client" in said
        until(lambda: home.state(home.server) == before["server"])
        left = home.state(home.client)
        assert left != before["client"]
        assert "tbf" in left["qdiscs"]
        again = Agent(home.client, key_file, tmp_path / "client.json")
        assert home.state(home.client) == before["client"]
        again.end()


def test_an_agent_that_is_told_to_end_puts_everything_back(home: Home, key_file: Path, tmp_path: Path) -> None:
    before = home.state(home.client)
    text = SCENARIO.replace('"4 s"', '"60 s"')
    with agents(home, key_file, tmp_path) as running:
        controller = starts(home.client, "run", scenario(tmp_path, key_file, text), "--engine", "testbed")
        until(lambda: "10.71.9.2:7420" in home.say(home.client, "ss", "-Htn state established"))
        assert running["client"].end() == 0
        controller.communicate(timeout=60)
        assert home.state(home.client) == before
        assert controller.returncode in (1, 3)  # 3: the agent ended before the run had begun


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ('link.wifi.interface="no such"', 2, "the name of a network interface"),
        ("testbed.port=0", 2, "the first port of data connections"),
        ('link.wifi.interface="wlan7"', 3, "no interface 'wlan7'"),
        ('connection.download.congestion="olia"', 3, "no congestion control 'olia'"),
        ('connection.download.scheduler="round-robin"', 3, "scheduler"),
        ('connection.download.path_manager="ndiffports"', 3, "the interfaces keep their addresses"),
        ('testbed.server="10.71.9.7:1"', 3, "no agent answers for the server"),
    ],
)
def test_what_cannot_be_done_is_said(
    home: Home, key_file: Path, tmp_path: Path, change: str, status: int, words: str
) -> None:
    with agents(home, key_file, tmp_path):
        done = mptcplab(home.client, "run", scenario(tmp_path, key_file), "--engine", "testbed", "--set", change)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@needs("iperf3")
def test_programs_run_where_their_owners_allow_it(home: Home, key_file: Path, tmp_path: Path) -> None:
    text = (
        SCENARIO
        + """
[connection.iperf]
paths = ["wifi", "ethernet"]
congestion = "reno"
application = { kind = "program", client = "iperf3 -c {server} -t 3 -J", server = "iperf3 -s" }
"""
    )
    text = text.replace("[connection.download]", "[connection.other]").replace(
        'paths = ["wifi", "ethernet"]', 'paths = ["wifi"]\nprotocol = "tcp"\napplication = "ping"', 1
    )
    file = scenario(tmp_path, key_file, text)
    with agents(home, key_file, tmp_path):
        done = mptcplab(home.client, "run", file, "--engine", "testbed")
        assert (done.returncode, "--allow iperf3" in done.stderr) == (3, True), done.stderr
    with agents(home, key_file, tmp_path, "--allow", "iperf3"):
        result = run(home, tmp_path, file, "--set", 'connection.iperf.direction="up"')
    rows: dict[str, Any] = {row["name"]: row for row in result.connections.to_dicts()}
    assert rows["iperf"]["bytes_delivered"] > 1_000_000
    paths = result.subflows.filter(pl.col("connection") == "iperf")["path"]
    assert set(paths) == {"wifi", "ethernet"}
    records = json.loads((tmp_path / "out" / "result.json").read_text())["live"]["programs"]
    assert {record["host"] for record in records} == {"client", "server"}
    measured = json.loads(next(each["stdout"] for each in records if each["host"] == "client"))
    received = measured["end"]["sum_received"]["bytes"]
    assert rows["iperf"]["bytes_delivered"] == pytest.approx(received, rel=0.15)


def test_captures_come_from_both_machines(home: Home, key_file: Path, tmp_path: Path) -> None:
    with agents(home, key_file, tmp_path):
        result = run(home, tmp_path, scenario(tmp_path, key_file), "--capture", "--set", "duration=2 s")
    files = sorted(file.name for file in (tmp_path / "out").rglob("*.pcap*"))
    assert [name.rpartition(".")[0] for name in files] == ["client-eth0", "client-wlan0", "server-net0"]
    done = mptcplab(home.client, "analyze", *map(str, sorted((tmp_path / "out").rglob("*.pcap*"))), "--json")
    assert done.returncode == 0, done.stderr
    (connection,) = [each for each in json.loads(done.stdout)["connections"] if len(each["subflows"]) > 1]
    assert {each["client"].partition(":")[0] for each in connection["subflows"]} == set(CLIENT.values())
    assert result.connections.height == 1
