"""Two views of a case: whether the same subflows exist, and what else differs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mptcplab.paths.seen import Seen, Subflow

from .draw import Case

TIME_TOLERANCE_NS: Final = 30_000_000
"""Subflows begin within so much of each other: a round trip of the case's paths, about."""
CARRIES: Final = 0.1


@dataclass(frozen=True)
class Comparison:
    """What differs in a case; empty where nothing does."""

    case: Case
    ours: Seen
    theirs: Seen

    @property
    def subflows(self) -> bool:
        """The same subflows were tried, by the same host, with the same ids and flags, and came up or were refused."""
        return Counter(map(_key, self.ours.subflows)) == Counter(map(_key, self.theirs.subflows))

    @property
    def order(self) -> bool:
        """In the same order, and each about at the same time."""
        if not self.subflows:
            return False
        mine, other = (sorted(_times(seen)) for seen in (self.ours, self.theirs))
        return all(abs(one[1] - two[1]) <= TIME_TOLERANCE_NS for one, two in zip(mine, other, strict=True))

    @property
    def announced(self) -> bool:
        """The same addresses were announced and withdrawn."""
        return _said(self.ours) == _said(self.theirs)

    @property
    def priorities(self) -> bool:
        """The same subflows changed their priority."""
        return _changed(self.ours) == _changed(self.theirs)

    @property
    def carriers(self) -> bool:
        """The same paths carried the data."""
        return _carriers(self.ours) == _carriers(self.theirs)

    @property
    def is_alike(self) -> bool:
        """Nothing of that differs."""
        return self.subflows and self.announced and self.priorities and self.carriers

    def lines(self) -> list[str]:
        """For people."""
        return [self.case.text(), " ours:", *_lines(self.ours), " theirs:", *_lines(self.theirs)]


def _key(each: Subflow) -> tuple[object, ...]:
    return each.place, each.server, each.opener, each.is_join, each.id, each.backups, each.is_established


def _times(seen: Seen) -> list[tuple[str, int]]:
    return [(repr(_key(each)), each.at_ns - seen.subflows[0].at_ns) for each in seen.subflows]


def _said(seen: Seen) -> set[tuple[object, ...]]:
    return {(each.host, each.kind, each.id, each.port) for each in seen.signals if each.kind != "priority"}


def _changed(seen: Seen) -> set[tuple[object, ...]]:
    return {(each.host, each.place, each.backup) for each in seen.signals if each.kind == "priority"}


def _carriers(seen: Seen) -> set[int]:
    whole = sum(each.bytes for each in seen.subflows)
    by_place: Counter[int] = Counter()
    for each in seen.subflows:
        by_place[each.place] += each.bytes
    return {place for place, count in by_place.items() if count >= CARRIES * whole > 0}


def _lines(seen: Seen) -> Sequence[str]:
    start = seen.subflows[0].at_ns if seen.subflows else 0
    found = [
        f"  {(each.at_ns - start) / 1e6:9.1f} ms  {each.opener} C{each.place}-S{each.server} id {each.id} "
        f"backup {int(each.backups[0])}{int(each.backups[1])} {'up' if each.is_established else 'refused'} "
        f"{each.bytes} B"
        for each in seen.subflows
    ]
    signals = [
        f"  {(each.at_ns - start) / 1e6:9.1f} ms  {each.host} {each.kind} id {each.id} port {each.port} "
        f"place {each.place} backup {int(each.backup)}"
        for each in seen.signals
    ]
    return [*found, *signals]
