"""`mptcplab analyze` and `mptcplab run --capture`, as a user meets them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mptcplab import cli

from tests.conftest import TWO_PATHS

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def result_with_captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: with its report it takes seconds."""
    place = tmp_path_factory.mktemp("captured")
    (place / "two-paths.toml").write_text(TWO_PATHS, encoding="utf-8")
    run = ["run", str(place / "two-paths.toml"), "--set", "duration=2500 ms"]
    assert cli.invoke([*run, "--out", str(place / "out"), "--capture"]) == 0
    return place / "out"


@pytest.fixture
def captures(result_with_captures: Path, tmp_path: Path) -> list[Path]:
    """In a result of the test's own."""
    shutil.copytree(result_with_captures, tmp_path / "out")
    return sorted((tmp_path / "out" / "captures").iterdir())


def test_a_run_writes_a_capture_for_each_interface(captures: list[Path]) -> None:
    assert [file.name for file in captures] == [
        "client-lte.pcapng",
        "client-wifi.pcapng",
        "server-lte.pcapng",
        "server-wifi.pcapng",
    ]


def test_captures_alone_go_to_a_directory_of_their_own(call: Call, scenario_file: Path, tmp_path: Path) -> None:
    packets = tmp_path / "packets"
    run = ("run", scenario_file, "--set", "duration=2500 ms")
    for _ in range(2):  # the second replaces the first
        done = call(*run, "--capture", packets)
        assert (done.status, done.err) == (0, f"wrote {packets / '*.pcapng'}\n")
    assert len(list(packets.glob("*.pcapng"))) == 4
    assert call("analyze", *packets.glob("*.pcapng")).status == 0
    (packets / "notes.md").write_text("precious")
    done = call(*run, "--capture", packets)
    assert (done.status, done.out) == (2, "")
    assert "notes.md" in done.err


def test_captures_replace_no_result_and_are_not_inside_one(
    call: Call, captures: list[Path], scenario_file: Path, tmp_path: Path
) -> None:
    out = captures[0].parents[1]
    run = ("run", scenario_file, "--set", "duration=2500 ms")
    done = call(*run, "--capture", out)
    assert (done.status, done.out) == (2, "")
    assert "does not contain captures of a run" in done.err
    for packets in (out, out / "mine", tmp_path):
        done = call(*run, "--out", out, "--capture", packets)
        assert (done.status, done.out) == (2, "")
        assert "one is inside the other" in done.err
    assert (out / "result.json").exists()
    both = call(*run, "--out", out, "--capture", tmp_path / "packets")
    assert both.status == 0
    assert not (out / "captures").exists()
    assert len(list((tmp_path / "packets").glob("*.pcapng"))) == 4


def test_the_scenario_may_follow_capture(call: Call, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("run", "--set", "duration=2500 ms", "--out", out, "--capture", scenario_file)
    assert done.status == 0
    assert len(list((out / "captures").iterdir())) == 4
    done = call("run", "--out", out)
    assert done.status == 2
    assert "FILE is missing" in done.err


def test_tables_report_and_document(call: Call, captures: list[Path], tmp_path: Path) -> None:
    done = call("analyze", *captures, "--out", tmp_path / "packets")
    assert (done.status, done.err.splitlines()[-1]) == (0, f"wrote {tmp_path / 'packets' / 'report.html'}")
    for heading in ("Summary", "Paths", "Connections", "Longest silences"):
        assert f"\n{heading}\n" in f"\n{done.out}"
    assert "mptcp v1" in done.out
    page = (tmp_path / "packets" / "report.html").read_text(encoding="utf-8")
    assert "<h2>Data sequence over time</h2>" in page
    flows = pl.read_parquet(tmp_path / "packets" / "flows.parquet")
    assert flows.filter(connection=0, direction="down")["share"].sum() == pytest.approx(1.0)
    document = json.loads(call("analyze", *captures, "--json").out)
    assert [connection["protocol"] for connection in document["connections"]] == ["mptcp", "tcp", "tcp"]


def test_only_an_earlier_analysis_is_replaced(call: Call, captures: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "packets"
    for _ in range(2):
        assert call("analyze", *captures, "--out", out).status == 0
    (out / "notes.md").write_text("precious")
    done = call("analyze", *captures, "--out", out)
    assert (done.status, done.out) == (2, ""), "refused before anything is read"
    assert "notes.md" in done.err
    assert (out / "notes.md").read_text() == "precious"
    # The directory of a run's result is no analysis, whose report has the same name.
    result = captures[0].parents[1]
    before = (result / "report.html").read_bytes()
    assert call("analyze", *captures, "--out", result).status == 2
    assert (result / "report.html").read_bytes() == before


def test_a_folder_becomes_one_dataset(call: Call, captures: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "many"
    (folder / "both-ends").mkdir(parents=True)
    for capture in captures:
        (folder / "both-ends" / capture.name).write_bytes(capture.read_bytes())
    (folder / "alone.pcapng").write_bytes(captures[0].read_bytes())
    (folder / "broken.pcap").write_bytes(b"none")
    (folder / "README.txt").write_text("passed over")
    done = call("analyze", folder, "--out", tmp_path / "dataset")
    assert done.status == 0, done.err
    assert "both-ends: 3 connections, 1 of them MPTCP, " in done.out
    assert "broken.pcap was skipped: " in done.err
    assert "README" not in done.out + done.err
    connections = pl.read_parquet(tmp_path / "dataset" / "connections.parquet")
    assert connections.columns[0] == "capture"
    assert set(connections["capture"]) == {"alone.pcapng", "both-ends"}
    together = json.loads(call("analyze", *captures, "--json").out)
    assert (
        json.loads(call("analyze", folder, "--json").out)["captures"]["both-ends"]["connections"]
        == (together["connections"])
    )


def test_a_folder_without_captures_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = call("analyze", tmp_path / "empty")
    assert (done.status, "no captures" in done.err) == (2, True)


def test_a_capture_that_is_cut_off_is_read_and_noted(call: Call, captures: list[Path]) -> None:
    file = captures[0]
    file.write_bytes(file.read_bytes()[:-3])
    done = call("analyze", file)
    assert done.status == 0
    assert f"note: {file}: the file is cut off in a block at byte" in done.err


def test_what_is_no_capture_is_refused(call: Call, scenario_file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcapng"
    empty.write_bytes(b"")
    for file, words in (
        (scenario_file, "not a capture: it begins with the bytes 0a 74 69 74"),
        (empty, "not a capture: the file is empty"),
        (tmp_path / "nowhere.pcap", "no such file"),
    ):
        done = call("analyze", file)
        assert (done.status, done.out) == (2, "")
        assert f"error: {file}: {words}" in done.err
    done = call("analyze", empty, tmp_path)
    assert f"error: {tmp_path}: a directory; name the captures in it" in done.err, "a folder stands alone"


def test_a_capture_without_tcp_is_refused(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "other.pcap"
    # Little-endian, link type 147, one packet of a byte.
    header = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 93000000")
    file.write_bytes(header + bytes.fromhex("00000000 00000000 01000000 01000000 45"))
    done = call("analyze", file)
    assert done.status == 2
    assert f"error: {file}: no TCP in its 1 packets (link type 147 is not supported" in done.err


def test_captures_need_a_directory_and_an_engine_with_packets(call: Call, scenario_file: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    assert "give --capture DIR, or --out DIR" in call("run", scenario_file, "--capture").err
    for more, status, words in (
        (("--engine", "model"), 3, "the engine model cannot capture packets"),
        (("--repeat", "2"), 2, "a capture covers one run, not 2"),
    ):
        done = call("run", scenario_file, "--capture", *out, *more)
        assert done.status == status
        assert words in done.err
    assert not (tmp_path / "out").exists()
