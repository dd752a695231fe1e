"""Why claims do not hold, by kinds: a cause begins with one of these words and a colon."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path
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
    rf"phases?|paths?|subflows?|clients?|scenarios?)\s+{_PLACE}(?:(?:,| and| to| or) {_PLACE})*|§ ?{_PLACE}",
    re.IGNORECASE,
)
_FILLED_IN: Final = re.compile(r"\{[^{}]*\}")
"""What a template's values take the place of."""
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


def literals(study: Path) -> frozenset[str]:
    """The pieces of sentences with numbers in a study's sources: numbers that nobody computes."""
    found: set[str] = set()
    for file in sorted(study.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docstrings = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for each in ast.walk(tree):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docstrings:
                found |= {piece for piece in _FILLED_IN.split(each.value) if " " in piece.strip() and figures(piece)}
    return frozenset(found)


def strays(cause: str, record: Iterable[str | float], literals: Iterable[str]) -> list[str]:
    """The numbers of a cause that stand in its study's sources and that the record of the run has not.

    The record is texts with numbers, and numbers. A number is there if one of these is the same to its digits, or as a
    percentage. Whole numbers below ten are words of a sentence.
    """
    known: list[float] = []
    for each in record:
        known += [float(number) for number in figures(each)] if isinstance(each, str) else [float(each)]
    written = [number for piece in sorted(literals) if piece in cause for number in figures(piece)]
    return [number for number in dict.fromkeys(written) if not _is_plain(number) and not _is_known(number, known)]


def _is_plain(number: str) -> bool:
    return number.isdigit() and int(number) < 10


def _is_known(number: str, known: Iterable[float]) -> bool:
    value, digits = abs(float(number)), len(number.partition(".")[2])
    slack = 0.5000001 * 10**-digits
    return any(abs(scale * abs(each) - value) <= slack for each in known for scale in (1, 100))


def figures(text: str) -> list[str]:
    """The numbers of a text that are no references such as `figure 3.4` or `RFC 6298`."""
    found = _NUMBER.findall(_REFERENCE.sub("", text))
    return [each.replace("−", "-").replace(",", "").lstrip("+") for each in found]
