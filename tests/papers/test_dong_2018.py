"""The repetition of Dong 2018: every published value has a claim or a reason why not, and what is calculated holds."""

from functools import partial
from pathlib import Path

import pytest
from mptcplab.reproduce import load_paper
from mptcplab.sweeps.journal import Journal

from tests.papers.conftest import repeat

PAPER = load_paper("dong-2018")
repeated = partial(repeat, PAPER)


@pytest.mark.parametrize("item", PAPER.items)
def test_every_published_value_has_a_claim_or_a_reason(item: str, journal: Journal, tmp_path: Path) -> None:
    repeated(item, journal, tmp_path)


def test_figure_7_holds(journal: Journal, tmp_path: Path) -> None:
    assert {claim.verdict for claim in repeated("figure-7", journal, tmp_path).claims} == {"holds"}


def test_items_are_named_by_sections() -> None:
    assert PAPER.published.items["figure-8"].place == "Section 4.2.2"
    assert PAPER.published.items["figure-8"].page is None
