"""The repetition of Singh 2012 in part: published values have claims or reasons why not, and the core of it holds."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from mptcplab.reproduce import load_paper
from mptcplab.sweeps.journal import Journal

from tests.papers.conftest import repeat

PAPER = load_paper("singh-2012")
repeated = partial(repeat, PAPER)


def test_a_pool_of_36_gives_each_of_three_12(journal: Journal, tmp_path: Path) -> None:
    assert [claim.verdict for claim in repeated("figure-1", journal, tmp_path).claims] == ["holds"]


def test_the_parts_of_the_tables_sum_to_their_totals() -> None:
    """Where they do not, the thesis does not either (README, slips)."""
    one = PAPER.published.items["table-1"]
    for control in ("mppert", "independent"):
        for flow in "abc":
            parts = one[f"{control}.flow-{flow}1"] + one[f"{control}.flow-{flow}2"]
            assert parts == pytest.approx(one[f"{control}.flow-{flow}"], abs=2)
        assert sum(one[f"{control}.flow-{flow}"] for flow in "abc") == pytest.approx(one[f"{control}.total"], abs=2)
    seven = PAPER.published.items["table-7"]
    for control in ("mptcp", "mppert"):
        assert seven[f"{control}.subflow-1"] + seven[f"{control}.subflow-2"] == pytest.approx(seven[f"{control}.total"])


def test_the_shift_on_lossy_links_grows_as_k_falls(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("figure-4", journal, tmp_path).claims}
    assert verdicts["prefers-better"] == verdicts["shift-grows"] == "holds"


def test_sharers_correlate_and_others_do_not(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("figure-11", journal, tmp_path).claims}
    assert verdicts["threshold"] == verdicts["shared-higher"] == "holds"


def test_pert_keeps_the_total_of_three_users_and_shares_it(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("table-2", journal, tmp_path).claims}
    assert verdicts["closer-to-ideal"] != "differs"
    assert verdicts["k-zero.system"] != "differs"


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    networks = import_module("mptcplab_papers.singh_2012.networks")
    variants = import_module("mptcplab_papers.singh_2012.variants")
    red = networks.two_paths((2, 2), "lia", (60, 60), rates=(10, 10), kind="reno", queue="red")
    changed = variants.THRESHOLDS.of(red)
    assert changed["link"]["one"]["queue"] == {
        **red["link"]["one"]["queue"],
        "min": "2.5 packets",
        "max": "7.5 packets",
    }
    assert changed["connection"] == red["connection"]
    # Packets of 1000 bytes carry 948 bytes of TCP and 920 of Multipath TCP, which has a window for each of two paths.
    windows = variants.WINDOWS.of(red)["connection"]
    assert windows["one reno"]["receive_buffer"] == "18960 B"
    assert windows["multi"]["receive_buffer"] == "36800 B"
    assert variants.PLAIN.of(red)["connection"]["multi"]["tcp"] == networks.NS2_RENO
    pert = networks.two_paths((2, 2), networks.mppert(0.0), (60, 60), rates=(10, 10))
    assert variants.PLAIN.of(pert) == pert, "PERT is none of the controls that answer to losses alone"
    assert variants.HALF.of(pert)["link"]["one"]["queue"] == "25 packets"


def test_windows_of_20_packets_are_what_2500000_bit_s_are() -> None:
    """Table IX: 20 packets of 1000 bytes in a round trip of 64 ms, of which 40 are propagation."""
    assert PAPER.published.items["table-9"]["10-2.mptcp.subflow-2"] == pytest.approx(20 * 8000 / 0.064)
