"""What the engine `linux` cannot do, by name: the kernel has one scheduler, and the controls that are loaded."""

import platform
import shutil
from collections.abc import Iterator

from mptcplab import registry
from mptcplab.engines.linux import buffers, kernel
from mptcplab.engines.linux.layout import KIND_LIMIT
from mptcplab.engines.linux.programs import CONTAINERS
from mptcplab.scenario import Problem, Scenario
from mptcplab.scenario.applications import Program
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.errors import Part, one_of, show
from mptcplab.scenario.model import Document

Found = tuple[tuple[Part, ...], str, str]

CONNECTION_LIMIT = 1000

_PACKAGES = {
    "ab": "apache2-utils",
    "apache2": "apache2",
    "curl": "curl",
    "iperf3": "iperf3",
    "lftp": "lftp",
    "mptcpize": "mptcpize",
    "nginx": "nginx",
    "vsftpd": "vsftpd",
    "wget": "wget",
    **CONTAINERS,
}
"""Debian's packages with programs that are likely to be asked for."""
_OURS = "{python}"
_TCP = ("loss_detection",)
"""Options of `tcp` that a kernel can be told for one host alone."""
_KERNELS_OWN = {"window_validation": "linux", "tso": True, "receiver": "linux", "timers": "linux"}
"""What a kernel does in any case, where it is not the default."""


def unsupported(
    scenario: Scenario,
    *,
    controls: tuple[str, ...] | None = None,
    versions: tuple[str, ...] | None = None,
    programs_here: bool = True,
) -> list[Problem]:
    """Everything in the scenario that the engine does not support on this machine, each with what it expects.

    `controls` are the congestion controls of guests' kernels and `versions` those of Linux; without them this
    machine's count. Programs are looked for on this machine if they are to run here.
    """
    places = scenario.places()
    # A scheduler that nobody asked for is the kernel's own.
    own = {
        f"connection.{name}.scheduler"
        for name, connection in scenario.document.connections.items()
        if "scheduler" not in connection.model_fields_set
    }
    problems = {problem.key: problem for problem in scenario.unsupported("linux") if problem.key not in own}
    for found in _found(scenario.document, controls, versions or (platform.release(),), programs_here):
        problem = places.problem(*found)
        problems.setdefault(problem.key, problem)
    return list(problems.values())


def _found(
    document: Document, controls: tuple[str, ...] | None, versions: tuple[str, ...], programs_here: bool
) -> Iterator[Found]:
    for name, connection in document.connections.items():
        yield from _connection(("connection", name), connection, controls, versions)
        if programs_here and isinstance(connection.application, Program):
            yield from _program(("connection", name), connection, connection.application)
    kinds = len(document.connections)
    if kinds > KIND_LIMIT:
        yield ("connection",), f"{kinds} kinds of connections", f"at most {KIND_LIMIT}, each of which has its hosts"
    count = sum(connection.count for connection in document.connections.values())
    if count > CONNECTION_LIMIT:
        yield (
            ("connection",),
            f"{count} connections",
            f"at most {CONNECTION_LIMIT}: they run on one machine, in real time",
        )


def _connection(
    key: tuple[Part, ...], connection: Connection, controls: tuple[str, ...] | None, versions: tuple[str, ...]
) -> Iterator[Found]:
    named = connection.congestion
    entry = registry.find("congestion", named.name)
    known = entry is not None and "linux" in entry.engines
    there = kernel.controls() if controls is None else controls
    # Where there are none at all there is no Linux, which the engine says itself.
    if known and there and named.name not in there:
        have = [each for each in registry.names("congestion", "linux") if each in there]
        # A guest's kernel loads no programs: User-Mode Linux does not compile them.
        load = f"mptcplab bpf load {named.name}" if controls is None else f"mptcplab kernel build --with {named.name}"
        expected = f"a control that this kernel has: {one_of(have)}; or first: {load}"
        yield (*key, "congestion"), show(named.name), expected
    for option in connection.tcp.model_fields_set:
        value, default = getattr(connection.tcp, option), type(connection.tcp).model_fields[option].default
        if option == "kernel":
            if value != default and not any(each.startswith(f"{value}.") for each in versions):
                yield (*key, "tcp", option), show(value), f"the version of the kernel that runs, Linux {versions[0]}"
        elif option not in _TCP and value not in {default, _KERNELS_OWN.get(option, default)}:
            yield (
                (*key, "tcp", option),
                show(value),
                f"nothing: of tcp, the kernel is only told {one_of(_TCP)}",
            )
    if connection.protocol != "mptcp":
        return
    send_buffer = connection.scheduler.parameters.get("send_buffer", 0)
    if connection.scheduler.name == "linux" and send_buffer * (1 << 20) > buffers.SEND_LIMIT_BYTES:
        yield (*key, "scheduler", "send_buffer"), f"{send_buffer:g}", "less than 2048 MiB, the kernel's limit"
    manager = connection.path_manager
    subflows = manager.parameters["subflows"] if manager.name == "ndiffports" else len(connection.paths)
    assert isinstance(subflows, int), "a whole number, as the registry says"
    if subflows > kernel.SUBFLOW_LIMIT:
        what = (*key, "path_manager") if manager.name == "ndiffports" else (*key, "paths")
        yield what, f"{subflows} subflows", f"at most {kernel.SUBFLOW_LIMIT}, the kernel's limit"


def _program(key: tuple[Part, ...], connection: Connection, program: Program) -> Iterator[Found]:
    where = (*key, "application")
    if connection.count > 1:
        yield (*key, "count"), f"{connection.count} with a program", "1: define one connection per program"
    for end, command in (("client", program.client), ("server", program.server)):
        name = command[0]
        if name != _OURS and shutil.which(name) is None:
            yield (*where, end), f"{show(name)}, which is not installed on this machine", _remedy(name)
    mptcpize = ("mptcpize",) if program.mptcpize and connection.protocol == "mptcp" else ()
    for name in (*CONTAINERS, *mptcpize):
        if shutil.which(name) is None:
            what = f"a program, and no {name} on this machine, which it is run by"
            own = (
                "; or mptcpize = false, for programs that support Multipath TCP themselves" if name in mptcpize else ""
            )
            yield where, what, f"{_remedy(name)}{own}"


def _remedy(name: str) -> str:
    package = _PACKAGES.get(name)
    return "a program that is installed" + (f"; on Debian: apt-get install {package}" if package else "")
