"""The first screen of a report: the machine of the work, and a bar of the causes."""

from collections.abc import Sequence

from mptcplab.reproduce.machine import SOURCES, Machine


def bars(by_cause: Sequence[tuple[str, Sequence[tuple[str, str, int]]]]) -> list[dict[str, object]]:
    """A row for each kind of cause; its parts as widths in per cent of the largest row."""
    sums = [sum(count for *_, count in parts) for _, parts in by_cause]
    return [
        {
            "cause": cause,
            "count": total,
            "parts": [(kind, f"{count} {said}", 100 * count / max(sums)) for kind, said, count in parts],
        }
        for (cause, parts), total in zip(by_cause, sums, strict=True)
    ]


def rows(machine: Machine) -> list[dict[str, str]]:
    """The table of the machine."""
    return [
        {
            "name": entry.name,
            "value": entry.shown(entry.value),
            "source": f"{SOURCES[entry.source]}: {entry.why}",
            "text": entry.shown(entry.text),
            "here": entry.here,
        }
        for entry in machine.entries.values()
    ]
