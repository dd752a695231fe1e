"""Why claims do not hold, by kinds: a cause begins with one of these words and a colon."""

import re
from typing import Final

KINDS: Final = {
    "chance": "chance: few values, or a single run",
    "setting": "a setting that the work does not give",
    "machine": "something of the machine that is not simulated",
    "algorithm": "the algorithm or the closed form itself, as the work gives it",
    "work": "the work contradicts itself, or says less than is judged",
    "unknown": "not known",
}
_PLACE: Final = r"[A-Z]?\.?\d[\d.]*"
_REFERENCE: Final = re.compile(
    r"\b(?:figures?|tables?|equations?|sections?|chapters?|theorems?|corollary|appendix|pages?|RFC|Linux|networks?|"
    rf"phases?|paths?|subflows?|clients?|scenarios?)\s+{_PLACE}(?:(?:,| and| to| or) {_PLACE})*",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![\w.])[−+-]?\d[\d,]*(?:\.\d+)?(?!\w)")


def kind_of(cause: str) -> str:
    """The kind that a cause names; `unknown` of one that names none."""
    word, colon, _ = cause.partition(":")
    return word if colon and word in KINDS else "unknown"


def text_of(cause: str) -> str:
    """The cause without its kind, as a sentence."""
    word, colon, rest = cause.partition(":")
    if not colon or word not in KINDS:
        return cause
    rest = rest.strip()
    return rest[:1].upper() + rest[1:]


def figures(text: str) -> list[str]:
    """The numbers of a text that are no references such as `figure 3.4` or `RFC 6298`."""
    found = _NUMBER.findall(_REFERENCE.sub("", text))
    return [each.replace("−", "-").replace(",", "").lstrip("+") for each in found]
