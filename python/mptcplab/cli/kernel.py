"""`mptcplab kernel`: kernels for the guests of the engine `linux-virtual`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mptcplab.cli.common import (
    AT_LEAST_1,
    FAILED,
    FILE_PATH,
    JSON,
    WRONG_INPUT,
    Failure,
    console,
    print_json,
    print_line,
    say,
)

if TYPE_CHECKING:
    from mptcplab.engines.linux_virtual.selftests import Outcome

_VERDICTS: Final = {"pass": "passed", "fail": "failed", "skip": "skipped", "flaky": "failed and known to be flaky"}


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
@click.option(
    "--selftests",
    is_flag=True,
    help="Add what mptcplab kernel selftest needs for all tests; the name is then VERSION-selftests.",
)
@click.option("--jobs", type=AT_LEAST_1, help="Number of parallel compilers; by default one per core.")
@click.option(
    "--build-dir",
    type=FILE_PATH,
    metavar="DIR",
    help="Build directory for make; kept, so that the next build is quick. By default one per tree, in the cache.",
)
def build(
    what: str,
    name: str | None,
    hz: str,
    controls: str,
    selftests: bool,
    jobs: int | None,
    build_dir: Path | None,
) -> None:
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
                selftests=selftests,
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
@JSON
def list_command(as_json: bool) -> None:
    """List the kernels that have been built.

    \b
    Example: mptcplab kernel list
    """
    from rich import box
    from rich.table import Table

    from mptcplab.kernels import kernels

    found = kernels()
    if as_json:
        keys = ("name", "version", "hz", "controls", "key", "tree")
        print_json([{key: getattr(kernel, key) for key in keys} for kernel in found])
        return
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
@click.argument("tests", metavar="[TEST…]", nargs=-1)
@click.option("--tree", metavar="TREE|VERSION", help="Take the tests of this tree; by default the kernel's own.")
@click.option("--arguments", metavar="WORDS", default="", show_default=False, help="Arguments for the scripts.")
@click.option("--seed", type=click.IntRange(0), default=1, help="Seed of all that is random in the guest.")
@click.option("--output", type=FILE_PATH, metavar="DIR", help="Keep what each script printed in a file there.")
def selftest(
    name: str, tests: tuple[str, ...], tree: str | None, arguments: str, seed: int, output: Path | None
) -> None:
    """Run the kernel's own tests of Multipath TCP (tools/testing/selftests/net/mptcp) in guests, one per script.

    \b
    Example: mptcplab kernel selftest 6.12
    Example: mptcplab kernel selftest 6.12 simult_flows diag userspace_pm
    Example: mptcplab kernel selftest 6.12-selftests mptcp_join --arguments "-f -s"

    Time is virtual: what a test waits for takes no time, and a busy machine makes none fail. Tests that filter packets
    need a kernel built with --selftests, and iptables. The exit status is 1 if a test fails.
    """
    from mptcplab.engines.linux_virtual import selftests as running
    from mptcplab.kernels import UnknownKernelError, find
    from mptcplab.kernels import selftests as making
    from mptcplab.kernels.build import BuildError
    from mptcplab.kernels.tree import TreeError

    try:
        kernel = find(name)
        home = making.prepared(kernel, tree, say)
    except (UnknownKernelError, TreeError) as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    except BuildError as error:
        raise Failure(FAILED, str(error)) from None
    have = running.scripts(home)
    chosen = [each.removesuffix(".sh") for each in tests] or have
    for each in chosen:
        if each not in have:
            raise Failure(WRONG_INPUT, f"there is no test {each!r}; choose from {', '.join(have)}")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    failed = False
    for each in chosen:
        found = running.run(kernel, home, each, arguments, seed=seed)
        if output is not None:
            (output / f"{each}.txt").write_text(found.output, encoding="utf-8")
        failed |= found.verdict == "fail"
        if said := running.caution(kernel, home, each):
            say(said)
        _show_tests(found)
    if failed:
        raise click.exceptions.Exit(FAILED)


def _show_tests(found: "Outcome") -> None:
    counts = {verdict: sum(case.verdict == verdict for case in found.cases) for verdict in _VERDICTS}
    told = ", ".join(f"{count} {_VERDICTS[verdict]}" for verdict, count in counts.items() if count)
    virtual = "" if found.virtual_s is None else f"{found.virtual_s:.1f} s of virtual time, "
    print_line(f"{found.script}: {found.verdict}{f' ({told})' if told else ''}; {virtual}{found.cpu_s:.1f} CPU s")
    if found.why:
        print_line(f"    {found.why}")
    for case in found.cases:
        took = "" if case.time_s is None else f" {case.time_s:8.3f} s"
        print_line(f"  {case.verdict:5}{took} {case.name}{f': {case.why}' if case.why else ''}")


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
