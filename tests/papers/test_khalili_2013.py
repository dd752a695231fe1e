"""A thin part of the repetition of Khalili 2013: every claim has its published counterpart, and the short ones hold."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from mptcplab.reproduce import Outcome, load_paper
from mptcplab.sweeps.journal import Journal

from tests.papers.conftest import repeat

PAPER = load_paper("khalili-2013")


def repeated(item: str, journal: Journal, directory: Path) -> Outcome:
    outcome = repeat(PAPER, item, journal, directory)
    for _, chart in outcome.figures:
        check_fields(chart)
    return outcome


def fields(spec: Any) -> Iterator[str]:
    """Every field that a chart draws."""
    if isinstance(spec, dict):
        if isinstance(spec.get("field"), str):
            yield spec["field"]
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from fields(part)


def check_fields(chart: Any) -> None:
    """A field that the data have not leaves a chart empty, without a word."""
    with alt.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    for rows in spec["datasets"].values():
        assert rows
        assert set(fields(spec)) <= rows[0].keys()


@pytest.mark.parametrize("item", ["figure-4", "figure-17"])
def test_what_is_calculated(item: str, journal: Journal, tmp_path: Path) -> None:
    assert {claim.verdict for claim in repeated(item, journal, tmp_path).claims} <= {"holds", "holds in part"}


def test_lia_loads_the_shared_access_point_and_olia_less(journal: Journal, tmp_path: Path) -> None:
    outcome = repeated("figure-10", journal, tmp_path)
    found = {claim.id: float(str(claim.found).split()[0]) for claim in outcome.claims[:2]}
    assert found["rise-lia"] > 1.4 * found["rise-olia"] > 1.4


def test_olia_leaves_the_congested_path(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("figure-8", journal, tmp_path).claims}
    assert "differs" not in {verdicts["lia-congested"], verdicts["lia-good"]}


def test_the_charts_of_the_fat_tree_draw_what_they_are_given() -> None:
    study: Any = sys.modules["mptcplab_papers.khalili_2013.data_centre"]
    point = {"control": "lia", "subflows": 8, "value": 88.0, "low": 87.0, "high": 89.0}
    check_fields(study._bars([point]))
    check_fields(study._ranks(pl.DataFrame({"control": ["tcp"], "rank": [1], "value": [9.0]})))


def test_discarding_a_bad_path_gives_tcp_users_more_and_nobody_more_than_there_is(
    journal: Journal, tmp_path: Path
) -> None:
    ((_, table),) = repeated("future-discarding", journal, tmp_path).tables
    rates = {row[:3]: (float(row[3].split()[0]), float(row[6].split()[0])) for row in table.iter_rows()}
    for (control, ratio, c1), (single, multi) in rates.items():
        # Both access points are full at most: N1·C1·multi + N2·C2·single ≤ N1·C1 + N2·C2.
        assert ratio * c1 * multi + single <= (ratio * c1 + 1) * 1.01
        if control == "OLIA":
            assert rates["OLIA, bad paths discarded", ratio, c1][0] > single
            assert rates["LIA", ratio, c1][0] < single


def test_unequal_round_trips_are_repeated(journal: Journal, tmp_path: Path) -> None:
    ((_, table),) = repeated("future-stability", journal, tmp_path).tables
    assert table["round trip of the second path, ms"].to_list() == [60, 240, 60, 240]


def test_a_receive_window_bounds_multipath_users_and_background_takes_its_part(
    journal: Journal, tmp_path: Path
) -> None:
    """20 kB in 120 ms and more, with headers, are 1.42 Mbit/s at most; a fifth of the second access point is gone."""
    ((_, table),) = repeated("future-factors", journal, tmp_path).tables
    rates = {row[:2]: [float(cell.split()[0]) for cell in row[2:]] for row in table.iter_rows()}
    for (factor, control), (single, multi) in rates.items():
        plain = rates["as in the paper", control]
        if "window" in factor:
            assert multi <= 20e3 * 8 / 0.12 * 1500 / 1420 / 1e6
            assert multi < plain[1]
        if "background" in factor:
            assert single + multi < sum(plain)
