"""The repetition of Amoruso 2021 in part: each published figure has claims or a reason why not, and the laws hold."""

from functools import partial
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.reproduce import Context, PaperError, load_paper, problems
from mptcplab.sweeps.journal import Journal

from tests.papers.conftest import repeat

PAPER = load_paper("amoruso-2021")
repeated = partial(repeat, PAPER)
MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]


def test_every_figure_of_the_chapters_of_results_is_published() -> None:
    figures = {item.number for item in PAPER.published.items.values() if item.kind == "figure"}
    assert figures == {f"4.{n}" for n in range(7, 15)} | {f"5.{n}" for n in range(1, 40)}


def test_it_is_repeated_on_the_simulator_and_the_kernel_only() -> None:
    PAPER.require("linux")
    with pytest.raises(PaperError, match='not repeated on "model"'):
        PAPER.require("model")


def test_lte_harms_the_upload_with_a_finite_window_and_not_with_a_large_one(journal: Journal, tmp_path: Path) -> None:
    """64 MiB hold all that is in flight; 1 MiB is less than Ethernet's rate times LTE's round-trip time, full."""
    outcome = repeated("figure-5-9", journal, tmp_path)
    (grid,) = [frame for caption, frame in outcome.tables if caption.startswith("Receive window")]
    change = {(row[0], row[1]): row[4] for row in grid.iter_rows()}
    assert change["1 MiB", "min-rtt"] < -30
    assert change["64 MiB", "min-rtt"] > -5
    assert change["3 MiB", "min-rtt, opportunistic retransmission"] > -5


@pytest.mark.parametrize("item", ["figure-5-14", "figure-5-18", "figure-5-20"])
def test_a_throttle_s_laws_hold(item: str, journal: Journal, tmp_path: Path) -> None:
    notes = repeated(item, journal, tmp_path).notes
    assert any(note.startswith("Laws of the throttle:") for note in notes)
    assert not any("broken" in note for note in notes)


@pytest.mark.parametrize("item", ["figure-5-30", "figure-5-34"])
def test_the_laws_of_transfers_hold(item: str, journal: Journal, tmp_path: Path) -> None:
    notes = repeated(item, journal, tmp_path).notes
    assert any(note.startswith("Laws of transfers:") for note in notes)
    assert not any("broken" in note for note in notes)


def test_a_backup_path_carries_nothing_before_the_first_goes_and_all_after(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("section-1-1", journal, tmp_path).claims}
    assert verdicts["redundancy"] == "holds"


@pytest.mark.parametrize("item", ["figure-5-5", "figure-5-29"])
def test_all_who_share_the_air_use_at_most_all_of_it(item: str, journal: Journal, tmp_path: Path) -> None:
    notes = repeated(item, journal, tmp_path).notes
    assert any(note.startswith("Airtime law: in") for note in notes)


def test_in_the_house_both_paths_take_the_time_that_the_airtime_law_gives(journal: Journal, tmp_path: Path) -> None:
    """R = 190: Ethernet at 96.5 leaves (190 - 100)/2 to Wi-Fi, which crosses the air twice; 30 % less than alone."""
    outcome = repeated("figure-5-29", journal, tmp_path)
    found = {claim.id: claim.found for claim in outcome.claims}
    assert found["over-ethernet"] == pytest.approx(-29, abs=6)
    assert found["over-wifi"] == pytest.approx(-33, abs=6)


def test_wi_fi_whose_capacity_varies_is_unsteadier_than_ethernet(journal: Journal, tmp_path: Path) -> None:
    assert {claim.verdict for claim in repeated("figure-5-4", journal, tmp_path).claims} == {"holds"}


@pytest.mark.live
@pytest.mark.skipif(bool(MISSING), reason="no live system here")
def test_on_linux_an_item_stands_beside_the_simulator(journal: Journal, tmp_path: Path) -> None:
    item = PAPER.published.items["figure-5-19"]
    outcome = PAPER.items[item.id](Context(item, journal, tmp_path, quick=True, engine="linux"))
    assert problems(item, outcome) == []
    assert [claim.id for claim in outcome.claims] == ["lte-far-above/linux", "lte-far-above/sim"]
    assert outcome.tables[0][0] == "linux and sim side by side"


def test_5g_gains_where_lte_costs(journal: Journal, tmp_path: Path) -> None:
    """No path carries more than its links: 100 and 30 Mbit/s less headers of 2.7 % at least; both more than one."""
    ((_, table),) = repeated("future-5g", journal, tmp_path).tables
    both = dict(zip(table["scenario"], table["both, Mbit/s"], strict=True))
    gain = dict(zip(table["scenario"], table["gain over the better, %"], strict=True))
    assert both["D (Ethernet and 5G), upload"] <= (100 + 30) * 1420 / 1460
    for way, first in (("D", "Ethernet"), ("E", "Wi-Fi")):
        assert gain[f"{way} ({first} and LTE), upload"] < 0 < gain[f"{way} ({first} and 5G), upload"]


def test_a_scheduler_that_waits_for_the_wired_path_loses_nothing(journal: Journal, tmp_path: Path) -> None:
    ((_, table),) = repeated("future-scheduler", journal, tmp_path).tables
    change = {row[:3]: row[4] for row in table.iter_rows()}
    for scene in "DE":
        assert change[scene, 1.0, "blest"] > -5
        assert change[scene, 1.0, "min-rtt"] < -20
