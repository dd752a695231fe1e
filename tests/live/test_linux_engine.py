"""The engine `linux` for real: short runs in namespaces of their own.

What it shows it must show on a busy machine too, so bounds are those of physics and of order, not of speed.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab import machine
from mptcplab.engines.catalogue import ENGINES
from mptcplab.engines.linux import kernel, refusals
from mptcplab.scenario import Scenario

from tests.networks import FAST_AND_SLOW

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING),
    reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)

TWO_PATHS = (
    """
duration = "4 s"
"""
    + FAST_AND_SLOW
    + """
[connection.m]
paths = ["fast", "slow"]
congestion = "reno"
[measure]
warmup = "1 s"
"""
)


def run(text: str, *overrides: str) -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(text, "live.toml", overrides), engine="linux")


def test_ci_has_what_it_takes() -> None:
    """Where CI is root, nothing below may be left out."""
    if os.environ.get("MPTCPLAB_REQUIRE_LIVE"):
        assert not MISSING


@live
def test_a_kernel_parameter_of_the_scenario_is_set_and_recorded() -> None:
    text = 'sysctl = { "net.ipv4.tcp_frto" = 0, "net.ipv4.tcp_rmem" = "4096 60000 60000" }' + TWO_PATHS
    result = run(
        text, "duration=2 s", "link.fast.delay=100 ms", "connection.m.protocol=tcp", 'connection.m.paths=["fast"]'
    )
    (done,) = [run for _, run in result.runs]
    assert done.live is not None
    assert done.live["kernel"]["parameters"]["net.ipv4.tcp_frto"] == "0"
    # No more than the receive buffer is in flight in a round trip.
    (goodput_bps,) = result.connections["goodput_bps"]
    assert goodput_bps <= 60_000 * 8 / 0.2


@live
def test_two_paths_are_joined() -> None:
    result = run(TWO_PATHS)
    (connection,) = result.connections.to_dicts()
    # 30 Mbit/s in all, of which 1,420 of 1,500 bytes are data. What waited for its order at 1 s comes on top.
    ceiling_bps = 30e6 * 1420 / 1500
    assert 0.6 * ceiling_bps < connection["goodput_bps"] < 1.15 * ceiling_bps
    assert (connection["congestion"], connection["scheduler"], connection["fallback"]) == ("reno", "linux", False)
    fast, slow = result.subflows.to_dicts()
    assert (fast["path"], slow["path"]) == ("fast", "slow")
    # Each path alone carries less than the whole.
    assert fast["share"] + slow["share"] == pytest.approx(1)
    assert 0.2 < slow["share"] < 0.5
    # Round trips take the propagation and at most the queue on top.
    assert 0.020 <= fast["rtt_mean_s"] < 0.1
    assert 0.040 <= slow["rtt_mean_s"] < 0.12
    assert fast["cwnd_mean_segments"] > 2
    down = result.links.filter(pl.col("direction") == "down")
    assert down["utilization"].min() > 0.5  # type: ignore[operator]
    samples = result.samples
    assert set(samples["kind"].unique()) == {"subflow", "link"}
    assert samples.filter(pl.col("kind") == "subflow")["srtt_s"].drop_nulls().min() >= 0.02  # type: ignore[operator]


@live
def test_the_result_says_how_true_the_emulation_was() -> None:
    result = run(TWO_PATHS, "duration=2 s")
    told = result.to_dict()["live"]
    assert told["lateness_s"]["mean"] <= told["lateness_s"]["max"]
    assert told["smallest_rtt_s"] == pytest.approx(0.0212)
    assert told["packets"] > 1000
    assert told["mptcp_counters"]["m client"]["MPCapableSYNTX"] == 1
    assert told["mptcp_counters"]["m server"]["MPJoinAckRx"] == 1
    assert any("packets came late by" in note for note in result.notes)
    if not told["valid"]:
        assert any(note.startswith("INVALID") for note in result.notes)


@live
@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_file_arrives_whole_and_not_before_it_can(direction: str) -> None:
    result = run(
        TWO_PATHS,
        'connection.m.application={ kind = "file", size = "2 MB" }',
        f"connection.m.direction={direction}",
        "measure.warmup=0 s",
    )
    (connection,) = result.connections.to_dicts()
    assert connection["bytes_delivered"] == 2_000_000
    # Handshake and half a round trip of the faster path, then 2 MB at 30 Mbit/s; with slow start it takes longer.
    assert 0.03 + 2e6 * 8 / 30e6 * 1500 / 1420 < connection["completion_s"] < 3
    assert result.subflows["segments_sent"].sum() >= 2_000_000 / 1448


@live
def test_losses_of_the_link_are_seen_by_the_sender() -> None:
    result = run(TWO_PATHS, "link.fast.down.loss=2 %", "duration=3 s", "measure.warmup=0 s")
    fast = result.subflows.filter(pl.col("path") == "fast").to_dicts()[0]
    link = result.links.filter((pl.col("name") == "fast") & (pl.col("direction") == "down")).to_dicts()[0]
    assert link["drops"] > 0
    assert fast["retransmissions"] >= link["drops"] // 2
    assert fast["loss_rate"] == pytest.approx(link["loss_rate"], rel=0.2)


@live
def test_a_link_that_dies_carries_nothing_more() -> None:
    text = TWO_PATHS + '[[event]]\nat = "1500 ms"\nlink = "fast"\nset = { down = true }\n'
    result = run(text, "measure.warmup=0 s")
    samples = result.samples.filter((pl.col("kind") == "link") & (pl.col("link") == "fast"))
    late = samples.filter(pl.col("time_s") > 1.65)
    assert late["utilization"].max() == 0
    (connection,) = result.connections.to_dicts()
    assert not connection["fallback"]
    assert connection["bytes_delivered"] > 500_000


@live
def test_every_application_and_tcp_beside() -> None:
    text = TWO_PATHS + (
        '[connection.requests]\npaths = ["fast"]\nprotocol = "tcp"\ncongestion = "cubic"\n'
        'application = { kind = "requests", size = "8 kB", limit = "2 s" }\n'
        '[connection.rate]\npaths = ["slow", "fast"]\ncongestion = "reno"\n'
        'application = { kind = "rate", rate = "1 Mbit/s" }\n'
        '[connection.flows]\npaths = ["fast", "slow"]\ncongestion = "reno"\n'
        'application = { kind = "flows", size = { distribution = "exponential", mean = "20 kB" },'
        ' arrivals = { distribution = "poisson", rate = "10 /s" } }\nstop = "2 s"\n'
    )
    result = run(text)
    rows = {row["name"]: row for row in result.connections.to_dicts()}
    assert rows["requests"]["transfers_complete"] > 3
    # A request takes a handshake and the way back at least.
    assert min(rows["requests"]["transfer_times_s"]) > 0.03
    assert rows["flows"]["transfers_begun"] >= rows["flows"]["transfers_complete"] > 0
    assert rows["rate"]["goodput_bps"] == pytest.approx(1e6, rel=0.15)
    assert rows["requests"]["scheduler"] is None


@live
@pytest.mark.parametrize(("manager", "subflows"), [("default", 1), ("fullmesh", 2), ("backup", 2)])
def test_path_managers(manager: str, subflows: int) -> None:
    result = run(TWO_PATHS, f"connection.m.path_manager={manager}", "duration=2 s")
    assert len(result.subflows) == subflows
    if manager == "backup":
        # The second stands by.
        assert result.subflows["share"][1] < 0.05


@live
def test_several_subflows_share_one_path() -> None:
    manager = 'connection.m.path_manager={ name = "ndiffports", subflows = 3 }'
    result = run(TWO_PATHS, 'connection.m.paths=["fast"]', manager, "duration=2 s")
    assert result.subflows["path"].to_list() == ["fast"] * 3


@pytest.mark.parametrize(
    ("override", "key", "found"),
    [
        ("connection.m.scheduler=blest", "connection.m.scheduler", "blest"),
        ("connection.m.scheduler=min-rtt", "connection.m.scheduler", "min-rtt"),
        ("connection.m.congestion=wvegas", "connection.m.congestion", "wvegas"),
        ("connection.m.path_manager=binder", "connection.m.path_manager", "binder"),
        ('connection.m.path_manager={ name = "ndiffports", subflows = 9 }', "connection.m.path_manager", "9 subflows"),
        ("connection.m.tcp={ pacing = true }", "connection.m.tcp.pacing", "true"),
        ("connection.m.count=1001", "connection", "1001 connections"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_by_name(override: str, key: str, found: str) -> None:
    (problem,) = ENGINES["linux"].unsupported(Scenario.from_toml(TWO_PATHS, "live.toml", [override]))
    assert problem.key == key
    assert found in problem.found


def test_how_losses_are_found_is_the_one_thing_of_tcp_that_the_kernel_is_told() -> None:
    asked = Scenario.from_toml(TWO_PATHS, "live.toml", ['connection.m.tcp={ loss_detection = "newreno" }'])
    assert ENGINES["linux"].unsupported(asked) == []
    # tcp_sack, tcp_recovery, tcp_early_retrans: without SACK it is RFC 6582, without RACK and its probes RFC 6675, and
    # Linux's own values are those of RFC 8985.
    told = {each: list(kernel.recovery(each).values()) for each in ("newreno", "sack", "rack-tlp")}
    assert told == {"newreno": [0, 0, 0], "sack": [1, 0, 0], "rack-tlp": [1, 1, 3]}


def test_the_kernels_own_window_validation_is_no_departure_and_other_options_are() -> None:
    kernels = '{ window_validation = "linux", tso = true, receiver = "linux" }'
    own = Scenario.from_toml(TWO_PATHS, "live.toml", [f"connection.m.tcp={kernels}"])
    assert ENGINES["linux"].unsupported(own) == []
    paced = Scenario.from_toml(TWO_PATHS, "live.toml", ["connection.m.tcp={ pacing = true }"])
    assert [problem.key for problem in ENGINES["linux"].unsupported(paced)] == ["connection.m.tcp.pacing"]


def test_a_kernel_that_a_scenario_names_must_be_the_one_that_runs() -> None:
    asked = Scenario.from_toml(TWO_PATHS, "live.toml", ['connection.m.tcp={ kernel = "6.1" }'])
    assert refusals.unsupported(asked, versions=("6.12.117", "6.1.192")) == []
    (problem,) = refusals.unsupported(asked, versions=("6.12.117",))
    assert (problem.key, problem.expected) == (
        "connection.m.tcp.kernel",
        "the version of the kernel that runs, Linux 6.12.117",
    )


def test_a_scheduler_that_nobody_names_is_the_kernels_own() -> None:
    assert ENGINES["linux"].unsupported(Scenario.from_toml(TWO_PATHS, "live.toml")) == []


def namespaces(process: str) -> set[int]:
    """The network namespaces that threads of a process (`*` for any) are in, but for our own."""
    found = set()
    for link in Path("/proc").glob(f"{process}/task/[0-9]*/ns/net"):
        try:
            found.add(link.stat().st_ino)
        except OSError:
            continue
    return found - {Path("/proc/self/ns/net").stat().st_ino}


@live
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_behind(tmp_path: Path, by: signal.Signals) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(TWO_PATHS.replace('"4 s"', '"600 s"'))
    program = "import sys; from mptcplab.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "run", str(scenario), "--engine", "linux"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while len(namespaces(str(process.pid))) < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
            hosts = namespaces(str(process.pid))
            assert len(hosts) >= 2, "the hosts never stood"
            # Held, so that no namespace of another test gets the same number when these have gone.
            links = Path("/proc").glob(f"{process.pid}/task/[0-9]*/ns/net")
            held = [os.open(link, os.O_RDONLY) for link in links]
            time.sleep(1)
            process.send_signal(by)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert not hosts & namespaces("[0-9]*")
    for each in held:
        os.close(each)
    if by == signal.SIGINT:
        assert process.returncode == 1
        assert "interrupted after 0 of 1 runs" in err
