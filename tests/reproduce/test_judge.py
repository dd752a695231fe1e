"""The rules of judging: each tolerance by hand, nothing that cannot differ, and every claim of every paper's record."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from mptcplab.reproduce import (
    Check,
    Claim,
    Equality,
    Exact,
    Number,
    Order,
    Ratio,
    Share,
    Trend,
    at_least,
    at_most,
    below,
    every,
    fact,
    jain,
    judge,
    judged,
    load_paper,
    paper_names,
    slightly,
    steps,
    within,
)
from mptcplab.shipped import papers_directory

NAN = float("nan")


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        # 10 and 25 % of 10; a difference that is the tolerance in decimals holds.
        (Number(10, 11), "holds"),
        (Number(10, 8.9), "holds in part"),
        (Number(10, 12.5), "holds in part"),
        (Number(10, 12.6), "differs"),
        (Number(-10, -10.5), "holds"),
        (Number(0.3, 0.1 + 0.2), "holds"),
        (Number(10, NAN), "differs"),
        # Agreement by an interval as wide as ±20 % is none.
        (Number(10, 10, half=2), "not known precisely"),
        (Number(10, 12, half=2.1), "not known precisely"),
        (Number(10, 12, half=1.9), "holds in part"),
        (Number(10, 13, half=2.9), "differs"),
        (Number(10, 13, half=math.inf), "not known precisely"),
        (Number(10, 10, half=1), "holds"),
        (Number(10, 10, half=NAN), "holds"),
        # 2·1.15 = 2.3 and 2/1.15 = 1.74; 2·1.35 = 2.7.
        (Ratio(2, 2.3), "holds"),
        (Ratio(2, 1.74), "holds"),
        (Ratio(2, 2.69), "holds in part"),
        (Ratio(2, 1.45), "differs"),
        (Ratio(2, -1), "differs"),
        # 5 points in the middle; of 12 %, 3 points; of 3 %, one.
        (Share(50, 55, whole=100), "holds"),
        (Share(50, 59, whole=100), "holds in part"),
        (Share(0.5, 0.61), "differs"),
        (Share(12, 15, whole=100), "holds"),
        (Share(3, 4, whole=100), "holds"),
        (Share(3, 7, whole=100), "differs"),
        (Share(98.5, 94, whole=100), "differs"),
        (Share(0.0, 0.05), "holds"),
        (Share(1.0, 0.89), "differs"),
        (Share(-0.10, 0.0), "differs"),
        # Indices 0.9997 and 0.9901 are rates of 50.9 and 55 % of both: variations of 0.017 and 0.1.
        (jain(0.9997, 0.9901), "holds in part"),
        (jain(0.9923, 0.75), "differs"),
        (jain(0.9997, 0.4), "differs"),
        (Trend("rises", 0.5, 0.001, 1, 2), "holds"),
        (Trend("rises", 0.5, 0.001, 2, 1), "holds in part"),
        # p = 0.02 leaves room for more; -0.1 of 1000 networks, p = 0.0016, leaves none for 0.25, nor does 0.05 of 1000.
        (Trend("rises", 0.5, 0.02, 1, 2), "not known precisely"),
        (Trend("rises", 0.05, 0.11, 1, 2, samples=1000), "differs"),
        (Trend("rises", 0.05, 0.8, 1, 2, samples=30), "not known precisely"),
        (Trend("falls", 0.0, 1.0, 1, 1, samples=30), "not known precisely"),
        (Trend("falls", 0.0, 1.0, 1, 1), "differs"),
        (Trend("falls", 0.5, 0.001, 1, 2), "differs"),
        (Trend("flat", 0.2, 0.001, 1, 2), "holds"),
        (Trend("flat", 0.4, 0.06, 1, 2), "not known precisely"),
        (Trend("flat", 0.1, 0.7, 1, 2, samples=12), "not known precisely"),
        (Trend("flat", 0.1, 0.3, 1, 2, samples=100), "holds"),
        (Trend("flat", -0.4, 0.001, 1, 2), "differs"),
        (Trend("flat", NAN, NAN, 1, 2), "differs"),
        # 2 % of the larger, either way.
        (below(1.0, 1.03), "holds"),
        (below(1.0, 1.01), "holds in part"),
        (below(1.0, 0.99), "holds in part"),
        (below(1.0, 0.97), "differs"),
        (below(0.0, 0.0), "holds in part"),
        (Order(1.0, 1.1, 0.1, 0.1), "not known precisely"),
        (Order(1.1, 1.0, 0.1, 0.1), "not known precisely"),
        (Order(1.2, 1.0, 0.1, 0.1), "differs"),
        (Order(1.0, 1.01, 0.001, 0.001), "holds in part"),
        (Order(1.0, 1.2, 0.1, 0.1), "holds"),
        (below(0.50, 0.53, whole=1), "holds"),
        (below(0.50, 0.51, whole=1), "holds in part"),
        (below(1.0, 1.2, far=True), "holds in part"),
        (below(1.0, 1.4, far=True), "holds"),
        (below(40, 49, whole=100, far=True), "holds in part"),
        (below(1.0, math.inf), "holds"),
        (below(math.inf, 1.0), "differs"),
        (below(NAN, 1.0), "differs"),
        (at_most(10, 10), "holds"),
        (at_most(10.1, 10), "holds in part"),
        (at_most(10.3, 10), "differs"),
        (at_most(9.9, 10, 0.15), "holds in part"),
        (at_most(9.9, 10, 0.3), "not known precisely"),
        (at_least(0.49, 0.5, whole=1), "holds in part"),
        (Equality(1.0, 1.05), "holds"),
        (Equality(1.0, 1.13), "holds in part"),
        (Equality(1.0, 1.2), "differs"),
        (Equality(0.0, 0.0), "holds"),
        (Equality(0.2, 0.24, whole=1), "holds"),
        (Equality(math.inf, math.inf), "differs"),
        (Exact(38.46, 38.4615, digits=2), "holds"),
        (Exact(23.06, 23.0769, digits=2), "differs"),
        (Exact(4, 5), "holds in part"),
        (Exact(4, 6), "differs"),
        (fact(True), "holds"),
        (slightly(1.0, 1.1), "holds"),
        (slightly(1.0, 1.6), "differs"),
        (within(5, 4, 6), "holds"),
        (within(2.6, 4, 6), "differs"),
        (within(6.1, 4, 6), "holds in part"),
        (within(7, 4, 6), "differs"),
        (steps([1, 2, 3], "rises"), "holds"),
        (steps([1, 2, 1.5, 3], "rises"), "differs"),
        (steps([3, 2, 1], "rises"), "differs"),
        # As good as the worst.
        (every(Number(1, 1), Number(1, 1.1)), "holds"),
        (every(Number(1, 1), Number(1, 1.2)), "holds in part"),
        (every(Number(1, 1), Number(1, 2)), "differs"),
        (every(Number(1, 1.2), Number(1, 1.2, half=0.3)), "not known precisely"),
        (every(Number(1, 2), Number(1, 1.2, half=0.3)), "differs"),
        (every([Number(1, 1)] * 9, every(Number(1, 1), Number(1, 2))), "differs"),
        (every(Number(1, 1), [Number(1, 2), Number(1, 2)]), "differs"),
        (every(Number(1, 1.2), Number(1, 2)), "differs"),
    ],
)
def test_each_rule_by_hand(check: Check, verdict: str) -> None:
    assert check.verdict == verdict
    assert check.counterexample().verdict == "differs"
    assert check.text()
    again = judge.from_dict(json.loads(json.dumps(check.to_dict(), allow_nan=False)))
    assert (again.verdict, again.text()) == (check.verdict, check.text())


def test_numbers_have_one_notation() -> None:
    shown = [judge.figure(value) for value in (14807.4, 0.0, -123456.0, 0.00012345, 1234.56, 1e12, NAN)]
    assert shown == ["14807", "0", "-123456", "0.0001234", "1235", "1e+12", "nan"]
    assert Number(14807, 14000.5, half=1234.0).text().startswith("14000 ± 1234 for 14807")


def test_a_verdict_cannot_be_given() -> None:
    with pytest.raises(TypeError):
        Claim("a", "", 1, 1, Number(1, 1), verdict="holds")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Claim("a", "", 1, 1, Number(1, 1)).verdict = "holds"  # type: ignore[misc]


def test_what_has_no_relative_difference_is_refused() -> None:
    with pytest.raises(ValueError, match="published 0"):
        Number(0, 1)
    with pytest.raises(ValueError, match="above 0"):
        Ratio(0, 1)
    with pytest.raises(ValueError, match="at least one check"):
        every()
    with pytest.raises(ValueError, match="the kind 'guess'"):
        judge.from_dict({"kind": "guess"})


def test_no_study_has_a_tolerance_of_its_own() -> None:
    """Verdicts stand nowhere as text; a check has no field for a tolerance."""
    place = papers_directory()
    assert place is not None
    for file in place.glob("*/study/*.py"):
        text = file.read_text(encoding="utf-8")
        for word in ('"holds"', '"holds in part"', '"not known precisely"', ": Verdict", "-> Verdict"):
            assert word not in text, f"{file.parent.parent.name}/{file.name} has {word}"


@pytest.mark.parametrize("paper", paper_names())
def test_every_claim_of_the_record_can_differ_and_has_the_verdict_of_its_check(paper: str) -> None:
    place = papers_directory()
    assert place is not None
    file = place / paper / judged.FILE
    if not file.exists():
        pytest.skip(f"no complete study of {paper} has been recorded: {judged.FILE} is missing")
    claims = judged.read(file)
    for each in claims:
        assert each.check.verdict == each.verdict, f"{each.item}: {each.claim} is recorded by another rule"
        assert each.check.counterexample().verdict == "differs", f"{each.item}: {each.claim} cannot differ"
    readme = (Path(place) / paper / "README.md").read_text(encoding="utf-8")
    count = Counter(each.verdict for each in claims if told_of(each))
    told = (
        f"{count['holds']} hold, {count['holds in part']} hold in part, "
        f"{count['not known precisely']} are not known precisely and {count['differs']} differ"
    )
    assert told in " ".join(readme.split()), f"{paper}/README.md does not say: {told}"
    if any(each.by_text is not None for each in claims):
        paired = [each.by_text.verdict if each.by_text else each.verdict for each in claims if told_of(each)]
        text = Counter(paired)
        told = (
            f"by the text alone {text['holds']} hold, {text['holds in part']} hold in part, "
            f"{text['not known precisely']} are not known precisely and {text['differs']} differ"
        )
        assert told in " ".join(readme.split()), f"{paper}/README.md does not say: {told}"
    ids = {f"{each.item}/{each.claim}" for each in claims}
    assert set(load_paper(paper).published.principal) <= ids


def told_of(claim: judged.Judged) -> bool:
    """Whether it is one of the paper's own."""
    return not claim.item.startswith("future")
