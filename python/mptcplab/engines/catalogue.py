"""The one table of engines: what each is called, where it is implemented and what it can do.

An engine's implementation is imported when the engine is first used, so reading this table costs next to nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from mptcplab import machine
from mptcplab.errors import UnknownEngineError

if TYPE_CHECKING:
    from mptcplab.machine import Finding
    from mptcplab.results.result import Run
    from mptcplab.scenario import Problem, Scenario


class Runner(Protocol):
    """Runs one scenario with one seed; `progress` is called with the scenario's time in seconds.

    An engine that `captures` also takes `capture`, one of mptcplab.capture.settings; one that `traces` takes `trace`,
    an empty directory.
    """

    def __call__(
        self,
        scenario: "Scenario",
        *,
        seed: int,
        through_wire: bool = ...,
        progress: Callable[[float], None] | None = ...,
    ) -> "Run":
        """Run it."""
        ...


def _nothing() -> "tuple[Finding, ...]":
    return ()


def _live_kernel() -> "tuple[Finding, ...]":
    return (*machine.live(), machine.kernel_mptcp())


def _guest_kernel() -> "tuple[Finding, ...]":
    from mptcplab.kernels.store import finding

    return (finding(),)


@dataclass(frozen=True)
class Engine:
    """One engine."""

    name: str
    summary: str
    home: str
    """The package that has `unsupported`, and `run` (a Runner) in its module `engine`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What `run` and `unsupported` are called with besides a scenario."""
    requirements: "Callable[[], tuple[Finding, ...]]" = _nothing
    """Looks at what the engine needs of this machine."""
    virtual_time: bool = False
    """Whether its clock is virtual, so that several runs at a time do not disturb one another."""
    captures: bool = False
    """Whether it can write the packets of its hosts."""
    traces: bool = False
    """Whether it can write what its connections decide."""
    through_wire: bool = False
    """Whether it can encode, decode and compare every segment."""
    listens_for_signals: bool = False
    """Whether Ctrl-C ends a run in the caller's own thread. Then a single job needs no thread beside the caller's,
    which would cost a third of a short simulation."""

    kernels: bool = False
    """Whether it runs one of several kernels, which stands behind its name: `linux-virtual:6.12`."""

    @property
    def runner(self) -> Runner:
        """The function that runs a scenario; imports the engine."""
        return cast(Runner, partial(import_module(f"{self.home}.engine").run, **self.arguments))

    def unsupported(self, scenario: "Scenario") -> "list[Problem]":
        """Everything in the scenario that the engine cannot do, each with what it can do instead."""
        problems: list[Problem] = import_module(self.home).unsupported(scenario, **self.arguments)
        return problems

    def origin(self, scenario: "Scenario") -> Mapping[str, Any] | None:
        """What its results depend on in addition to this program, for their provenance: a guest's kernel."""
        if not self.kernels:
            return None
        found: Mapping[str, Any] = import_module(self.home).origin(scenario, **self.arguments)
        return found

    def require(self, *scenarios: "Scenario") -> None:
        """Raise EngineUnavailableError when this machine lacks what the engine needs.

        Before that UnsupportedError for what one of `scenarios` asks of the engine in vain: that is so on any machine.
        """
        findings = self.requirements()
        if any(finding.lacking for finding in findings):
            for scenario in scenarios:
                self.refuse(scenario)
        machine.require(f"the engine {self.name!r}", findings)

    def refuse(self, scenario: "Scenario") -> None:
        """Raise UnsupportedError for what the engine cannot do of the scenario."""
        problems = self.unsupported(scenario)
        if problems:
            from mptcplab.scenario import UnsupportedError  # loads slowly

            raise UnsupportedError(self.name, problems)


ENGINES: Final[Mapping[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine(
            "sim",
            "our own TCP and Multipath TCP in virtual time, packet by packet",
            "mptcplab.engines.sim",
            virtual_time=True,
            captures=True,
            traces=True,
            through_wire=True,
            listens_for_signals=True,
        ),
        Engine(
            "model",
            "the steady state, computed from theory",
            "mptcplab.engines.model",
            virtual_time=True,
            listens_for_signals=True,
        ),
        Engine(
            "stack",
            "the same TCP and Multipath TCP on TUN devices: real packets, real time",
            "mptcplab.engines.stack",
            requirements=machine.live,
            captures=True,
            traces=True,
        ),
        Engine(
            "linux",
            "the kernel's Multipath TCP in network namespaces, in real time",
            "mptcplab.engines.linux",
            requirements=_live_kernel,
            captures=True,
        ),
        Engine(
            "linux-virtual",
            "the kernel's Multipath TCP in virtual time, in a guest: deterministic, without privileges",
            "mptcplab.engines.linux_virtual",
            requirements=_guest_kernel,
            virtual_time=True,
            captures=True,
            kernels=True,
        ),
    )
}

MIXED: Final[Mapping[str, Engine]] = {
    name: Engine(
        name,
        f"the engine stack with our {ours} and the kernel's {kernels}",
        "mptcplab.engines.stack",
        {"kernel_end": kernels},
        requirements=_live_kernel,
        captures=True,
    )
    for name, ours, kernels in (("stack-linux", "client", "server"), ("linux-stack", "server", "client"))
}
"""Engines with our stack at one end and the kernel at the other."""

REMOTE: Final[Mapping[str, Engine]] = {
    "testbed": Engine(
        "testbed",
        "the kernel's Multipath TCP between two real machines that run mptcplab agent",
        "mptcplab.engines.testbed",
        captures=True,
    )
}
"""Engines for scenarios that name real machines."""

ALL: Final[Mapping[str, Engine]] = {**ENGINES, **MIXED, **REMOTE}


def find(name: str) -> Engine:
    """The engine of a name, whether this machine has what it needs or not. Raises UnknownEngineError."""
    engine = ALL.get(name)
    if engine is None and ":" in name:
        base, _, kernel = name.partition(":")
        engine = ALL.get(base)
        if engine is not None and engine.kernels and kernel:
            return replace(engine, name=name, arguments={**engine.arguments, "kernel": kernel})
        engine = None
    if engine is None:
        raise UnknownEngineError(f"there is no engine {name!r}; choose from {', '.join(ALL)}")
    return engine


def with_kernels(names: Sequence[str], kernels: Sequence[str]) -> list[str]:
    """The names of engines with one for each kernel in place of those that run one of several.

    Raises UnknownEngineError, and ValueError when none of them does.
    """
    if not kernels:
        return list(names)
    if not any(find(name).kernels for name in names):
        able = ", ".join(engine.name for engine in ALL.values() if engine.kernels)
        raise ValueError(f"a kernel is chosen for the engine {able}; {', '.join(names)} does not use one")
    return [
        each
        for name in names
        for each in ([f"{name}:{kernel}" for kernel in kernels] if find(name).kernels else [name])
    ]


def available(name: str, *scenarios: "Scenario") -> Engine:
    """The engine of a name, if this machine can run it.

    Raises UnknownEngineError, UnsupportedError for one of `scenarios`, and then EngineUnavailableError.
    """
    engine = find(name)
    engine.require(*scenarios)
    return engine
