"""The repetition of Singh 2012: every published value has a claim or a reason why not."""

from pathlib import Path

import pytest
from mptcplab.reproduce import Context, Outcome, load_paper, problems
from mptcplab.sweeps.journal import Journal

PAPER = load_paper("singh-2012")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("runs"))


def repeated(item: str, journal: Journal, directory: Path) -> Outcome:
    context = Context(PAPER.published.items[item], journal, directory, quick=True, jobs=2)
    outcome = PAPER.items[item](context)
    assert problems(PAPER.published.items[item], outcome) == []
    return outcome


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
