"""`mptcplab bpf`: coupled congestion controls in the Linux kernel."""

import click

from mptcplab.cli.common import CANNOT, FAILED, JSON, WRONG_INPUT, Failure, console, print_json, print_line, say

NAMES = ("balia", "ewtcp", "lia", "mppert", "olia", "pert", "wvegas")
"""As in mptcplab.bpf, which loads slowly."""


@click.group()
def app() -> None:
    """Load congestion controls into the Linux kernel as BPF programs: lia, olia, balia, ewtcp, wvegas, mppert, pert.

    \b
    Example: mptcplab bpf load olia
    """


_NAME = click.argument("name", metavar="|".join((*NAMES, "all")))


@app.command()
@_NAME
def load(name: str) -> None:
    """Make a control available to all programs on this machine, until it is unloaded or the machine reboots.

    \b
    Example: mptcplab bpf load olia

    Then `sysctl -w net.ipv4.tcp_congestion_control=olia` makes it the default.
    """
    from mptcplab import bpf

    for one in _names(name):
        try:
            new = bpf.load(one)
        except bpf.BpfUnavailableError as error:
            raise Failure(CANNOT, str(error)) from None
        except bpf.BpfError as error:
            raise Failure(FAILED, str(error)) from None
        print_line(f"{one}: {'loaded; any program can use it' if new else 'was already loaded'}")


@app.command()
@_NAME
def unload(name: str) -> None:
    """Unload a control; connections that use it keep it until they close.

    \b
    Example: mptcplab bpf unload olia
    """
    from mptcplab import bpf

    loaded = {control.name for control in bpf.controls() if control.kept}
    for one in _names(name):
        if name == "all" and one not in loaded:
            continue
        try:
            bpf.unload(one)
        except bpf.NotLoadedError as error:
            raise Failure(WRONG_INPUT, str(error)) from None
        except bpf.BpfUnavailableError as error:
            raise Failure(CANNOT, str(error)) from None
        print_line(f"{one}: unloaded")
        if bpf.is_default(one):
            say(
                f"note: {one} is still the default control of new connections; to change it: "
                "sysctl -w net.ipv4.tcp_congestion_control=cubic"
            )


@app.command("list")
@JSON
def list_command(as_json: bool) -> None:
    """List the available controls and whether they are loaded.

    \b
    Example: mptcplab bpf list
    """
    from rich import box
    from rich.table import Table

    from mptcplab import bpf, registry

    try:
        controls = bpf.controls()
    except bpf.BpfUnavailableError as error:
        raise Failure(CANNOT, str(error)) from None
    summaries = {entry.name: entry.summary for entry in registry.FAMILIES["congestion"]}
    if as_json:
        print_json(
            [
                {"name": each.name, "available": each.available, "kept": each.kept, "summary": summaries[each.name]}
                for each in controls
            ]
        )
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("control", "in the kernel", "what it is"):
        table.add_column(heading)
    for control in controls:
        state = "until unloaded" if control.kept else "held by a running process" if control.available else "no"
        table.add_row(control.name, state, summaries[control.name])
    console().print(table)


def _names(name: str) -> tuple[str, ...]:
    if name == "all":
        return NAMES
    if name not in NAMES:
        raise Failure(WRONG_INPUT, f"there is no program for {name!r}; choose from {', '.join(NAMES)}, or all")
    return (name,)
