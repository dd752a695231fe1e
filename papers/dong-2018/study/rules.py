"""Verdicts by rules that were set before any result was seen.

Where the text is ambiguous, both readings are run, and these decide which one the verdict is about:

* the round-trip times are round trips: the word says so, and figure 8's times fit it. One way stands beside;
* completion is the receiver's, the last byte's arrival: what a user waits for. The sender's stands beside;
* loss is the printed percentage. 5 % stands beside 0.05 %, as so few losses cannot make the timeouts of table 2.

The verdicts themselves are by the rules of all papers: mptcplab.reproduce.judge.
"""

from mptcplab.reproduce import Check, Equality, Number, Share


def alike(first: float, second: float) -> Check:
    """Whether both are the same."""
    return Equality(first, second)


def number(published: float, found: float) -> Check:
    """Whether a printed number is found."""
    return Number(published, found)


def points(published: float, found: float) -> Check:
    """Whether a printed percentage is found."""
    return Share(published, found, whole=100)
