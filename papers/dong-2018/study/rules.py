"""Verdicts by rules that were set before any result was seen.

Where the text is ambiguous, both readings are run, and these decide which one the verdict is about:

* the round-trip times are round trips: the word says so, and figure 8's times fit it. One way stands beside;
* completion is the receiver's, the last byte's arrival: what a user waits for. The sender's stands beside;
* loss is the printed percentage. 5 % stands beside 0.05 %, as so few losses cannot make the timeouts of table 2.

"Sooner", "later", "more" hold when the means differ that way by more than 2 %, hold in part within 2 % either way, and
differ otherwise. "The same" holds within 5 % and in part within 15 %. A printed number holds within 10 %, a ratio of
schedulers (in percent) within 5 points, and in part within three times as much. Over several points: all of them for
*holds*, most of them (at least 60 %) for *holds in part*.
"""

from collections.abc import Sequence
from typing import Final

from mptcplab.reproduce import Verdict, compare

MARGIN: Final = 0.02


def below(small: float, large: float) -> Verdict:
    """Whether the first is clearly less."""
    if small < large * (1 - MARGIN):
        return "holds"
    return "holds in part" if small <= large * (1 + MARGIN) else "differs"


def alike(first: float, second: float) -> Verdict:
    """Whether both are the same."""
    return compare(1.0, first / second, 0.05, 0.15)


def number(published: float, found: float) -> Verdict:
    """Whether a printed number is found."""
    return compare(published, found, 0.10, 0.30)


def points(published: float, found: float) -> Verdict:
    """Whether a printed percentage is found."""
    return compare(published, found, 5, 15, absolute=True)


def most(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several points: all, most, or fewer hold at least in part."""
    if all(each == "holds" for each in verdicts):
        return "holds"
    good = sum(each != "differs" for each in verdicts)
    return "holds in part" if good >= 0.6 * len(verdicts) else "differs"
