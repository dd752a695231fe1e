"""Causes shown: the printed numbers of a table beside what runs give in which one thing is changed.

The thesis leaves open what a variant changes, or says it otherwise than we read it. The variant is named by which all
numbers of the table together come nearest; each claim's cause is what that one does to its number.
"""

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from .networks import Times, payload_bytes

_NEARER: Final = 0.8
"""A variant that leaves more than this of the whole table's distance explains nothing: other seeds do as much."""


@dataclass(frozen=True)
class Variant:
    """One thing that is changed in a scenario."""

    text: str
    """What is changed, to stand behind "with"."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of PERT and MPPERT."""
    queue: float = 1.0
    """Times the buffer."""
    span: Times | None = None
    """Warm-up and what is measured after it."""
    window: int | None = None
    """The most packets of a window: of a connection the buffer is so many for each of its paths."""

    def of(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """The scenario, changed."""
        changed = deepcopy(dict(scenario))
        for link in changed["link"].values():
            if isinstance(link["queue"], str):
                link["queue"] = f"{max(2, round(int(link['queue'].split()[0]) * self.queue))} packets"
        for connection in changed["connection"].values():
            control = connection["congestion"]
            named = {"name": control} if isinstance(control, str) else dict(control)
            if self.parameters and named["name"] in ("pert", "mppert"):
                connection["congestion"] = {**named, **self.parameters}
            if self.window is not None:
                payload = payload_bytes(
                    int(connection["mss"].split()[0]),
                    connection.get("protocol", "mptcp"),
                    timestamps=connection["tcp"].get("timestamps", True),
                )
                connection["receive_buffer"] = f"{self.window * len(connection['paths']) * payload} B"
        if self.span is not None:
            changed["duration"] = f"{sum(self.span)} s"
            changed["measure"] = {**changed["measure"], "warmup": f"{self.span[0]} s"}
        return changed


SMOOTHED: Final = Variant("the largest delay of smoothed samples, as the thesis words it", {"largest": "smoothed"})
LONGER: Final = Variant(
    "the largest delay of smoothed samples, over five minutes instead of one", {"largest": "smoothed"}, span=(60, 300)
)
ONE: Final = Variant("α held at 1", {"alpha_max": 1.0, "alpha_compete": 1.0})
HALF: Final = Variant("a buffer of half the product", queue=0.5)
DOUBLE: Final = Variant("a buffer of twice the product", queue=2.0)
TENTH: Final = Variant("a buffer of a tenth of the product", queue=0.1)
BETA: Final = Variant("β given up at losses too, as the thesis words it", {"on_loss": "beta"})
WINDOWS: Final = Variant("windows of at most 20 packets, the default of ns-2's agents", window=20)
"""2500000 bit/s in table IX are 20 packets of 1040 bytes in 67 ms."""


@dataclass(frozen=True)
class Tried:
    """What the variants gave, and causes by the keys of the numbers."""

    base: Mapping[str, float]
    printed: Mapping[str, float]
    found: Mapping[str, Mapping[str, float]]
    """By the variant's text."""

    def _factor(self, values: Mapping[str, float]) -> float:
        """The geometric mean factor between the numbers and what is printed (root mean square of logarithms)."""
        away = [math.log(max(values[key], 1e-6) / printed) ** 2 for key, printed in self.printed.items()]
        return math.exp(math.sqrt(float(np.mean(away))))

    def table(self) -> pl.DataFrame:
        """All numbers, and the factor by which they are off together."""
        columns = {"printed": self.printed, "as studied": self.base, **self.found}
        rows: list[dict[str, Any]] = [
            {"": key, **{name: values[key] for name, values in columns.items()}} for key in self.printed
        ]
        rows.append({"": "off by a factor of", **{name: self._factor(values) for name, values in columns.items()}})
        return pl.DataFrame(rows)

    def cause(self, key: str) -> str:
        """Why this number differs, as far as the variants show it."""
        if not self.found:
            return "unknown: no variant was tried."
        before = self._factor(self.base)
        text, values = min(self.found.items(), key=lambda each: self._factor(each[1]))
        after = self._factor(values)
        tried = "; ".join(self.found)
        if math.log(after) > _NEARER * math.log(before):
            return f"unknown: tried, and no nearer over the whole table: {tried}."
        whole = f"all its numbers together are off by a factor of {after:.2f} then, instead of {before:.2f}"
        if key not in self.printed:
            return f"setting: with {text}, the table comes nearer: {whole}."
        was, now = (abs(math.log(max(each[key], 1e-6) / self.printed[key])) for each in (self.base, values))
        seen = f"{values[key]:.3g} for the printed {self.printed[key]:.3g} (as studied: {self.base[key]:.3g})"
        if now < was:
            return (
                f"setting: with {text}, it is {seen}: {100 * (1 - now / was):.0f} % of the way. Of the table, {whole}."
            )
        return f"unknown: the variant that brings the table nearest, {text}, gives {seen}. Of the table, {whole}."


def tried(
    printed: Mapping[str, float],
    base: Mapping[str, float],
    variants: tuple[Variant, ...],
    run: Callable[[Variant], Mapping[str, float]],
) -> Tried:
    """Runs the variants."""
    return Tried(base, printed, {variant.text: run(variant) for variant in variants})
