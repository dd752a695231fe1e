"""Bytes in flight and the advertised window, out of a capture."""

from pathlib import Path

import mptcplab
import numpy as np
import polars as pl
from mptcplab.capture.figures import figures
from mptcplab.capture.in_flight import in_flight
from mptcplab.capture.settings import Capture


def test_by_hand() -> None:
    # 100 bytes on subflow 0 at 1 s, the next 50 on 1 at 2 s; the first again on 0 at 3 s (counted once), on 1 at 4 s;
    # all 150 are acknowledged at 5 s. What is sent at 6 s stays.
    sent = pl.DataFrame(
        {
            "time_s": [1.0, 2.0, 3.0, 4.0, 6.0],
            "subflow": [0, 1, 0, 1, 1],
            "offset": [0, 100, 0, 0, 150],
            "length": [100, 50, 100, 100, 10],
            "kind": ["new", "new", "retransmission", "reinjection", "new"],
        }
    )
    acks = pl.DataFrame({"time_s": [4.5, 5.0], "offset": [60, 150]})
    found = in_flight(sent, acks, np.array([0.5, 1.0, 2.5, 3.5, 4.25, 4.75, 5.0, 7.0]))
    assert found[0].tolist() == [0, 100, 100, 100, 100, 100, 0, 0]
    assert found[1].tolist() == [0, 0, 50, 50, 150, 150, 0, 10]


def test_the_window_bounds_what_is_in_flight(tmp_path: Path) -> None:
    scenario = mptcplab.Scenario.load("wifi-lte").with_(
        {"measure.warmup": "0 s", "connection.download.receive_buffer": "100 kB"}, duration="3 s"
    )
    mptcplab.run(scenario, capture=Capture(tmp_path))
    analysis = mptcplab.analyze(sorted(tmp_path.iterdir()))
    download = analysis.acks.filter(connection=0, direction="down")
    assert download["window"].max() == 100_000, "as the scenario has it; the buffer is empty when all is read"
    figure = next(figure for figure in figures(analysis) if figure.name == "window")
    points = figure.panels[0].data["points"]
    peak = points.filter(series="in flight")["value"].max()
    assert isinstance(peak, float)
    assert 90 < peak <= 100


def test_no_window_without_its_scale(tmp_path: Path) -> None:
    scenario = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    mptcplab.run(scenario, capture=Capture(tmp_path))
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        blocks, place = [], 0
        while place < len(content):
            length = int.from_bytes(content[place + 4 : place + 8], "little")
            blocks.append(content[place : place + length])
            place += length
        packets = [number for number, block in enumerate(blocks) if block[:4] == b"\6\0\0\0"]
        file.write_bytes(b"".join(block for number, block in enumerate(blocks) if number not in packets[:2]))
    analysis = mptcplab.analyze(sorted(tmp_path.iterdir()))
    assert analysis.acks.height > 100
    assert analysis.acks["window"].null_count() == analysis.acks.height
    figure = next(figure for figure in figures(analysis) if figure.name == "window")
    assert set(figure.panels[0].data["points"]["series"]) == {"in flight"}
