"""A bound that tells good kernels from bad ones: on a connection's goodput or completion, or on what it differs by."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mptcplab.results.effects import effects
from mptcplab.scenario.units import RATE, TIME, UnreadableError, read

if TYPE_CHECKING:
    from mptcplab.results.result import Result

_PERCENT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")
_CONDITION: Final = re.compile(r"\s*(.+?)\.(goodput|completion)\s*(<=|>=|<|>)\s*(.+?)\s*")
_DIMENSIONS: Final = {"goodput": (RATE, "goodput_bps", 1.0), "completion": (TIME, "completion_s", 1e-9)}
_EXPECTED: Final = 'a condition of good kernels such as "m.goodput >= 12 Mbit/s", or a difference such as "1 %"'


@dataclass(frozen=True)
class Bound:
    """Either `largest`, of the difference to the good kernel, or a condition on one quantity."""

    text: str
    largest: float | None = None
    connection: str = ""
    quantity: str = ""
    comparison: str = ""
    value: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Bound":
        """Read one. Raises ValueError."""
        if percent := _PERCENT.fullmatch(text):
            return cls(text, largest=float(percent[1]) / 100)
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise ValueError(f"found {text!r}; expected {_EXPECTED}")
        dimension, column, scale = _DIMENSIONS[found[2]]
        try:
            _, value = read(found[4], [dimension])
        except UnreadableError:
            raise ValueError(
                f"found {found[4]!r} in {text!r}; expected {dimension.noun}, {dimension.example}"
            ) from None
        return cls(text, connection=found[1], quantity=column, comparison=found[3], value=float(value) * scale)

    def holds(self, result: "Result", reference: "Result") -> tuple[bool, str]:
        """Whether a kernel is good, and what was found; `reference` is the result of the one that is good for sure."""
        if self.largest is not None:
            apart = {
                f"{each.what} {each.quantity.partition('_')[0]}": each.mean
                for each in effects(reference, result)
                if each.mean is not None and each.quantity in ("goodput_bps", "completion_s")
            }
            most = max(apart, key=lambda what: abs(apart[what]), default="")
            if not most or not apart[most]:
                return True, "nothing differs"
            return abs(apart[most]) <= self.largest, f"{most} differs by {apart[most]:+.2%}"
        rows = [row for row in result.connections.to_dicts() if row["name"] == self.connection]
        values = [row[self.quantity] for row in rows if row[self.quantity] is not None]
        if not rows or (not values and self.quantity != "completion_s"):
            names = ", ".join(dict.fromkeys(row["name"] for row in result.connections.to_dicts()))
            raise ValueError(f"{self.text!r}: there is no connection {self.connection!r}; there are {names}")
        if len(values) < len(rows):
            # What never arrived takes longer than any bound.
            return self.comparison.startswith(">"), f"{len(rows) - len(values)} of {len(rows)} did not complete"
        mean = sum(values) / len(values)
        good = {
            "<": mean < self.value,
            "<=": mean <= self.value,
            ">": mean > self.value,
            ">=": mean >= self.value,
        }[self.comparison]
        told = f"{mean / 1e6:.4g} Mbit/s" if self.quantity == "goodput_bps" else f"{mean:.4g} s"
        return good, f"{self.connection} {self.quantity.partition('_')[0]} {told}"
