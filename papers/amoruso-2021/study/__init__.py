"""Amoruso, "An in-depth study of Multipath TCP in a domestic environment" (Politecnico di Torino, 2021), repeated."""

from collections.abc import Callable, Mapping
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import captures, files, reliability, schedulers, steadiness, synthesis, throughput, usage

ENGINES: Final = ("sim", "linux")
"""On `linux` each item stands beside `sim`."""

_MODULES: Final = (reliability, steadiness, captures, throughput, usage, schedulers, files, synthesis)

ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    name.replace("_", "-"): study
    for module in _MODULES
    for name, study in vars(module).items()
    if name.startswith(("figure_", "section_"))
}
