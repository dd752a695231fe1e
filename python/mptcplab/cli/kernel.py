"""`mptcplab kernel`: kernels for the guests of the engine `linux-virtual`."""

import sys
from pathlib import Path

import click

from mptcplab.cli.common import AT_LEAST_1, FAILED, FILE_PATH, WRONG_INPUT, Failure, console, print_line, say


@click.group()
def app() -> None:
    """Build and manage kernels for the engine linux-virtual, which runs Linux's Multipath TCP in virtual time.

    \b
    Example: mptcplab kernel build 6.12
    """


@app.command()
@click.argument("what", metavar="[TREE|VERSION]", default="6.12")
@click.option(
    "--name", metavar="NAME", help="Name for --kernel; by default the version, or the name of the tree's directory."
)
@click.option(
    "--hz", type=click.Choice(["100", "250", "300", "1000"]), default="1000", help="HZ, timer ticks per second."
)
@click.option(
    "--with",
    "controls",
    metavar="A,B…",
    default="",
    show_default=False,
    help="Coupled congestion controls to compile in: balia, ewtcp, lia, mppert, olia, pert, wvegas.",
)
@click.option("--jobs", type=AT_LEAST_1, help="Number of parallel compilers; by default one per core.")
@click.option(
    "--build-dir",
    type=FILE_PATH,
    metavar="DIR",
    help="Build directory for make; kept, so that the next build is quick. By default one per tree, in the cache.",
)
def build(what: str, name: str | None, hz: str, controls: str, jobs: int | None, build_dir: Path | None) -> None:
    """Build a kernel from a Linux source tree, or from Debian's source package of a version.

    \b
    Example: mptcplab kernel build 6.12
    Example: mptcplab kernel build 6.12 --with lia,olia
    Example: mptcplab kernel build ~/src/linux --name my-tree

    The tree is not modified. A complete build takes about 10 minutes on 2 cores; after a change of one file, seconds.
    """
    from mptcplab.cli.progress import Progress
    from mptcplab.kernels import build as making
    from mptcplab.kernels.controls import chosen
    from mptcplab.kernels.tree import TreeError

    try:
        names = chosen(each.strip() for each in controls.split(",") if each.strip())
    except ValueError as error:
        raise Failure(WRONG_INPUT, f"--with: {error}") from None
    with Progress(f"building {what}", sys.stderr) as progress:
        try:
            kernel = making.build(
                what,
                name=name,
                hz=int(hz),
                with_controls=names,
                jobs=jobs,
                directory=build_dir,
                tell=say,
                progress=progress.update,
            )
        except TreeError as error:
            raise Failure(WRONG_INPUT, str(error)) from None
        except KeyboardInterrupt:
            raise Failure(FAILED, "interrupted; files compiled so far are kept for the next build") from None
    print_line(f"{kernel.name}: Linux {kernel.version}, HZ {kernel.hz}, {kernel.key[:16]}")


@app.command("list")
def list_command() -> None:
    """List the kernels that have been built.

    \b
    Example: mptcplab kernel list
    """
    from rich import box
    from rich.table import Table

    from mptcplab.kernels import kernels

    found = kernels()
    if not found:
        say("no kernel has been built yet; to build one: mptcplab kernel build 6.12")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "Linux", "HZ", "controls", "hash", "built from"):
        table.add_column(heading)
    for kernel in found:
        controls = ", ".join(kernel.controls) or "–"
        table.add_row(kernel.name, kernel.version, str(kernel.hz), controls, kernel.key[:16], kernel.tree)
    console().print(table)


@app.command()
@click.argument("name", metavar="NAME")
def remove(name: str) -> None:
    """Remove a kernel from the cache.

    \b
    Example: mptcplab kernel remove my-tree
    """
    from mptcplab.kernels import UnknownKernelError, find
    from mptcplab.kernels import remove as forget

    try:
        kernel = find(name)
    except UnknownKernelError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    forget(kernel)
    print_line(f"{kernel.name}: removed")
