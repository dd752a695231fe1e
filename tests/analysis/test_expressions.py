"""The metrics on frames give what the plain functions give, and null where those are undefined."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab import analysis, metrics

RATES = st.floats(0, 1e9, allow_subnormal=False)
POSITIVE = st.floats(1e-3, 1e9)
ROWS = st.lists(st.tuples(RATES, POSITIVE, POSITIVE), min_size=1, max_size=20)


def close(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


@given(ROWS)
def test_benefits_are_those_of_the_functions(rows: list[tuple[float, float, float]]) -> None:
    frame = pl.DataFrame(rows, schema=["g", "a", "b"], orient="row")
    found = frame.select(
        plain=analysis.aggregation_benefit("g", ["a", "b"]),
        tcp=analysis.experimental_aggregation_benefit("g", ["a", "b"]),
    )
    for (g, a, b), plain, tcp in zip(rows, found["plain"], found["tcp"], strict=True):
        assert close(plain, metrics.aggregation_benefit(g, [a, b]))
        assert close(tcp, metrics.experimental_aggregation_benefit(g, [a, b]))


def test_benefits_by_hand() -> None:
    frame = pl.DataFrame(
        {"g": [30.0, 20.0, 25.0, 10.0, 0.0, 33.0], "a": [20.0] * 6, "b": [10.0, 10.0, 10.0, 10.0, 10.0, 10.0]}
    )
    assert frame.select(x=analysis.aggregation_benefit("g", ["a", "b"]))["x"].to_list() == [1, 0, 0.5, -0.5, -1, 1.3]
    found = frame.select(x=analysis.experimental_aggregation_benefit("g", ["a", "b"]))["x"].to_list()
    assert found == [1, 0, 0.5, -0.5, -1, 1.1], "the third branch: 33/30"


def test_one_path_has_no_benefit_and_a_missing_path_is_not_a_slow_one() -> None:
    frame = pl.DataFrame({"g": [5.0, 5.0, None, -1.0, 5.0], "a": [10.0, 10.0, 10.0, 10.0, 10.0]}).with_columns(
        b=pl.Series([None, 5.0, 5.0, 5.0, 0.0])
    )
    for metric in (analysis.aggregation_benefit, analysis.experimental_aggregation_benefit):
        assert frame.select(x=metric("g", ["a", "b"]))["x"].to_list() == [None, -0.5, None, None, None]
        assert frame.select(x=metric("g", ["a"]))["x"].to_list() == [None] * 5


@given(st.lists(RATES, min_size=1, max_size=20))
def test_jain_and_shares_are_those_of_the_functions(rates: list[float]) -> None:
    frame = pl.DataFrame({"x": rates})
    index = frame.select(analysis.jain_index("x")).item()
    shares = frame.select(analysis.path_share("x")).to_series().to_list()
    if max(rates) == 0:
        assert index is None
        assert shares == [None] * len(rates)
        return
    assert close(index, metrics.jain_index(rates))
    assert all(close(share, part) for share, part in zip(shares, metrics.path_shares(rates), strict=True))


def test_groups() -> None:
    frame = pl.DataFrame(
        {"run": [1, 1, 2, 2, 3, 3], "x": [1.0, 1.0, 1.0, 3.0, 0.0, 0.0], "p": [0.01, 0.03, 0.01, 0.05, None, 0.5]}
    )
    found = frame.group_by("run", maintain_order=True).agg(
        jain=analysis.jain_index("x"), loss=analysis.mean_loss_rate("p", "x")
    )
    assert found["jain"].to_list()[:2] == pytest.approx([1.0, 0.8])
    assert found["jain"].to_list()[2] is None
    assert found["loss"].to_list()[:2] == pytest.approx([0.02, 0.04])
    assert found["loss"].to_list()[2] is None
    shares = frame.select(analysis.path_share("x").over("run")).to_series().to_list()
    assert shares == [0.5, 0.5, 0.25, 0.75, None, None]


def test_what_has_no_meaning_is_null() -> None:
    bad = pl.DataFrame({"x": [1.0, -1.0], "p": [0.1, 0.1]})
    assert bad.select(analysis.jain_index("x")).item() is None
    assert bad.select(analysis.mean_loss_rate("p", "x")).item() is None
    assert pl.DataFrame({"x": [1.0, 1.0], "p": [0.1, 1.1]}).select(analysis.mean_loss_rate("p", "x")).item() is None
    assert bad.select(x=analysis.normalised_throughput("x", pl.lit(2.0)))["x"].to_list() == [0.5, None]
    assert bad.select(x=analysis.normalised_throughput("x", pl.lit(0.0)))["x"].to_list() == [None, None]


def test_the_ratio_of_requests() -> None:
    frame = pl.DataFrame({"a": [30, 10, 0, 7], "b": [10, 30, 0, 0]})
    assert frame.select(x=analysis.request_ratio("a", "b"))["x"].to_list() == [0.5, -0.5, None, 1.0]


def test_batches_are_open_below_and_closed_above() -> None:
    edges = analysis.even_edges(0, 25, 5)
    assert edges == [0, 5, 10, 15, 20, 25]
    frame = pl.DataFrame({"delay": [0.0, 0.1, 5.0, 5.1, 25.0, 26.0, None]})
    found = frame.select(x=analysis.batch("delay", edges))["x"]
    assert found.to_list() == [None, "]0, 5]", "]0, 5]", "]5, 10]", "]20, 25]", None, None]
    assert found.sort(nulls_last=True).to_list()[0] == "]0, 5]", "in the order of the edges, not of the alphabet"
    kept = frame.select(x=analysis.batch("delay", edges, with_lowest=True))["x"].to_list()
    assert kept[:3] == ["[0, 5]", "[0, 5]", "[0, 5]"]
    for wrong in ([1.0], [2.0, 1.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="increasing"):
            analysis.batch("delay", wrong)
    with pytest.raises(ValueError, match="at least one batch"):
        analysis.even_edges(0, 1, 0)


def test_sensitivity_by_hand() -> None:
    # Medians 0.1, 0.2, 0.3: standard deviation 0.1, which is 5 % of the range from −1 to 1. Quartiles move alike.
    values = [[-0.4 + move, 0.1 + move, 0.6 + move] for move in (0.0, 0.1, 0.2)]
    frame = pl.DataFrame(
        {
            "design": [1] * 3 + [2] * 3 + [3] * 3,
            "size": ["8 kB"] * 9,
            "ab": [value for design in values for value in design],
        }
    )
    frame = pl.concat([frame, frame.with_columns(size=pl.lit("32 kB"), ab=pl.lit(0.5)).head(3)])
    found = analysis.sensitivity(frame, "ab", "design", by=["size"])
    assert found["designs"].to_list() == [3, 1]
    assert found["median"].to_list() == pytest.approx([0.2, 0.5])
    assert found["p25"][0] == pytest.approx(-0.05), "half-way between the lowest and the median"
    for name in ("median", "p25", "p75"):
        assert found[f"{name}_deviation"][0] == pytest.approx(0.05)
        assert found[f"{name}_deviation"][1] is None
    whole = analysis.sensitivity(frame.head(9), "ab", "design", extent=(0, 1))
    assert whole["median_deviation"].to_list() == pytest.approx([0.1])
    with pytest.raises(ValueError, match="extent"):
        analysis.sensitivity(frame, "ab", "design", extent=(1, 1))
