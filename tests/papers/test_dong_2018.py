"""The repetition of Dong 2018: every published value has a claim or a reason why not, and what is calculated holds."""

from pathlib import Path

import pytest
from mptcplab.reproduce import Context, Outcome, load_paper, problems
from mptcplab.sweeps.journal import Journal

PAPER = load_paper("dong-2018")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("runs"))


def repeated(item: str, journal: Journal, directory: Path) -> Outcome:
    context = Context(PAPER.published.items[item], journal, directory, quick=True, jobs=2)
    outcome = PAPER.items[item](context)
    assert problems(PAPER.published.items[item], outcome) == []
    return outcome


@pytest.mark.parametrize("item", PAPER.items)
def test_every_published_value_has_a_claim_or_a_reason(item: str, journal: Journal, tmp_path: Path) -> None:
    repeated(item, journal, tmp_path)


def test_figure_7_holds(journal: Journal, tmp_path: Path) -> None:
    assert {claim.verdict for claim in repeated("figure-7", journal, tmp_path).claims} == {"holds"}


def test_items_are_named_by_sections() -> None:
    assert PAPER.published.items["figure-8"].place == "Section 4.2.2"
    assert PAPER.published.items["figure-8"].page is None
