"""`python -m studies [NAME …]`."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from mptcplab import __version__, kernels

from . import (
    bbr_share,
    cold_road,
    cubic_response,
    diagnose,
    differential,
    emulator,
    engine_model,
    engines,
    exact,
    exact_kernels,
    exported,
    failover,
    fast_links,
    guest_cost,
    kernel_delay,
    kernel_fairness,
    kernel_infos,
    kernel_paths,
    khalili_scenarios,
    linux_virtual,
    loss_throughput,
    model_scenarios,
    olia_traces,
    scheduler_grid,
    shared_detection,
    sigcomm_tutorial,
    single_path,
    speed,
    stack_speed,
    suspicions,
    tc_links,
    trust,
    tshark,
)
from .runs import PRINTED
from .tables import Results, draw_pages

STUDIES: Final[Mapping[str, Callable[[], None]]] = {
    "loss-throughput": loss_throughput.main,
    "cubic-response": cubic_response.main,
    "shared-detection": shared_detection.main,
    "kernel-fairness": kernel_fairness.main,
    "kernel-delay": kernel_delay.main,
    "kernel-infos": kernel_infos.main,
    "kernel-paths": kernel_paths.main,
    "khalili-scenarios": khalili_scenarios.main,
    "model-scenarios": model_scenarios.main,
    "olia-traces": olia_traces.main,
    "scheduler-grid": scheduler_grid.main,
    "diagnose": diagnose.main,
    "emulator": emulator.main,
    "differential": differential.main,
    "engine-model": engine_model.main,
    "engines": engines.main,
    "exported": exported.main,
    "failover": failover.main,
    "fast-links": fast_links.main,
    "linux-virtual": linux_virtual.main,
    "exact": exact.main,
    "exact-held-out": exact.held_out,
    "exact-older": exact.older,
    "exact-kernels": exact_kernels.main,
    "guest-cost": guest_cost.main,
    "sigcomm-tutorial": sigcomm_tutorial.main,
    "single-path": single_path.main,
    "speed": speed.main,
    "cold-road": cold_road.main,
    "bbr-share": bbr_share.main,
    "stack-speed": stack_speed.main,
    "suspicions": suspicions.main,
    "tc-links": tc_links.main,
    "trust": trust.main,
    "tshark": tshark.main,
}

IN_GUESTS: Final = frozenset(
    {"exact", "exact-held-out", "linux-virtual", "single-path", "suspicions", "guest-cost", "tc-links"}
)
"""Those that run Linux in virtual time."""


def main(names: list[str]) -> int:
    """Run the studies that are named, keep their tables and draw those of the pages; list the studies where none is."""
    unknown = [name for name in names if name not in STUDIES]
    if unknown or not names:
        problem = f"found {', '.join(unknown)}; expected" if unknown else "expected"
        sys.stderr.write(f"{problem} one or more of: {', '.join(STUDIES)}\n")
        return 2
    for name in names:
        PRINTED.clear()
        STUDIES[name]()
        if PRINTED:
            Results(name, __version__, PRINTED, _kernel() if name in IN_GUESTS else "").write()
        draw_pages()
    return 0


def _kernel() -> str:
    try:
        return kernels.find(os.environ.get("MPTCPLAB_KERNEL")).version
    except kernels.UnknownKernelError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
