"""`mptcplab advise --apply` and `--undo`: what they ask, print and refuse."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab.cli.common import CANNOT, FAILED, WRONG_INPUT, Failure, print_line, say

if TYPE_CHECKING:
    from mptcplab.advice.answer import Advice
    from mptcplab.advice.places import Place


def need_root(option: str) -> None:
    """Raise Failure without the privilege."""
    if os.geteuid() != 0:
        raise Failure(CANNOT, f"{option}: routes, endpoints and sysctls need root; run it with sudo, or add --dry-run")


def places(
    interfaces: Sequence[str],
    paths: Sequence[str],
    file: Path | None,
    connection: str | None,
    *,
    needed: bool,
    ipv6: bool = False,
) -> "list[Place]":
    """Where each path of the question leaves this machine; nothing where nobody said so."""
    from mptcplab.advice.errors import AdviceError
    from mptcplab.advice.paths import read_paths
    from mptcplab.advice.places import EXAMPLE, read_interfaces

    if not interfaces:
        if needed:
            raise Failure(WRONG_INPUT, f"--apply: found no --interface; expected one for each path, such as {EXAMPLE}")
        return []
    try:
        if file is None:
            names = [spec.name for spec in read_paths(paths)]
        else:
            from mptcplab.advice.question import from_file
            from mptcplab.scenario import Scenario

            base, name = from_file(Scenario.load(file), connection)
            names = list(base["connection"][name]["paths"])
        return read_interfaces(interfaces, names, ipv6=ipv6)
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None


def apply(
    advice: "Advice",
    there: "Sequence[Place]",
    *,
    dry_run: bool,
    yes: bool,
    ipv6: bool = False,
    upload: str = "",
) -> None:
    """Set this machine as the first answer says; `upload` is its own control, if another."""
    from mptcplab import bpf
    from mptcplab.advice import applying
    from mptcplab.advice.commands.setup import Setup

    best = advice.best
    if not best.candidate.stock:
        raise Failure(WRONG_INPUT, f"--apply: found {best.label}, which no stock kernel has; expected no --for any")
    setup = Setup.of(best.candidate, advice.question.paths, ipv6=ipv6, upload=upload).here()
    print_line("\nOn this machine:")
    for command in applying.commands(setup, there):
        print_line(f"  {command}")
    if dry_run:
        return
    if not yes and not click.confirm("Set this now?", err=True):
        say("Nothing was changed.")
        return
    try:
        applying.apply(setup, there, bpf.load)
    except applying.ApplyError as error:
        raise Failure(FAILED, str(error)) from None
    say("Set and checked. mptcplab advise --undo puts back what was there; after a restart nothing is left of it.")
    say("The other host needs the lines for both hosts above.")


def undo(*, dry_run: bool) -> None:
    """Put back what was there."""
    from mptcplab.advice import applying

    try:
        if dry_run:
            for command in applying.undo_commands():
                print_line(str(command))
            return
        need_root("--undo")
        applying.undo()
    except applying.ApplyError as error:
        raise Failure(FAILED, str(error)) from None
    say("What was there before is back.")
