"""The test of a search among commits: build the kernel, run the scenario in guests, hold the result against a bound."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mptcplab.bpf.controls import NAMES
from mptcplab.engines.catalogue import find
from mptcplab.engines.linux_virtual.bound import Bound
from mptcplab.engines.runner import run
from mptcplab.kernels import build, store
from mptcplab.kernels.bisect import Found, Tested, bisect
from mptcplab.scenario import UnsupportedError

if TYPE_CHECKING:
    from mptcplab.results.result import Result
    from mptcplab.scenario import Scenario

NAME: Final = "bisect"
"""Of the kernel that is tested; it goes at the end."""


def search(
    scenario: "Scenario",
    tree: str,
    good: str,
    bad: str,
    *,
    bound: Bound,
    repeat: int = 1,
    jobs: int = 1,
    tell: Callable[[Tested], None] = lambda _: None,
) -> Found:
    """The first commit after `good` whose kernel breaks the bound. Raises BisectError, ValueError, TreeError."""
    # Those that Linux does not have are compiled in, as for `kernel build --with`.
    controls = sorted({each.congestion.name for each in scenario.document.connections.values()} & set(NAMES))
    reference: list[Result] = []

    def test(place: Path, directory: Path) -> tuple[bool, str]:
        kernel = build.build(str(place), name=NAME, with_controls=controls, directory=directory, rename=False)
        engine = f"linux-virtual:{kernel.key}"
        refused = find(engine).unsupported(scenario)
        if refused:
            raise UnsupportedError(engine, refused)
        result = run(scenario, engine, repeat=repeat, jobs=jobs)
        # The good end is the first that is tested.
        reference.append(result)
        return bound.holds(result, reference[0])

    try:
        return bisect(Path(tree), good, bad, test, tell)
    finally:
        for kernel in store.kernels():
            if kernel.name == NAME:
                store.remove(kernel)
