"""Are kernels different? Effects over the seeds, and the first packet at which the runs of a seed part."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from mptcplab import files
from mptcplab.capture.divergence import Divergence, divergence
from mptcplab.capture.settings import Capture
from mptcplab.engines.catalogue import find
from mptcplab.engines.runner import captures, run
from mptcplab.render.text_tables import Field, Table
from mptcplab.results.effects import Effect, effects

if TYPE_CHECKING:
    from mptcplab.results.result import Result
    from mptcplab.scenario import Scenario

_UNITS: Final = {
    "goodput_bps": ("goodput", 1e-6, "Mbit/s"),
    "completion_s": ("completion", 1.0, "s"),
    "retransmissions": ("retransmissions", 1.0, "segments"),
}


@dataclass(frozen=True)
class KernelComparison:
    """Kernels against the first of them; empty where there are not two."""

    first: str | None
    effects: Mapping[str, list[Effect]]
    divergences: Mapping[str, Divergence | None]

    @classmethod
    def of(cls, scenario: "Scenario", results: "Mapping[str, Result]") -> Self:
        """Out of finished runs; one run of each kernel is repeated with captures."""
        names = [name for name in results if find(name).kernels]
        if len(names) < 2:
            return cls(None, {}, {})
        first, *others = names
        found = {name: effects(results[first], results[name]) for name in others}
        try:
            captures(first, scenario)
        except ValueError:  # more interfaces than are captured
            return cls(first, found, {})
        with files.scratch("mptcplab-kernels-") as place:
            directories = {}
            for number, name in enumerate(names):
                directories[name] = Path(place, str(number))
                directories[name].mkdir()
                run(scenario, name, capture=Capture(directories[name]))
            divergences = {name: divergence(directories[first], directories[name]) for name in others}
        return cls(first, found, divergences)

    def to_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        if self.first is None:
            return {}
        return {
            "effects": {name: [each.to_dict() for each in found] for name, found in self.effects.items()},
            "parting": {
                name: None
                if found is None
                else {
                    "alike": found.number,
                    "what": found.what,
                    self.first: None
                    if found.first is None
                    else {"time_s": found.first.time_ns / 1e9, "packet": str(found.first)},
                    name: None
                    if found.second is None
                    else {"time_s": found.second.time_ns / 1e9, "packet": str(found.second)},
                }
                for name, found in self.divergences.items()
            },
        }

    def tables(self) -> tuple[Table, ...]:
        """Effects, for people."""
        return tuple(
            Table(
                f"{name} against {self.first}: mean difference over the seeds, with its 95 % interval",
                (
                    Field("of", "", tuple(each.what for each in found), "text"),
                    Field("quantity", "", tuple(_UNITS[each.quantity][0] for each in found), "text"),
                    Field("unit", "", tuple(_UNITS[each.quantity][2] for each in found), "text"),
                    Field(str(self.first), "", tuple(_value(each, each.reference) for each in found), "number"),
                    Field(name, "", tuple(_value(each, each.value) for each in found), "number"),
                    Field("differs", "%", tuple(_percent(each.mean) for each in found), "number"),
                    Field("±", "%", tuple(_width(each.half) for each in found), "number"),
                    Field("same seeds", "", tuple(f"{each.same}/{each.seeds}" for each in found), "text"),
                    Field("verdict", "", tuple(_verdict(each) for each in found), "text"),
                ),
            )
            for name, found in self.effects.items()
        )

    def lines(self) -> list[str]:
        """Where they part, for people."""
        lines = []
        for name, found in self.divergences.items():
            assert self.first is not None, "there are divergences"
            if found is None:
                lines.append(f"{self.first} and {name} send the same packets")
            else:
                lines += found.lines((self.first, name))
        return lines


def _value(effect: Effect, value: float) -> str:
    return f"{value * _UNITS[effect.quantity][1]:.4g}"


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{part * 100:+.2f}"


def _width(part: float | None) -> str:
    return "–" if part is None else f"{part * 100:.2f}"


def _verdict(effect: Effect) -> str:
    if effect.same == effect.seeds:
        return "the same"
    if effect.half is None or effect.mean is None:
        return "–"
    return "differs" if effect.differs else "not shown"
