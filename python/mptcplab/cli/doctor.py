"""`mptcplab doctor`: what this machine can run, engine by engine. It looks and changes nothing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from mptcplab import machine
from mptcplab.cli.common import JSON, console, print_json
from mptcplab.engines.catalogue import ENGINES
from mptcplab.machine import Finding


@click.command()
@JSON
def doctor(as_json: bool) -> None:
    """Show what this machine can run, and how to get what is missing.

    \b
    Example: mptcplab doctor
    """
    sections = examine()
    if as_json:
        print_json([asdict(section) for section in sections])
        return
    console().print(show(sections))


@dataclass(frozen=True)
class Section:
    """What one engine needs, or what goes beyond engines."""

    title: str
    ready: bool
    summary: str
    findings: tuple[Finding, ...]


def examine(root: Path = Path("/")) -> tuple[Section, ...]:
    """Look at the machine whose file system is at `root`."""
    from mptcplab.kernels import build, selftests, store  # loads the BPF controls, which the help does not need

    live = machine.reachable(machine.live(root), root)
    programs = (
        machine.tool("iperf3", "iperf3", optional=True),
        machine.tool("mptcpize", "mptcpize", optional=True),
        machine.tool("curl", "curl", optional=True),
        machine.tool("ab", "apache2-utils", optional=True),
    )
    needs: dict[str, tuple[Finding, ...]] = {
        "sim": (),
        "model": (),
        "stack": live,
        "linux": (*live, machine.kernel_mptcp(root), *programs),
        "linux-virtual": (store.finding(), *programs, machine.tool("tc", "iproute2", optional=True)),
    }
    sections = [_engine(name, needs[name]) for name in ENGINES]
    controls = (machine.root_user(), machine.kernel_types(root), machine.tool("clang", "clang"), machine.libbpf())
    bpf = Section(
        "bpf", all(need.good for need in controls), "loading coupled congestion controls into the kernel", controls
    )
    tools = (machine.tool("tshark", "tshark"),)
    host = (
        *machine.agent(root),
        machine.tool("openssl", "openssl", optional=True),
        machine.tool("dumpcap", "wireshark-common", optional=True),
        *programs,
    )
    building = build.requirements()
    tested = selftests.requirements()
    kernel = Section(
        "kernel",
        all(need.good or need.optional for need in building),
        "building kernels for Linux in virtual time",
        building,
    )
    return (
        *sections,
        Section(
            "agent",
            all(need.good or need.optional for need in host),
            "this machine as a host of the engine testbed",
            host,
        ),
        bpf,
        kernel,
        Section(
            "selftests",
            all(need.good or need.optional for need in tested),
            "the kernel's own tests in guests (mptcplab kernel selftest)",
            tested,
        ),
        Section("tools", all(tool.good for tool in tools), "needed by the tests of the wire format", tools),
    )


def show(sections: Sequence[Section]) -> RenderableType:
    """The sections as lines, with what to do under what is missing."""
    lines: list[Text] = []
    for section in sections:
        mark = ("ready   ", "green") if section.ready else ("not here", "yellow")
        lines.append(Text.assemble((f"{section.title:<13}", "bold"), " ", mark, f"  {section.summary}"))
        for finding in section.findings:
            lacking = "  without" if finding.optional else "  missing"
            mark = ("  ok     ", "green") if finding.good else (lacking, "yellow")
            lines.append(Text.assemble(mark, f" {finding.what}: {finding.found}"))
            if finding.remedy is not None:
                lines.append(Text(f"           → {finding.remedy}", style="dim"))
    return Group(*lines)


def _engine(name: str, findings: tuple[Finding, ...]) -> Section:
    engine = ENGINES[name]
    return Section(name, all(finding.good or finding.optional for finding in findings), engine.summary, findings)
