"""Amoruso, "An in-depth study of Multipath TCP in a domestic environment" (Politecnico di Torino, 2021), repeated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from mptcplab.reproduce import Context, Outcome

from . import captures, files, future, reliability, schedulers, steadiness, synthesis, throughput, usage
from .study import Study

ENGINES: Final = ("sim", "linux")
"""On `linux` each item stands beside `sim`."""

_MODULES: Final = (reliability, steadiness, captures, throughput, usage, schedulers, files, synthesis, future)

QUICK_ON_LINUX: Final = frozenset({"figure-5-8", "figure-5-10", "figure-5-19", "figure-5-36"})
"""Throughput to the cloud and with LTE, latency, and files: what a quick repetition runs on `linux`, for 40 seconds of
real time; the other items stand on `sim` alone then."""


def _item(name: str, study: Callable[[Context], Outcome]) -> Callable[[Context], Outcome]:
    if isinstance(study, Study) and name in QUICK_ON_LINUX:
        return replace(study, quick_on_linux=True)
    return study


ITEMS: Final[Mapping[str, Callable[[Context], Outcome]]] = {
    name.replace("_", "-"): _item(name.replace("_", "-"), study)
    for module in _MODULES
    for name, study in vars(module).items()
    if name.startswith(("figure_", "section_", "future_"))
}
