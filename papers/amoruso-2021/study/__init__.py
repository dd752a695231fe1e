"""Amoruso, "An in-depth study of Multipath TCP in a domestic environment" (Politecnico di Torino, 2021), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import captures, files, reliability, schedulers, steadiness, synthesis, throughput, usage

ENGINES: Final = ("sim", "linux")
"""On `linux` each item stands beside `sim`."""

_MODULES: Final = (reliability, steadiness, captures, throughput, usage, schedulers, files, synthesis)

_NEEDS_A_MEDIUM: Final = (
    "Both paths of scenario B end in the same Wi-Fi, whose air all transmissions share; links here are not shared by "
    "directions and stations yet."
)
_B: Final = tuple(f"figure-{n}" for n in ("4-7", "4-8", "4-9", "4-10", "5-1", "5-2", "5-3", "5-4", "5-5", "5-6"))
_ALSO_B: Final = tuple(f"figure-{n}" for n in ("5-13", "5-14", "5-15", "5-27", "5-28", "5-29"))


def _left(context: Context) -> Outcome:
    keys = (*context.published.values, *context.published.statements)
    return Outcome([], not_covered=dict.fromkeys(keys, _NEEDS_A_MEDIUM))


ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    name.replace("_", "-"): _left if name.replace("_", "-") in (*_B, *_ALSO_B) else study
    for module in _MODULES
    for name, study in vars(module).items()
    if name.startswith(("figure_", "section_"))
}
