"""Advice on the scenario of the page: the settings that `mptcplab advise` recommends for it, and how they are set."""

from collections.abc import Callable
from typing import Any

from mptcplab.advice import AdviceError, advise
from mptcplab.advice.answer import Advice, Recommendation
from mptcplab.advice.question import CHOSEN
from mptcplab.advice.rows import rows, shown
from mptcplab.advice.told import closing, headline
from mptcplab.lab.documents import NAME, Given
from mptcplab.scenario import Problem, ScenarioError


def on(given: Given, options: dict[str, Any], tell: Callable[[float], None]) -> dict[str, Any]:
    """The advice as JSON has it, and as the page shows it. One run at a time: a page has a worker, not the machine.

    `options` are arguments of `advise`: connection, traffic, purpose, metered, budget.

    Raises ScenarioError for what no advice can be given on, in the words of the command line.
    """
    scenario = given.scenario
    try:
        advice = advise(scenario, **options, jobs=1, progress=tell)
    except AdviceError as error:
        where = error.where.removeprefix(scenario.source).removeprefix(": ")
        raise ScenarioError([Problem(NAME, where, error.found, error.expected)]) from None
    except ScenarioError as error:
        problems = [Problem(NAME, each.key, each.found, each.expected) for each in error.problems]
        raise ScenarioError(problems) from None
    headers, cells = rows(advice)
    figures = [" ".join(header.split()) for header in headers[1:]]
    listed = [
        {
            "label": each.label,
            "headline": headline(each),
            "commands": {form: list(lines) for form, lines in each.commands.items() if lines},
            "recommended": each in advice.recommended,
            "figures": list(zip(figures, row[1:], strict=True)),
            "reasons": list(each.reasons),
            "changes": _changes(advice, each),
            "standing": advice.question.first_links(each.candidate.marked_backups),
        }
        for each, row in zip(shown(advice), cells, strict=True)
    ]
    compared = len(advice.dropped) + len({each.candidate for each in (*advice.recommended, advice.best_single_path)})
    answer = advice.to_dict(everything=False)
    return {"advice": answer, "shown": listed, "compared": compared, "closing": closing(advice)}


def _changes(advice: Advice, recommendation: Recommendation) -> dict[str, dict[str, Any]]:
    """By connection of the page, the keys of its table: what they become, or None where they go."""
    name = advice.question.connection
    assert name is not None, "the page asks about a scenario"
    return {name: {**dict.fromkeys(CHOSEN), **recommendation.candidate.keys()}}
