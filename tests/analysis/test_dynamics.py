"""Flappiness, traffic shift and settling time: worked by hand."""

import math

import numpy as np
import polars as pl
import pytest
from mptcplab import analysis, metrics
from mptcplab.metrics import MetricInputError


def samples(windows: list[tuple[float, float]], step_s: float = 1.0) -> pl.DataFrame:
    """A run of one connection with two subflows, beside a link's rows and a connection of one."""
    rows = []
    for moment, pair in enumerate(windows, start=1):
        for subflow, window in enumerate(pair):
            rows.append((0, 1, moment * step_s, "subflow", "m", 0, subflow, window * 100, window))
        rows.append((0, 1, moment * step_s, "subflow", "t", 0, 0, 5.0, 5.0))
        rows.append((0, 1, moment * step_s, "link", None, None, None, None, None))
    names = ["repeat", "seed", "time_s", "kind", "connection", "index", "subflow", "goodput_bps", "cwnd_segments"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def test_flips_by_hand() -> None:
    # Path 1 has it, half way back, path 1 again (none), path 2 (one), even, path 2 (none), path 1 (two).
    windows = [(9, 1), (5, 5), (8, 2), (1, 9), (5, 5), (2, 8), (19, 1)]
    assert metrics.flips(windows) == 2
    assert metrics.flips(windows, dominance=0.9) == 2
    assert metrics.flips(windows, dominance=0.95) == 0, "no path but the last has as much"
    assert metrics.flips([(5, 5)] * 10) == 0
    assert metrics.flips([(9, 1), (0, 0), (1, 9)]) == 1, "nothing is no path's"
    with pytest.raises(MetricInputError, match="dominance"):
        metrics.flips(windows, dominance=0.5)
    found = analysis.flappiness(samples([(float(a), float(b)) for a, b in windows]))
    assert found.to_dicts() == [
        {"repeat": 0, "seed": 1, "connection": "m", "index": 0, "flips": 2, "flips_per_min": 60 * 2 / 6}
    ]


def test_shift_by_hand() -> None:
    assert metrics.traffic_shift([5, 5]) == 0
    assert metrics.traffic_shift([10, 0]) == 1
    # 94 % of two paths: (0.94 − 0.5)/0.5; half of three: (1/2 − 1/3)/(2/3).
    assert metrics.traffic_shift([94, 6]) == pytest.approx(0.88)
    assert metrics.traffic_shift([2, 1, 1]) == pytest.approx(0.25)
    assert math.isnan(metrics.traffic_shift([0, 0]))
    with pytest.raises(MetricInputError, match="two paths"):
        metrics.traffic_shift([1])
    assert analysis.traffic_shift(samples([(3.0, 1.0), (1.0, 3.0), (9.0, 1.0)]))["traffic_shift"][0] == pytest.approx(
        2 * 13 / 18 - 1
    )
    late = analysis.traffic_shift(samples([(3.0, 1.0), (1.0, 3.0), (9.0, 1.0)]), since_s=2.0)
    assert late["traffic_shift"][0] == pytest.approx(0.8)


def test_settling_by_hand() -> None:
    times = np.arange(1.0, 31.0)
    # A step at 10 s from 0.8 to 0.5, approached by half each second: within 0.1 from 0.5 + 0.3/4 on, at 12 s.
    values = np.where(times <= 10, 0.8, 0.5 + 0.3 * 0.5 ** (times - 10))
    assert metrics.settling_time_s(times, values, since_s=10, tolerance=0.1) == pytest.approx(2)
    assert metrics.settling_time_s(times, values, since_s=10, tolerance=0.01) == pytest.approx(5)
    assert metrics.settling_time_s(times, values, since_s=10, tolerance=0.4) == 0
    assert metrics.settling_time_s(times, values, since_s=10, tolerance=0.1, final=0.8) is None
    assert metrics.settling_time_s(times, times % 2, since_s=10, tolerance=0.1) is None
    # Averaged over 2 s an oscillation by the second is flat.
    assert metrics.settling_time_s(times, times % 2, since_s=10, tolerance=0.1, average_s=2.0) == pytest.approx(2)
    with pytest.raises(MetricInputError, match="no sample is after since_s"):
        metrics.settling_time_s(times, values, since_s=30)
    with pytest.raises(MetricInputError, match="increase"):
        metrics.settling_time_s([1, 1], [1, 1], since_s=0)
    found = analysis.settling_time(samples([(float(v), float(1 - v)) for v in values]), since_s=10, average_s=0.0)
    assert found["settling_time_s"].to_list() == pytest.approx([2])


def test_shares_over_time() -> None:
    found = analysis.shares_over_time(samples([(3.0, 1.0)]), column="cwnd_segments")
    assert found.filter(connection="m")["share"].to_list() == [0.75, 0.25]
    assert found.filter(connection="t")["share"].to_list() == [1.0]
