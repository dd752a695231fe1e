"""What the tests of the papers' studies share: one journal of runs a module, and an item repeated at its quick size."""

from pathlib import Path

import pytest
from mptcplab.reproduce import Context, Outcome, Paper, problems
from mptcplab.sweeps.journal import Journal


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("runs"))


def repeat(paper: Paper, item: str, journal: Journal, directory: Path) -> Outcome:
    """The item repeated; every published value has a claim or a reason why not."""
    context = Context(paper.published.items[item], journal, directory, quick=True, jobs=2)
    outcome = paper.items[item](context)
    assert problems(paper.published.items[item], outcome) == []
    return outcome
