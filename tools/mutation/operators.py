"""The changes that are tried: one operator, number or constant at a time."""

import re
from collections.abc import Iterator
from typing import Final

_SWAPS: Final = {
    " < ": (" <= ", " >= "),
    " <= ": (" < ", " > "),
    " > ": (" >= ", " <= "),
    " >= ": (" > ", " < "),
    " == ": (" != ",),
    " != ": (" == ",),
    " && ": (" || ",),
    " || ": (" && ",),
    " and ": (" or ",),
    " or ": (" and ",),
    " + ": (" - ",),
    " - ": (" + ",),
    " * ": (" / ",),
    " / ": (" * ",),
    " += ": (" -= ",),
    " -= ": (" += ",),
    ".min(": (".max(",),
    ".max(": (".min(",),
    "minimum(": ("maximum(",),
    "maximum(": ("minimum(",),
    "saturating_sub(": ("saturating_add(",),
    "saturating_add(": ("saturating_sub(",),
    "true": ("false",),
    "false": ("true",),
    "True": ("False",),
    "False": ("True",),
    "if !": ("if ",),
    "if not ": ("if ",),
}
_PLACES: Final = re.compile(
    "|".join(
        (rf"\b{re.escape(word)}\b" if word.isalpha() else re.escape(word))
        for word in sorted(_SWAPS, key=len, reverse=True)
    )
    + r"|(?<![\w.])\d+(?:\.\d+)?(?![\w.])"
)
_HIDDEN: Final = re.compile(r'//[^\n]*|#[^\n]*|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"')


def mutations(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin and end of each place that can be changed, and its replacement; comments and strings have none."""
    hidden = [match.span() for match in _HIDDEN.finditer(text)]
    for match in _PLACES.finditer(text):
        if any(begin <= match.start() < end for begin, end in hidden):
            continue
        found = match[0]
        if found in _SWAPS:
            for other in _SWAPS[found]:
                yield match.start(), match.end(), other
        elif "." in found:
            yield match.start(), match.end(), f"{float(found) + 1.0}"
        else:
            yield match.start(), match.end(), f"{int(found) + 1}"
