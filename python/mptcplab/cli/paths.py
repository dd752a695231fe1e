"""`mptcplab paths`: which subflows endpoints and limits give."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mptcplab.cli.common import (
    CHECKED_FILE,
    FILE_PATH,
    JSON,
    OVERRIDES,
    WRONG_INPUT,
    Failure,
    console,
    load_scenario,
    print_json,
    print_line,
)

if TYPE_CHECKING:
    from mptcplab.paths import Opened
    from mptcplab.paths.story import Happening
    from mptcplab.scenario import Scenario

_KERNELS = ("6.1", "6.6", "6.12", "6.18")


@click.command()
@CHECKED_FILE
@click.option(
    "--kernel", type=click.Choice(_KERNELS), help="Kernel whose rules hold, in place of the scenario's.", metavar="V"
)
@click.option(
    "--client",
    type=FILE_PATH,
    metavar="TEXT",
    help="In place of a scenario: what ip mptcp endpoint show and limits show say.",
)
@click.option("--server", type=FILE_PATH, metavar="TEXT", help="The same of the server.")
@click.option("--from", "first", metavar="ADDRESS", help="With --client: the address that opens the connection.")
@OVERRIDES
@JSON
def paths(
    file: Path | None,
    kernel: str | None,
    client: Path | None,
    server: Path | None,
    first: str | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show which subflows a scenario's hosts open, in which order and why, without its traffic.

    \b
    Example: mptcplab paths wifi-lte
    """
    from mptcplab.paths import play

    notes: list[str] = []
    if client is None:
        if file is None or server is not None or first is not None:
            raise Failure(WRONG_INPUT, "found no scenario; expected FILE, or --client TEXT (and --server TEXT)")
        scenario = _with_kernel(load_scenario(file, overrides), kernel)
    else:
        if file is not None or overrides:
            raise Failure(WRONG_INPUT, "found a scenario beside --client; expected one of them")
        scenario, notes = _pasted(client, server, kernel, first)
    opened = play(scenario)
    if not opened:
        raise Failure(WRONG_INPUT, "found no connection with Multipath TCP; expected one")
    if as_json:
        print_json({"title": scenario.title, "notes": notes, "connections": [_document(each) for each in opened]})
        return
    for note in notes:
        print_line(f"note: {note}")
    for number, each in enumerate(opened):
        if number or notes:
            print_line("")
        _show(each)


def _with_kernel(scenario: "Scenario", kernel: str | None) -> "Scenario":
    managed = [name for name, each in scenario.document.connections.items() if each.path_manager.name == "linux"]
    if kernel is None:
        return scenario
    if not managed:
        raise Failure(WRONG_INPUT, f'--kernel {kernel}: found no connection with path_manager = "linux"; expected one')
    return scenario.with_({f"connection.{name}.path_manager.kernel": kernel for name in managed})


def _pasted(client: Path, server: Path | None, kernel: str | None, first: str | None) -> "tuple[Scenario, list[str]]":
    from mptcplab.paths import PastedError, pasted

    try:
        return pasted(client, server, kernel=kernel, first=first)
    except PastedError as error:
        raise Failure(WRONG_INPUT, str(error)) from None


def _document(opened: "Opened") -> dict[str, Any]:
    from mptcplab.paths.advice import remarks
    from mptcplab.paths.story import story

    return {
        "name": opened.name,
        "path_manager": opened.manager,
        "paths": list(opened.paths),
        "subflows": [
            {
                "at_s": (each.at_ns - opened.seen.subflows[0].at_ns) / 1e9,
                "path": opened.paths[each.place],
                "server_address": each.server,
                "opened_by": each.opener,
                "address_id": each.id,
                "backup": any(each.backups),
                "established": each.is_established,
            }
            for each in opened.seen.subflows
        ],
        "events": [asdict(each) for each in story(opened)],
        "remarks": remarks(opened),
    }


def _show(opened: "Opened") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mptcplab.paths.advice import remarks
    from mptcplab.paths.story import story

    kernel = "" if opened.told is None else f", kernel {opened.told['kernel']}"
    print_line(f"{opened.name}: path manager {opened.manager}{kernel}")
    for line in _told(opened):
        print_line(f"  {line}")
    print_line("")
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    drawn.add_column(Text("time\ns"), justify="right", no_wrap=True)
    for header in ("what\n", "client's path\n", "server's address\n", "because\n"):
        drawn.add_column(Text(header), overflow="fold")
    for each in story(opened):
        drawn.add_row(*map(Text, _row(each)))
    console().print(drawn)
    print_line("")
    for line in _drawing(opened):
        print_line(f"  {line}")
    found = remarks(opened)
    if found:
        print_line("")
    for remark in found:
        print_line(f"note: {remark}")


def _row(each: "Happening") -> tuple[str, ...]:
    return f"{each.at_s:.4f}", each.what, each.client, each.server, each.because


def _told(opened: "Opened") -> list[str]:
    """Limits and endpoints, as the hosts have them."""
    from mptcplab.paths.story import server_name, words

    if opened.told is None:
        return []
    lines = []
    for host in ("client", "server"):
        side = opened.told[host]
        flag_c = "" if side["allow_join_initial_addr_port"] else ", allow_join_initial_addr_port 0"
        lines.append(f"{host}: subflows {side['subflows']}, add_addr_accepted {side['add_addr_accepted']}{flag_c}")
        for each in side["endpoints"]:
            of = opened.paths[each["address"]] if host == "client" else server_name(opened, each["address"])
            port = f", port {each['port']}" if each["port"] else ""
            lines.append(f"  endpoint {each['id']}: {of}, {words(each['flags'])}{port}")
    return lines


def _drawing(opened: "Opened") -> list[str]:
    """A line for each subflow that was there at the end, or was refused."""
    from mptcplab.paths.story import server_name

    width = max(len(path) for path in opened.paths)
    lines = []
    for each in opened.seen.subflows:
        if each.closed_ns is not None and each.is_established:
            stroke, word = "─", " closed "
        elif not each.is_established:
            stroke, word = "╌", " refused "
        elif any(each.backups):
            stroke, word = "┄", " backup "
        else:
            stroke, word = "─", ""
        line = word.center(28, stroke) if word else stroke * 28
        lines.append(f"{opened.paths[each.place]:<{width}} {line} {server_name(opened, each.server)}")
    return lines
