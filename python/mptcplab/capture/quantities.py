"""Numbers with the unit that fits them: 48 B, 3.00 kB, 1.25 GB."""

import math
from typing import Final

_PREFIXES: Final = ("", "k", "M", "G", "T", "P")
MISSING: Final = "–"


def amount(value: float | None, unit: str) -> str:
    """Three digits and a unit with the prefix that needs no more; a dash for what is not known.

    >>> amount(48, "B"), amount(3000, "B"), amount(19_020_000.0, "bit/s"), amount(999_999, "B"), amount(None, "B")
    ('48 B', '3.00 kB', '19.0 Mbit/s', '1.00 MB', '–')
    """
    if value is None:
        return MISSING
    step = 0
    while step + 1 < len(_PREFIXES) and float(f"{value:.3g}") >= 1000:
        value, step = value / 1000, step + 1
    whole = step == 0 and value == int(value)
    return f"{_digits(value, 0 if whole else None)} {_PREFIXES[step]}{unit}"


def duration(seconds: float | None) -> str:
    """A time in seconds, or in milliseconds below a tenth of one.

    >>> duration(12.3456), duration(0.02013), duration(0), duration(None)
    ('12.3 s', '20.1 ms', '0 s', '–')
    """
    if seconds is None:
        return MISSING
    if seconds == 0:
        return "0 s"
    return f"{_digits(seconds)} s" if seconds >= 0.1 else f"{_digits(seconds * 1000)} ms"


def percent(share: float | None) -> str:
    """A fraction as per cent.

    >>> percent(1.0), percent(0.0123), percent(0.0), percent(None)
    ('100 %', '1.23 %', '0 %', '–')
    """
    return MISSING if share is None else f"{_digits(share * 100)} %"


def _digits(value: float, decimals: int | None = None) -> str:
    if value == 0:
        return "0"
    if decimals is None:
        decimals = max(0, min(3, 2 - math.floor(math.log10(abs(value)))))
    return f"{value:.{decimals}f}"
