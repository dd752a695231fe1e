"""The repetition of Singh 2012 in part: published values have claims or reasons why not, and the core of it holds."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from mptcplab.reproduce import load_paper
from mptcplab.reproduce.machine import Reading
from mptcplab.sweeps.journal import Journal

from tests.papers.conftest import by_means, repeat

PAPER = load_paper("singh-2012")
repeated = partial(repeat, PAPER, random=True)


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
    verdicts = {claim.id: by_means(claim) for claim in repeated("figure-4", journal, tmp_path).claims}
    assert verdicts["prefers-better"] == verdicts["shift-grows"] == "holds"


def test_sharers_correlate_and_others_do_not(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: by_means(claim) for claim in repeated("figure-11", journal, tmp_path).claims}
    assert verdicts["threshold"] == verdicts["shared-higher"] == "holds"


def test_pert_keeps_the_total_of_three_users_and_shares_it(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: by_means(claim) for claim in repeated("table-2", journal, tmp_path).claims}
    assert verdicts["closer-to-ideal"] != "differs"
    assert verdicts["k-zero.system"] != "differs"


def test_what_is_left_for_later_is_not_among_the_claims_and_more_subflows_carry_more(
    journal: Journal, tmp_path: Path
) -> None:
    """No host sends more than its link carries, and permutation traffic needs several paths to come near it."""
    assert {name for name, item in PAPER.published.items.items() if item.is_future} == {
        "future-suppression",
        "future-short-flows",
        "future-data-centre",
    }
    ((_, table),) = repeated("future-data-centre", journal, tmp_path).tables
    pert, one, *more = (float(cell.split()[0]) for cell in table["goodput of a host, Mbit/s"])
    assert max(pert, one) < min(more[1:])
    assert max(more) < 100


def test_a_variant_changes_what_it_names_and_nothing_else() -> None:
    networks = import_module("mptcplab_papers.singh_2012.networks")
    variants = import_module("mptcplab_papers.singh_2012.variants")
    ran = networks.as_ran(
        Reading(PAPER.machine), networks.two_paths((2, 2), "lia", (60, 60), rates=(10, 10), kind="reno")
    )
    # Packets of 1040 bytes without timestamps carry 1000 bytes of TCP and 972 of Multipath TCP, which has a window for
    # each of two paths.
    windows = variants.WINDOWS.of(ran)["connection"]
    assert windows["one reno"]["receive_buffer"] == "20000 B"
    assert windows["multi"]["receive_buffer"] == "38880 B"
    pert = networks.two_paths((2, 2), networks.mppert(0.0), (60, 60), rates=(10, 10))
    assert variants.ONE.of(pert)["connection"]["one pert"]["congestion"] == {"name": "pert", **variants.ONE.parameters}
    assert variants.HALF.of(pert)["link"]["one"]["queue"] == "25 packets"
    assert variants.HALF.of(pert)["connection"] == pert["connection"]


def test_the_machine_makes_of_a_scenario_what_ran() -> None:
    networks = import_module("mptcplab_papers.singh_2012.networks")
    red = networks.two_paths((2, 2), "lia", (60, 60), rates=(10, 10), kind="reno", queue="red")
    ran, text = (networks.as_ran(Reading(PAPER.machine, by_text=by_text), red) for by_text in (False, True))
    # One product of 10 Mbit/s and 40 ms, in packets of 1000 bytes; what the queue makes of it is for its own tests.
    assert ran["link"]["one"]["queue"] == {"kind": "red-ns2", "limit": "50 packets"}
    assert text["link"]["one"]["queue"] == red["link"]["one"]["queue"]
    assert [each["connection"]["multi"]["mss"] for each in (ran, text)] == ["1000 B", "960 B"]
    assert ran["connection"]["one reno"]["tcp"] == networks.NS2_RENO
    assert networks.as_ran(Reading(PAPER.machine), ran) == ran, "what ran stays as it is"
    pert = networks.two_paths((2, 2), networks.mppert(0.0), (60, 60), rates=(10, 10))
    assert networks.as_ran(Reading(PAPER.machine), pert)["connection"]["multi"]["tcp"] == networks.NS2


def test_windows_of_20_packets_are_what_2500000_bit_s_are() -> None:
    """Table IX: 20 packets of 1040 bytes in a round trip of 67 ms, of which 40 are propagation."""
    assert PAPER.published.items["table-9"]["10-2.mptcp.subflow-2"] == pytest.approx(20 * 8320 / 0.06656)


def test_the_printed_digits_are_packets_of_1040_bytes() -> None:
    """Each subflow rate of tables III to VI times 100.1 s is a whole number of packets; of other sizes it is not."""

    def away(size: int) -> float:
        packets = [
            value.number * 100.1 / 8 / size
            for item in ("table-3", "table-4", "table-5", "table-6")
            for key, value in PAPER.published.items[item].values.items()
            if "subflow" in key
        ]
        return max(abs(each - round(each)) for each in packets)

    assert away(1040) < 0.05
    assert away(1000) > 0.3
