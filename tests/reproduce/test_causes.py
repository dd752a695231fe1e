"""Causes have no numbers of their own: what a sentence says is on the record of the run."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from mptcplab.reproduce import Claim, Item, Number, Outcome, causes, problems

STUDY = '''
"""A docstring of 77 words."""
WHY = "algorithm: the closed form has 12.5 % there"
HOW = f"setting: with queues of 20 packets it is {1 + 1} ms, with {WHY} 40"
NAME = "99"
OLD = "chance: {law} of 31 runs"
'''
ITEM = Item("figure-1", "figure", "1", 1, "A figure", statements={"less": "It is less than 0.25."})


@pytest.fixture
def literals(tmp_path: Path) -> frozenset[str]:
    (tmp_path / "study.py").write_text(STUDY)
    return causes.literals(tmp_path)


def test_the_sentences_of_a_study_that_have_numbers(literals: frozenset[str]) -> None:
    assert literals == {
        "algorithm: the closed form has 12.5 % there",
        "setting: with queues of 20 packets it is ",
        " of 31 runs",
    }


def stray(cause: str, literals: frozenset[str], outcome: Outcome | None = None, labels: tuple[str, ...] = ()) -> bool:
    claim = Claim("less", "It is less", None, "0.3", Number(1.0, 2.0, 0.0), cause)
    outcome = Outcome([claim]) if outcome is None else replace(outcome, claims=[claim])
    found = problems(ITEM, outcome, literals=literals, labels=labels)
    assert all("which the record has not" in each for each in found)
    return bool(found)


def test_a_number_that_nobody_computed_is_refused_until_it_is_on_record(literals: frozenset[str]) -> None:
    cause = "algorithm: the closed form has 12.5 % there."
    assert stray(cause, literals)
    in_table = Outcome([], tables=[("Shares", pl.DataFrame({"share": [0.1254]}))])
    assert not stray(cause, literals, in_table), "12.54 % to the digits that are said"
    assert stray(cause, literals, Outcome([], tables=[("Shares", pl.DataFrame({"share": [0.1256]}))]))
    assert not stray(cause, literals, Outcome([], tables=[("At 12.5 %", pl.DataFrame({"a": ["none"]}))]))


def test_what_was_computed_and_what_runs_are_called_may_be_said(literals: frozenset[str]) -> None:
    cause = "setting: with queues of 20 packets it is 53 ms."
    assert stray(cause, literals)
    assert not stray(cause, literals, labels=("queues of 20 packets",))
    assert not stray("setting: it is 53 ms, and 5 of them.", literals)
    assert stray("chance: 7 of 31 runs", literals)


def test_printed_numbers_may_be_said() -> None:
    assert causes.strays("work: 0.25 and 25 %", [ITEM.statements["less"]], ["work: 0.25 and 25 %"]) == []
    assert causes.strays("work: 0.26", [ITEM.statements["less"]], ["work: 0.26"]) == ["0.26"]
