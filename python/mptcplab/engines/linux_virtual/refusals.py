"""What the engine `linux-virtual` cannot do, by name: what `linux` cannot, and controls that its kernel has not."""

from mptcplab import kernels
from mptcplab.engines.linux import refusals
from mptcplab.scenario import Problem, Scenario

_OWN = (
    ("reno", "TCP_CONG_ADVANCED"),
    ("cubic", "TCP_CONG_CUBIC"),
    ("bbr", "TCP_CONG_BBR"),
    ("vegas", "TCP_CONG_VEGAS"),
)


def unsupported(scenario: Scenario, kernel: str | None) -> list[Problem]:
    """Everything in the scenario that the engine cannot do with this kernel, each with what would do.

    Without a name every kernel that is built counts, and none at all for one that has what every guest has.
    """
    chosen = kernels.kernels() if kernel is None else [kernels.find(kernel)]
    have = [control for each in chosen for control in controls(each)] or ["reno", "cubic"]
    return refusals.unsupported(scenario, controls=tuple(dict.fromkeys(have)))


def controls(kernel: kernels.Kernel) -> tuple[str, ...]:
    """The congestion controls of a guest's kernel: a guest can load none later."""
    config = kernel.config.read_text(encoding="utf-8")
    return (*(name for name, option in _OWN if f"CONFIG_{option}=y" in config), *kernel.controls)
