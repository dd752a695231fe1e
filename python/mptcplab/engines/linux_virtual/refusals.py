"""What the engine `linux-virtual` cannot do, by name: what `linux` cannot, and controls that its kernel has not."""

from mptcplab import kernels
from mptcplab.engines.linux import refusals
from mptcplab.engines.linux_virtual import tc_refusals
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.model import LINKS_BY

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
    versions = tuple(each.version for each in chosen)
    found = refusals.unsupported(scenario, controls=tuple(dict.fromkeys(have)), versions=versions)
    if scenario.document.links_by == LINKS_BY[0]:
        return found
    places = scenario.places()
    of_tc = [places.problem(*each) for each in tc_refusals.found(scenario.document, chosen)]
    return [*(each for each in found if each.key != "links"), *of_tc]


def controls(kernel: kernels.Kernel) -> tuple[str, ...]:
    """The congestion controls of a guest's kernel: a guest can load none later."""
    config = kernel.config.read_text(encoding="utf-8")
    return (*(name for name, option in _OWN if f"CONFIG_{option}=y" in config), *kernel.controls)
