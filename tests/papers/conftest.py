"""What the tests of the papers' studies share: one journal of runs a module, and an item repeated at its quick size."""

from pathlib import Path
from typing import Any

import pytest
from mptcplab.reproduce import Claim, Context, Outcome, Paper, judge, problems
from mptcplab.sweeps.journal import Journal


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return Journal(tmp_path_factory.mktemp("runs"))


def repeat(paper: Paper, item: str, journal: Journal, directory: Path, *, random: bool = False) -> Outcome:
    """The item repeated; every published value has a claim or a reason why not.

    `random`: every check of runs has its interval.
    """
    context = Context(paper.published.items[item], journal, directory, quick=True, jobs=2, machine=paper.machine)
    outcome = paper.items[item](context)
    found = problems(
        paper.published.items[item],
        outcome,
        random=random and bool(context.work),
        literals=paper.literals(),
        labels=context.labels,
    )
    assert found == []
    return outcome


def by_means(claim: Claim) -> str:
    """The verdict if the few runs of the quick size told the means exactly."""

    def exact(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: exact(value) for key, value in data.items() if not key.endswith("half")}
        return [exact(each) for each in data] if isinstance(data, list) else data

    return judge.from_dict(exact(claim.check.to_dict())).verdict
