"""`analyze` on the simulator's own captures gives the numbers of the simulator's own result."""

import os
import shutil
import subprocess
from pathlib import Path

import mptcplab
import polars as pl
import pytest
from mptcplab.capture.settings import Capture
from mptcplab.scenario import Scenario

WITHIN = 0.01
CORRUPTED = "one-subflow-closed"
"""A box changes what a subflow carries: the receiver throws away what arrived, which no header tells."""

LOSSY = """
title = "Losses both ways"
duration = "6 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "1 BDP"
loss = "1 %"
[link.b]
rate = "5 Mbit/s"
delay = "40 ms"
queue = "1 BDP"
loss = "0.5 %"
[connection.m]
paths = ["a", "b"]
[connection.upload]
paths = ["b", "a"]
direction = "up"
application = { kind = "file", size = "2 MB" }
[connection.t]
paths = ["a"]
protocol = "tcp"
[measure]
warmup = "1 s"
"""

SCENARIOS = {
    "wifi-lte": (Path("scenarios/wifi-lte.toml"), ["duration=8 s"]),
    "two-paths": (Path("scenarios/two-paths.toml"), ["duration=8 s", "measure.warmup=2 s"]),
    "lossy": (LOSSY, []),
    # Its Wi-Fi goes at 3 s and is there again at 6 s.
    "wifi-dies": (Path("scenarios/wifi-dies.toml"), ["duration=9 s"]),
    "middleboxes": (Path("scenarios/middleboxes.toml"), []),
    "redundant": (
        Path("scenarios/two-paths.toml"),
        ["duration=4 s", "measure.warmup=0 s", "connection.m.scheduler=redundant"],
    ),
}


def _scenario(name: str, directory: Path) -> Scenario:
    text, overrides = SCENARIOS[name]
    if isinstance(text, Path):
        text = (Path(__file__).parents[2] / text).read_text(encoding="utf-8")
    if name == "wifi-dies":
        text = text.replace('"10 s"', '"3 s"').replace('"20 s"', '"6 s"')
    file = directory / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return Scenario.load(file, overrides=overrides)


@pytest.fixture(scope="module", params=list(SCENARIOS))
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, mptcplab.Result, mptcplab.capture.Analysis, Path]:
    name: str = request.param
    directory = tmp_path_factory.mktemp(name)
    scenario = _scenario(name, directory)
    captures = directory / "captures"
    captures.mkdir()
    result = mptcplab.run(scenario, capture=Capture(captures))
    files = sorted(captures.iterdir())
    # Times of an analysis count from the first packet, those of the scenario from its beginning.
    first_ns = mptcplab.analyze(files).summary["start_ns"]
    warmup_s = scenario.description()["warmup_ns"] / 1e9
    return name, result, mptcplab.analyze(files, from_s=max(0.0, warmup_s - first_ns / 1e9)), captures


def _first_addresses(result: mptcplab.Result) -> list[str]:
    """The client's address on the first path of each connection, as the simulator gives them."""
    addresses, number = [], 1
    for paths in result.connections["paths"]:
        addresses.append(f"10.0.{number >> 8}.{number & 255}")
        number += len(paths)
    return addresses


def _numbers(result: mptcplab.Result, analysis: mptcplab.capture.Analysis) -> dict[str, int]:
    """The analysis' number of each connection of the result, by its name."""
    by_address = {client.rpartition(":")[0]: number for number, client in enumerate(analysis.connections["client"])}
    found = {}
    for name, index, address in zip(
        result.connections["name"], result.connections["index"], _first_addresses(result), strict=True
    ):
        found[f"{name} {index}"] = by_address[address]
    return found


def test_connections(both: tuple[str, mptcplab.Result, mptcplab.capture.Analysis, Path]) -> None:
    _, result, analysis, _ = both
    numbers = _numbers(result, analysis)
    for row in result.connections.iter_rows(named=True):
        number = numbers[f"{row['name']} {row['index']}"]
        direction = "up" if row["name"] == "upload" else "down"
        stream = analysis.streams.row(
            by_predicate=(pl.col("connection") == number) & (pl.col("direction") == direction), named=True
        )
        who = f"{row['name']}: {stream}"
        assert stream["bytes"] == pytest.approx(row["bytes_delivered"], rel=WITHIN), who
        assert stream["goodput_bps"] == pytest.approx(row["goodput_bps"], rel=WITHIN), who
        if row["name"] == CORRUPTED:
            continue
        assert stream["out_of_order_delay_mean_s"] == pytest.approx(
            row["out_of_order_delay_mean_s"], rel=WITHIN, abs=1e-6
        )
        assert (stream["missed_bytes"], stream["unmapped_bytes"]) == (0, 0), who
        fallen = analysis.connections["fallback_reason"][number] is not None
        assert fallen == row["fallback"], analysis.connections.row(number, named=True)


def test_subflows(both: tuple[str, mptcplab.Result, mptcplab.capture.Analysis, Path]) -> None:
    _, result, analysis, _ = both
    numbers = _numbers(result, analysis)
    addresses = dict(zip(numbers, _first_addresses(result), strict=True))
    paths = {f"{row['name']} {row['index']}": row["paths"] for row in result.connections.iter_rows(named=True)}
    compared = 0
    for row in result.subflows.iter_rows(named=True):
        whose = f"{row['connection']} {row['index']}"
        network, _, host = addresses[whose].rpartition(".")
        address = f"{network}.{int(host) + paths[whose].index(row['path'])}"
        subflows = analysis.subflows.filter(pl.col("client").str.starts_with(f"{address}:"))
        # What a box made of a join is a connection of its own for whoever sees packets only.
        mine = subflows.filter(connection=numbers[whose])
        assert mine.height == 1, subflows
        direction = "up" if row["connection"] == "upload" else "down"
        flow = analysis.flows.row(
            by_predicate=(pl.col("connection") == numbers[whose])
            & (pl.col("subflow") == mine["subflow"].item())
            & (pl.col("direction") == direction),
            named=True,
        )
        who = f"{whose} on {row['path']}: {flow}"
        assert flow["segments_sent"] == row["segments_sent"], who
        assert flow["retransmissions"] == pytest.approx(row["retransmissions"], rel=WITHIN), who
        assert flow["reinjections"] == pytest.approx(row["reinjections"], rel=WITHIN), who
        compared += 1
        if row["connection"] == CORRUPTED:
            continue
        assert (flow["share"] or 0.0) == pytest.approx(row["share"] or 0.0, abs=WITHIN), who
        assert (flow["goodput_bps"] or 0.0) == pytest.approx(row["goodput_bps"] or 0.0, rel=WITHIN), who
    assert compared == result.subflows.height > 0


def test_what_the_scenarios_are_for(both: tuple[str, mptcplab.Result, mptcplab.capture.Analysis, Path]) -> None:
    name, result, analysis, _ = both
    total = result.subflows.select("retransmissions", "reinjections").sum().row(0, named=True)
    if name in ("wifi-dies", "redundant"):
        assert total["reinjections"] > 20
    if name == "lossy":
        assert total["retransmissions"] > 20
    if name == "middleboxes":
        reasons = analysis.connections["fallback_reason"].drop_nulls().to_list()
        assert any("removed from the SYN" in reason for reason in reasons), reasons
        assert "wrong" not in analysis.subflows["join_hmac"].to_list()
    else:
        assert set(analysis.subflows["join_hmac"].drop_nulls()) <= {"valid"}


_ERROR = 0x0080_0000
"""Severity of an error in Wireshark's expert information."""


def test_tshark_finds_nothing_malformed(both: tuple[str, mptcplab.Result, mptcplab.capture.Analysis, Path]) -> None:
    _, _, _, captures = both
    if shutil.which("tshark") is None:
        assert os.environ.get("MPTCPLAB_REQUIRE_TSHARK") != "1", (
            "MPTCPLAB_REQUIRE_TSHARK=1, and tshark is not installed"
        )
        pytest.skip("tshark is not installed (Debian: apt-get install tshark)")
    for file in sorted(captures.iterdir()):
        fields = ["frame.number", "_ws.malformed", "_ws.expert.severity", "tcp.seq_raw", "_ws.expert.message"]
        # The two longest captures have 100 000 packets; the first 5 000 have every kind of segment.
        command = ["tshark", "-r", str(file), "-c", "5000", "-o", "tcp.check_checksum:TRUE"]
        command += ["-o", "mptcp.analyze_mappings:TRUE"]
        # The content looks random, and now and then like Thrift.
        command += ["--disable-heuristic", "thrift_tcp"]
        command += ["-T", "fields", "-E", "separator=|", "-E", "aggregator=;", *(f"-e{field}" for field in fields)]
        rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        assert len(rows) > 50
        for row in rows:
            number, malformed, severities, sequence, messages = row.split("|", 4)
            assert sequence != "", f"{file.name} packet {number} is not TCP for tshark"
            assert malformed == "", f"{file.name} packet {number}"
            worst = max((int(severity) for severity in severities.split(";") if severity), default=0)
            assert worst < _ERROR, f"{file.name} packet {number}: {messages}"
