"""Rates, times, losses and sizes as people write them: `100Mbps`, `12.5 MB/s`, `100M`, `8ms`, `0.1%`, `4 MiB`.

B is bytes and b is bits; k, M and G are powers of 1000, Ki, Mi and Gi of 1024. Scenario files have one spelling for
each (mptcplab.scenario.units); what is said on a command line may have more.
"""

import re
from typing import Final

_NUMBER: Final = r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PREFIX: Final = r"(?P<prefix>[kKmMgGtT]i?)?"
_RATE: Final = re.compile(rf"{_NUMBER}\s*{_PREFIX}(?P<unit>[bB]its?/s(?:ec)?|[bB]its?|bps|b/s|Bps|B/s|[bB]ytes?/s|)")
_TIME: Final = re.compile(rf"{_NUMBER}\s*(?P<unit>[a-zA-Zµμ]+)")
_SIZE: Final = re.compile(rf"{_NUMBER}\s*{_PREFIX}(?P<unit>B|[bB]ytes?)")
_LOSS: Final = re.compile(rf"{_NUMBER}\s*(?:%|percent|pct|per cent)")
_LOUD: Final = re.compile(rf"{_NUMBER}\s*(?P<prefix>[KMGT])BPS")
_BARE_SIZE: Final = re.compile(rf"{_NUMBER}\s*(?P<prefix>[kKmMgGtT]i?)B")

_POWERS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}
_TIMES_S: Final = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "μs": 1e-6, "microseconds": 1e-6,
}  # fmt: skip


def rate_bps(text: str) -> float | None:
    """Bits per second; None for what is no rate. A number alone is none, and 100m, which might be minutes."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        return None
    prefix, unit = match["prefix"] or "", match["unit"]
    if not unit and (not prefix or prefix[0] in "mg"):
        return None
    number = float(match["number"]) * _factor(prefix)
    return number * 8 if (unit.startswith("B") and not unit.lower().startswith("bit")) or "yte" in unit else number


def time_s(text: str) -> float | None:
    """Seconds; None for what is no time."""
    match = _TIME.fullmatch(text.strip())
    if match is None or match["unit"].lower() not in _TIMES_S:
        return None
    return float(match["number"]) * _TIMES_S[match["unit"].lower()]


def loss(text: str) -> float | None:
    """A part of one; None for what is no percentage."""
    match = _LOSS.fullmatch(text.strip())
    return None if match is None else float(match["number"]) / 100


def size_bytes(text: str) -> float | None:
    """Bytes; None for what is no size."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else float(match["number"]) * _factor(match["prefix"] or "")


def hint(text: str, before: str = "") -> str:
    """What may be meant by what is no quantity: `; did you mean …?`, or nothing. `before`: `40/` of a pair."""
    text = text.strip()
    loud = _LOUD.fullmatch(text)
    if loud is not None:
        number, prefix = loud["number"], loud["prefix"].replace("K", "k")
        return f'; did you mean "{number} {prefix}bit/s" or "{number} {prefix}B/s" (bytes)?'
    size = _BARE_SIZE.fullmatch(text)
    if size is not None:
        return f'; did you mean "{text}/s" (bytes) or "{size["number"]} {size["prefix"]}bit/s"?'
    if re.fullmatch(r"[0-9.]+\s*m", text):
        number = text.rstrip("m ")
        return f'; did you mean "{number} Mbit/s" or "{number} ms"?'
    if re.fullmatch(r"[0-9.]+(?:\s*/\s*[0-9.]+)?", text):
        return (
            f'; did you mean "{text} Mbit/s" or "{text} ms"?' if "/" not in text else f'; did you mean "{text} Mbit/s"?'
        )
    for space in re.finditer(" ", text):
        one, other = text[: space.start()], text[space.end() :]
        if any(read(one) is not None for read in _READERS) and any(read(other) is not None for read in _READERS):
            return f'; did you mean "{before}{one}, {other}"?'
    return ""


_READERS: Final = (rate_bps, time_s, loss)


def decimal_comma(text: str) -> str | None:
    """The number with a comma in it, if there is one: 0,5 for 0.5."""
    match = re.search(r"(?<![0-9.])[0-9]+,[0-9]+(?![0-9.])", text)
    return None if match is None else match[0]


def _factor(prefix: str) -> float:
    if not prefix:
        return 1.0
    base = 1024 if prefix.endswith("i") else 1000
    return float(base ** _POWERS[prefix[0].lower()])
