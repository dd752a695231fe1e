"""A command of an ordinary user begins anew in a user namespace, which gives it the privileges of the engines there."""

import os
import sys
from typing import Final, NoReturn

from mptcplab import machine
from mptcplab.cli import common

_ENTERED: Final = "_MPTCPLAB_USER_NAMESPACE"
"""The variable that tells a command that it is in one: it does not enter another."""


def refusal() -> str | None:
    """Why the command cannot go on in a user namespace; None when it can."""
    if _ENTERED in os.environ:
        return "the user namespace of this command does not have these privileges"
    found = machine.user_namespaces()
    return None if found.good else f"an ordinary user needs {found.what}, which are {found.found} → {found.remedy}"


def enter() -> NoReturn:
    """Replace this process, which keeps its number, by the same command there; it reads its input again."""
    if common.read_from_stdin is not None:
        again = os.memfd_create("stdin")
        with os.fdopen(os.dup(again), "wb") as file:
            file.write(common.read_from_stdin)
        os.lseek(again, 0, os.SEEK_SET)
        os.dup2(again, 0)
    sys.stdout.flush()
    sys.stderr.flush()
    words = [*machine.USER_NAMESPACE, "--", sys.executable, *sys.orig_argv[1:]]
    os.execvpe(words[0], words, {**os.environ, _ENTERED: "1"})
