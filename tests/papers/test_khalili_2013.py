"""A thin part of the repetition of Khalili 2013: every claim has its published counterpart, and the short ones hold."""

from pathlib import Path

import pytest
from mptcplab.reproduce import Context, Outcome, load_paper, problems
from mptcplab.sweeps.journal import Journal

PAPER = load_paper("khalili-2013")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("runs"))


def repeated(item: str, journal: Journal, directory: Path) -> Outcome:
    context = Context(PAPER.published.items[item], journal, directory, quick=True, jobs=2)
    outcome = PAPER.items[item](context)
    assert problems(PAPER.published.items[item], outcome) == []
    return outcome


@pytest.mark.parametrize("item", ["figure-4", "figure-17"])
def test_what_is_calculated(item: str, journal: Journal, tmp_path: Path) -> None:
    assert {claim.verdict for claim in repeated(item, journal, tmp_path).claims} <= {"holds", "holds in part"}


def test_lia_loads_the_shared_access_point_and_olia_less(journal: Journal, tmp_path: Path) -> None:
    outcome = repeated("figure-10", journal, tmp_path)
    found = {claim.id: float(str(claim.found).split()[0]) for claim in outcome.claims[:2]}
    assert found["rise-lia"] > 1.4 * found["rise-olia"] > 1.4


def test_olia_leaves_the_congested_path(journal: Journal, tmp_path: Path) -> None:
    verdicts = {claim.id: claim.verdict for claim in repeated("figure-8", journal, tmp_path).claims}
    assert verdicts["lia-congested"] == verdicts["lia-good"] == "holds"
