"""Paths as people say them: `fibre: 90/20 Mbit/s, 8 ms`, `lte: 40/10 Mbit/s, 45 ms ± 30, 0.5 %`; and caps."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mptcplab.advice import quantities
from mptcplab.advice.errors import AdviceError
from mptcplab.scenario.errors import did_you_mean, show

EXAMPLE: Final = '"lte: 40/10 Mbit/s, 45 ms ± 30, 0.5 %"'
UNKNOWN_QUEUE_S: Final = (0.02, 0.3)
"""Default range of the queue of a link: from a router with a small buffer to bufferbloat."""
MOST_PATHS: Final = 8
_SMALLEST_BUFFER: Final = 2_000
_LARGEST_BUFFER: Final = 10**9

_PAIR = re.compile(r"(?P<down>[0-9.]+\s*(?:[a-zA-Z]+(?:/s(?:ec)?)?)?)\s*/\s*(?P<up>[0-9.]+\s*(?P<unit>[a-zA-Z].*))")
_UNCERTAIN = re.compile(r"\s*(?:±|\+/-|\+-|-\+)\s*")
# What may stand before or after a quantity that says by itself what it is.
_SAID = {
    "rate": re.compile(r"(?:rate|bandwidth|speed)\s*[:=]?\s*|\s*(?:rate|bandwidth)$", re.IGNORECASE),
    "rtt": re.compile(
        r"(?:rtt|ping|latency|round[- ]trip(?: time)?)\s*[:=]?\s*|\s*(?:rtt|ping|round[- ]trip(?: time)?)$",
        re.IGNORECASE,
    ),
    "loss": re.compile(r"(?:packet )?loss\s*[:=]?\s*|\s*(?:packet )?(?:loss|lost)$", re.IGNORECASE),
    "queue": re.compile(r"(?:queue|buffer)\s*[:=]?\s*|\s*(?:queue|buffer)$", re.IGNORECASE),
}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PERIODS_S: Final = {"day": 86_400.0, "week": 7 * 86_400.0, "month": 30 * 86_400.0}
_LONGEST_RTT_S: Final = 60.0
_MOST_UNCERTAIN: Final = 0.95


@dataclass(frozen=True, slots=True)
class Span:
    """What is known of a number: it lies between these two."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """What was said without its ±."""
        return (self.low + self.high) / 2

    @property
    def is_known(self) -> bool:
        """Whether there is nothing to draw."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class PathSpec:
    """A path between the client and the server."""

    name: str
    down_bps: float
    up_bps: float
    rate: Span
    """Factor on both rates: 1 to 1 when they are known."""
    rtt_s: Span
    """Round-trip time of an empty path, as `ping` shows it."""
    loss: float
    """Probability that a packet is lost, whatever the load."""
    queue_s: Span
    """How long the drop-tail queue at each end of the link is at the link's rate."""
    queue_said: bool

    @property
    def is_known(self) -> bool:
        """Whether there is nothing to draw about it."""
        return self.rate.is_known and self.rtt_s.is_known and self.queue_s.is_known


@dataclass(frozen=True, slots=True)
class Cap:
    """What a contract lets through in a period."""

    path: str
    size_bytes: float
    period: str

    @property
    def period_s(self) -> float:
        """A month has 30 days."""
        return _PERIODS_S[self.period]


def read_paths(texts: Sequence[str]) -> list[PathSpec]:
    """All paths of a question. Raises AdviceError."""
    paths = [read_path(text) for text in texts]
    if len(paths) < 2:
        found = "one path" if paths else "no path"
        raise AdviceError("--path", found, f"two or more, each as --path {EXAMPLE}")
    few_enough("--path", len(paths))
    names = [path.name for path in paths]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise AdviceError("--path", f"two paths called {show(twice)}", "a name of its own for each path")
    return paths


def few_enough(where: str, count: int) -> None:
    """Raise AdviceError for more paths than a connection of Linux has subflows; sets of them double with each."""
    if count > MOST_PATHS:
        raise AdviceError(where, f"{count} paths", f"at most {MOST_PATHS}, as many as a connection of Linux can use")


def read_path(text: str) -> PathSpec:
    """One path. Raises AdviceError."""
    where = f"--path {show(text)}"
    name, colon, rest = text.partition(":")
    name = name.strip()
    if not colon or not name:
        raise AdviceError(where, "no name before a colon", f"NAME: RATE, ROUND-TRIP TIME, such as {EXAMPLE}")
    if not _NAME.fullmatch(name):
        raise AdviceError(where, f"the name {show(name)}", "up to 64 letters, digits, - and _")
    comma = quantities.decimal_comma(rest)
    if comma is not None:
        point = comma.replace(",", ".")
        raise AdviceError(
            where, f"{show(comma)} with a comma", f'{point}, or "{comma.replace(",", ", ")}" for two values'
        )
    rates: tuple[float, float, Span] | None = None
    rtt: Span | None = None
    loss: float | None = None
    queue: Span | None = None
    for item in (part.strip() for part in re.split("[,;]", rest)):
        kind, text = _kind(where, item)
        if kind == "queue":
            _once(where, "queue", queue)
            queue = _time(where, text, "the queue's length, such as queue 100 ms")
        elif kind == "rate":
            _once(where, "rate", rates)
            rates = _rates(where, text)
        elif kind == "rtt":
            _once(where, "round-trip time", rtt)
            rtt = _time(where, text, "a round-trip time, such as 45 ms or 45 ms ± 30")
        else:
            _once(where, "loss", loss)
            loss = _loss(where, text)
    if rates is None:
        raise AdviceError(where, "no rate", f'one, such as "{name}: 40/10 Mbit/s, …" (to the client / from it)')
    if rtt is None:
        raise AdviceError(
            where, "no round-trip time", f'what ping shows, such as "{name}: …, 45 ms" or "…, 45 ms ± 30"'
        )
    down, up, factor = rates
    return PathSpec(name, down, up, factor, rtt, loss or 0.0, queue or Span(*UNKNOWN_QUEUE_S), queue is not None)


def read_cap(text: str, names: Sequence[str]) -> Cap:
    """`lte: 20 GB/month`. Raises AdviceError."""
    where = f"--cap {show(text)}"
    example = f'such as "{names[-1] if names else "lte"}: 20 GB/month"'
    name, colon, rest = text.partition(":")
    if not colon:
        raise AdviceError(where, "no name before a colon", f"a path and what it may carry, {example}")
    known_path(where, name.strip(), names)
    size, slash, period = rest.rpartition("/")
    if not slash:
        raise AdviceError(where, f"{show(rest.strip())} without a period", f"/day, /week or /month after it, {example}")
    if period.strip() not in _PERIODS_S:
        expected = f"day, week or month{did_you_mean(period.strip(), _PERIODS_S)}"
        raise AdviceError(where, f"the period {show(period.strip())}", expected)
    amount = _size(where, size, "a size, such as 20 GB")
    if amount <= 0:
        raise AdviceError(where, size.strip(), "more than 0; leave out a path that must carry nothing")
    return Cap(name.strip(), amount, period.strip())


def read_buffer(text: str) -> str:
    """`1 MB`, `4 MiB`, or `auto`, as scenario files have it. Raises AdviceError."""
    if text.strip() == "auto":
        return "auto"
    where = f"--buffer {show(text)}"
    amount = _size(where, text, "a size, such as 1 MB")
    if not _SMALLEST_BUFFER <= amount <= _LARGEST_BUFFER:
        raise AdviceError(where, text.strip(), "2 kB, more than a segment, to 1 GB")
    return f"{round(amount)} B"


def known_path(where: str, name: str, names: Sequence[str]) -> str:
    """The name, if a path has it. Raises AdviceError."""
    if name not in names:
        raise AdviceError(where, f"the path {show(name)}", f"{' or '.join(names)}{did_you_mean(name, names)}")
    return name


def _once(where: str, what: str, before: object) -> None:
    if before is not None:
        raise AdviceError(where, f"a second {what}", f"one {what} for a path")


def _kind(where: str, item: str) -> tuple[str, str]:
    """What an item is about, by its words or its unit, and the item without these words."""
    for kind, pattern in _SAID.items():
        bare = pattern.sub("", item, count=1)
        if bare != item:
            return kind, bare
    head, *tail = _UNCERTAIN.split(item)
    text = head if re.search(r"[^0-9.\s]", head) or not tail else f"{head} {tail[0].lstrip('0123456789. ')}"
    pair = _PAIR.fullmatch(text)
    if quantities.rate_bps(pair["up"] if pair else text) is not None:
        return "rate", item
    if quantities.time_s(text) is not None:
        return "rtt", item
    if quantities.loss(text) is not None:
        return "loss", item
    expected = "a rate (90/20 Mbit/s), a round-trip time (8 ms), a loss (0.5 %) or a queue (queue 100 ms)"
    found = show(item) if item else "nothing between two commas"
    hint = quantities.hint(pair["up"], f"{pair['down'].strip()}/") if pair else quantities.hint(text)
    raise AdviceError(where, found, expected + hint)


def _size(where: str, text: str, expected: str) -> float:
    amount = quantities.size_bytes(text)
    if amount is None:
        kind = " (a rate)" if quantities.rate_bps(text) is not None else ""
        kind = " (a time)" if not kind and quantities.time_s(text) is not None else kind
        raise AdviceError(where, f"{show(text.strip())}{kind}", expected)
    return amount


def _rates(where: str, item: str) -> tuple[float, float, Span]:
    """Rates to the client and from it, in bit/s, and what both may be multiplied by."""
    expected = "a rate, such as 90/20 Mbit/s (to the client / from it) or 50 Mbit/s (both)"
    parts = _UNCERTAIN.split(item)
    if len(parts) == 2 and not re.search(r"[a-zA-Z]", parts[0]):
        # 40 ± 4 Mbit/s
        unit = parts[1].lstrip("0123456789. ")
        parts = [f"{parts[0]} {unit}", parts[1]]
    pair = _PAIR.fullmatch(parts[0])
    sides = (parts[0], parts[0])
    if pair:
        down = pair["down"].strip()
        sides = (down if re.search("[a-zA-Z]", down) else f"{down} {pair['unit']}", pair["up"])
    found = [quantities.rate_bps(side) for side in sides]
    for rate, side in zip(found, sides, strict=True):
        if rate is None:
            raise AdviceError(where, show(side.strip()), expected + quantities.hint(side))
        if rate < 1000:
            raise AdviceError(where, side.strip(), "a rate of 1 kbit/s or more")
    down_bps, up_bps = (float(rate or 0) for rate in found)
    if len(parts) == 1:
        return down_bps, up_bps, Span(1.0, 1.0)
    around = _around(where, parts, sides[1].lstrip("0123456789. "), down_bps)
    return down_bps, up_bps, Span(1 - around, 1 + around)


def _time(where: str, item: str, expected: str) -> Span:
    """A time in seconds, with its ± if it has one."""
    parts = _UNCERTAIN.split(item)
    unit = parts[0].lstrip("0123456789. ") or (parts[-1].lstrip("0123456789. ") if len(parts) > 1 else "")
    said = parts[0] if parts[0].lstrip("0123456789. ") else f"{parts[0]} {unit}"
    middle = quantities.time_s(said)
    if middle is None:
        raise AdviceError(where, show(item), expected)
    if not 0 < middle <= _LONGEST_RTT_S:
        raise AdviceError(where, said, f"more than 0 s and at most {_LONGEST_RTT_S:g} s")
    if len(parts) == 1:
        return Span(middle, middle)
    around = _around(where, parts, unit, middle)
    return Span(middle * (1 - around), middle * (1 + around))


def _around(where: str, parts: Sequence[str], unit: str, middle: float) -> float:
    """What follows ±, relative to the number before it: a percentage, or a quantity with or without its unit."""
    expected = f"after ± a number of {unit} or a percentage"
    if len(parts) != 2 or not parts[1].strip():
        raise AdviceError(where, "± without one number behind it", expected)
    text = parts[1].strip()
    if re.fullmatch(r"[0-9.]+", text):
        text = f"{text} {unit}"
    share, rate, time = quantities.loss(text), quantities.rate_bps(text), quantities.time_s(text)
    amount = rate if quantities.time_s(f"1 {unit}") is None else time
    if share is None and amount is None:
        raise AdviceError(where, show(text), expected)
    part = share if share is not None else float(amount or 0) / middle
    if not 0 < part <= _MOST_UNCERTAIN:
        raise AdviceError(where, f"± {parts[1].strip()}", f"more than 0 and at most {_MOST_UNCERTAIN:.0%} of it")
    return part


def _loss(where: str, item: str) -> float:
    if _UNCERTAIN.search(item):
        raise AdviceError(where, show(item), "a loss without ±")
    loss = quantities.loss(item)
    if loss is None:
        raise AdviceError(where, show(item), "a loss, such as 0.5 %")
    if loss == 0:
        raise AdviceError(
            where, item, "a loss above 0 %; leave it out for a path that loses packets only when its queue is full"
        )
    if not 0 < loss <= 0.5:
        raise AdviceError(where, item, "a loss above 0 % and at most 50 %")
    return loss
