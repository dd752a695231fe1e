"""The engine `linux-virtual`: the kernel's Multipath TCP in virtual time, in a guest (docs/linux-virtual.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mptcplab.scenario import Problem, Scenario


def unsupported(scenario: "Scenario", *, kernel: str | None = None) -> "list[Problem]":
    """Everything in the scenario that the engine cannot do with this kernel, each with what would do."""
    from mptcplab.engines.linux_virtual import refusals  # guests load this package without scenarios

    return refusals.unsupported(scenario, kernel)


def origin(scenario: "Scenario", *, kernel: str | None = None) -> Mapping[str, Any]:
    """What a result depends on in addition to the program: the kernel, and what its hosts are told."""
    from mptcplab import kernels
    from mptcplab.engines.linux import buffers
    from mptcplab.engines.linux.kernel import parameters
    from mptcplab.engines.linux_virtual.guest import MEMORY_MB

    found = kernels.find(kernel)
    sysctls = {}
    for name, each in scenario.document.connections.items():
        scheduler = {"name": each.scheduler.name, **each.scheduler.parameters}
        send_bytes = buffers.send_bytes({"protocol": each.protocol, "scheduler": scheduler})
        sysctls[name] = parameters(ecn=each.ecn, checksum=each.checksum, send_bytes=send_bytes)
    return {"name": found.name, **found.identity(), "memory_mb": MEMORY_MB, "sysctls": sysctls}


__all__ = ["origin", "unsupported"]
