"""Our stack at one end and the kernel at the other, for real: a file each way, and what is refused by name."""

import os
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.cli import main
from mptcplab.engines import catalogue, runner
from mptcplab.engines.catalogue import MIXED
from mptcplab.scenario import Scenario

MISSING = [finding.what for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"), reason=f"it needs {', '.join(MISSING)}"
)

SIZE_BYTES = 1_000_000
TWO_PATHS = """
title = "a file over two paths"
duration = "4 s"
[link.a]
rate = "8 Mbit/s"
delay = "10 ms"
queue = "2 BDP"
loss = "0.5 %"
[link.b]
rate = "4 Mbit/s"
delay = "20 ms"
queue = "2 BDP"
[connection.c]
paths = ["a", "b"]
protocol = "mptcp"
congestion = "reno"
path_manager = "fullmesh"
application = {{ kind = "file", size = "1 MB" }}
direction = "{direction}"
[measure]
warmup = "0 s"
sample = "100 ms"
"""
# Faults of the kernel's Multipath TCP, or of what it was told.
FAULTS = (
    "DSSNotMatching",
    "DSSNoMatchTCP",
    "DSSCorruptionReset",
    "DSSCorruptionFallback",
    "DssFallback",
    "DataCsumErr",
)


def scenario(direction: str, *overrides: str) -> Scenario:
    return Scenario.from_toml(TWO_PATHS.format(direction=direction), "mixed.toml", list(overrides))


@live
@pytest.mark.parametrize("engine", list(MIXED))
@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_file_arrives_over_both_paths(engine: str, direction: str) -> None:
    result = runner.run(scenario(direction), engine)
    ((_, run),) = result.runs
    (row,) = run.connections.to_dicts()
    assert row["bytes_delivered"] == SIZE_BYTES
    # 12 Mbit/s in all would take 0.7 s; a busy machine and slow start take more.
    assert 0.7 < row["completion_s"] < 3.5
    assert not row["fallback"]
    assert run.subflows["path"].to_list() == ["a", "b"]
    # Bytes in order on each subflow: what was sent again on the other counts twice where the kernel receives.
    assert all(each > 0.1 for each in run.subflows["share"].to_list())
    sent = run.subflows["segments_sent"].to_list()
    # Slow start runs over both queues. The kernel to itself sends 818 to 851 segments, ours to itself 790.
    assert SIZE_BYTES / 1460 <= sum(sent) < 1.3 * SIZE_BYTES / 1400
    assert all(rtt > 0.02 for rtt in run.subflows["rtt_mean_s"].to_list())
    # Who sends is who tells: the kernel knows of no reinjections.
    ours_sends = (engine == "stack-linux") == (direction == "up")
    assert [each is not None for each in run.subflows["reinjections"].to_list()] == [ours_sends] * 2
    assert run.samples.height > 0
    assert run.live is not None
    assert run.live["ends"]["client" if engine == "stack-linux" else "server"] == "stack"
    (counters,) = run.live["mptcp_counters"].values()
    assert not set(FAULTS) & set(counters), counters


@live
def test_requests_one_after_another_with_the_kernel_as_server() -> None:
    requests = 'connection.c.application={ kind = "requests", size = "20 kB" }'
    run = runner.run(scenario("down", requests, "connection.c.stop=2 s", "duration=3 s"), "stack-linux").runs[0][1]
    (row,) = run.connections.to_dicts()
    assert row["transfers_complete"] > 5
    assert row["bytes_delivered"] >= 20_000 * row["transfers_complete"]


def test_what_the_sender_lacks_is_refused_and_what_the_receiver_lacks_is_not() -> None:
    blest = "connection.c.scheduler=blest"
    assert [each.key for each in catalogue.find("stack-linux").unsupported(scenario("down", blest))] == [
        "connection.c.scheduler"
    ]
    assert catalogue.find("stack-linux").unsupported(scenario("up", blest)) == []
    assert [each.key for each in catalogue.find("linux-stack").unsupported(scenario("up", blest))] == [
        "connection.c.scheduler"
    ]
    assert catalogue.find("linux-stack").unsupported(scenario("down", blest)) == []


def test_a_client_of_the_kernels_has_one_kind_of_connection() -> None:
    text = TWO_PATHS.format(direction="down")
    other = text[text.index("[connection.c]") : text.index("[measure]")].replace("[connection.c]", "[connection.d]")
    two = Scenario.from_toml(text + other, "mixed.toml", [])
    assert [each.key for each in catalogue.find("linux-stack").unsupported(two)] == ["connection"]
    assert catalogue.find("stack-linux").unsupported(two) == []


@live
def test_the_command_refuses_with_status_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mixed.toml"
    file.write_text(TWO_PATHS.format(direction="up"), encoding="utf-8")
    many = 'connection.c.path_manager={ name = "ndiffports", subflows = 2 }'
    with pytest.raises(SystemExit) as ended:
        main(["run", str(file), "--engine", "linux-stack", "--set", many])
    assert ended.value.code == 3
    assert "fullmesh, backup or default" in capsys.readouterr().err
