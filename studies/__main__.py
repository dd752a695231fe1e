"""`python -m studies [NAME …]`."""

import sys
from collections.abc import Callable, Mapping
from typing import Final

from . import (
    bbr_share,
    cubic_response,
    diagnose,
    differential,
    emulator,
    engines,
    guest_cost,
    kernel_delay,
    kernel_fairness,
    khalili_scenarios,
    lia_two_paths,
    linux_virtual,
    loss_throughput,
    model_scenarios,
    olia_traces,
    shared_bottleneck,
    shared_detection,
    single_path,
    stack_speed,
    suspicions,
    tc_links,
)

STUDIES: Final[Mapping[str, Callable[[], None]]] = {
    "loss-throughput": loss_throughput.main,
    "cubic-response": cubic_response.main,
    "lia-two-paths": lia_two_paths.main,
    "shared-bottleneck": shared_bottleneck.main,
    "shared-detection": shared_detection.main,
    "kernel-fairness": kernel_fairness.main,
    "kernel-delay": kernel_delay.main,
    "khalili-scenarios": khalili_scenarios.main,
    "model-scenarios": model_scenarios.main,
    "olia-traces": olia_traces.main,
    "diagnose": diagnose.main,
    "emulator": emulator.main,
    "differential": differential.main,
    "engines": engines.main,
    "linux-virtual": linux_virtual.main,
    "guest-cost": guest_cost.main,
    "single-path": single_path.main,
    "bbr-share": bbr_share.main,
    "stack-speed": stack_speed.main,
    "suspicions": suspicions.main,
    "tc-links": tc_links.main,
}


def main(names: list[str]) -> int:
    """Run the studies that are named; list them where none is."""
    unknown = [name for name in names if name not in STUDIES]
    if unknown or not names:
        problem = f"found {', '.join(unknown)}; expected" if unknown else "expected"
        sys.stderr.write(f"{problem} one or more of: {', '.join(STUDIES)}\n")
        return 2
    for name in names:
        STUDIES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
