"""The command `mptcplab`. Exit status: 0 done, 1 the run failed, 2 the input is wrong, 3 this machine cannot do it.

Every command is a module, which is loaded when the command is called: the help, the version and the completion of a
shell load none of them.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import click

import mptcplab
from mptcplab.cli.common import CANNOT, FAILED, WRONG_INPUT, Failure, print_line
from mptcplab.errors import (
    BusyError,
    EngineUnavailableError,
    Error,
    PluginLoadError,
    PrivilegeError,
    UnknownEngineError,
)
from mptcplab.files import with_file

COMMANDS: Final = {
    "run": ("run:run", "Run a scenario on one engine."),
    "compare": ("compare:compare", "Compare settings on the same seeds, or engines side by side."),
    "check": ("check:check", "Check a scenario without running it."),
    "paths": ("paths:paths", "Show which subflows endpoints and limits give."),
    "import": ("import_files:app", "Convert Minitopo files into scenario files."),
    "export": ("export:export", "Write a scenario as a script of network namespaces."),
    "lab": ("lab:lab", "Open the laboratory in the browser."),
    "trace": ("trace:trace", "Show why connections chose a path, from run --trace."),
    "analyze": ("analyze:analyze", "Analyse packet captures."),
    "diagnose": ("diagnose:diagnose", "Say what limits connections, from output of ss, nstat and ip."),
    "advise": ("advise:advise", "Recommend settings for a network, with reasons."),
    "probe": ("probe:probe", "Measure this machine's paths to a server of yours."),
    "predict": ("predict:predict", "Predict throughput from loss rates and RTTs."),
    "sweep": ("sweep:sweep", "Run a scenario at every point of a design."),
    "summary": ("summary:summary", "Compare the variants of a finished sweep."),
    "design": ("design:design", "Print the points of a design."),
    "verify": ("verify:verify", "Check that a result is what was written."),
    "reproduce": ("reproduce:reproduce", "Repeat a paper's tables and figures."),
    "get": ("get:get", "Fetch a file with our own Multipath TCP."),
    "list": ("list:list_topics", "List algorithms, scenarios and papers."),
    "completion": ("completion:completion", "Print a shell completion script."),
    "schema": ("schema:schema", "Print the JSON Schema of scenario or sweep files."),
    "case": ("case:app", "Run the book of cases."),
    "conform": ("conform:conform", "Run the conformance tests against our transport or Linux."),
    "doctor": ("doctor:doctor", "Show what this machine can run."),
    "bpf": ("bpf:app", "Load coupled congestion controls into the Linux kernel."),
    "agent": ("agent:agent", "Let the engine testbed use this machine as a host."),
    "kernel": ("kernel:app", "Build and manage kernels for the engine linux-virtual."),
}
"""Each command with its function (or its own commands) in mptcplab.cli, and what the list of commands says of it."""

COMPLETE: Final = "_MPTCPLAB_COMPLETE"
"""The variable with which a shell asks for completions."""
_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


class _Late(click.Command):
    """A command's name and summary; the command is loaded when it is called."""

    def __init__(self, name: str, home: str, summary: str) -> None:
        super().__init__(name, short_help=summary)
        self._home = home

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401
    ) -> click.Context:
        """That of the real command, which is loaded here; the context then calls that one."""
        return loaded(self._home).make_context(info_name, args, parent, **extra)


class _Commands(click.Group):
    """The commands in the order of their table, in which one would learn them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(self.commands)


def loaded(home: str) -> click.Command:
    """The command, or the group of commands, out of its module."""
    module, _, attribute = home.partition(":")
    command: click.Command = getattr(import_module(f"mptcplab.cli.{module}"), attribute)
    return command


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print_line(f"mptcplab {mptcplab.__version__}")
        context.exit()


@click.group(cls=_Commands, invoke_without_command=True, context_settings=_SETTINGS)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def app(context: click.Context) -> None:
    """A laboratory for Multipath TCP: describe a network once, then compute, simulate or run it."""
    if context.invoked_subcommand is None:
        print_line(context.get_help())


for _name, (_home, _summary) in COMMANDS.items():
    app.add_command(_Late(_name, _home, _summary))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and leave with its status; every error goes to standard error through here."""
    # pydantic looks for its plugins in the metadata of every installed package; no command has use for one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        status = invoke(arguments, may_begin_anew=arguments is None)
    except PrivilegeError as error:
        from mptcplab.cli import user_namespace  # for an ordinary user who asks for an engine with privileges

        reason = user_namespace.refusal()
        if reason is None:
            user_namespace.enter()
        status = _fail(CANNOT, str(error), reason)
    sys.exit(status)


def invoke(arguments: Sequence[str] | None = None, *, may_begin_anew: bool = False) -> int:
    """Run the command and return its status. Raises PrivilegeError, which is an error like others otherwise, for a
    command that `may_begin_anew` with other privileges.
    """
    try:
        status = app.main(
            args=None if arguments is None else list(arguments),
            prog_name="mptcplab",
            complete_var=COMPLETE,
            standalone_mode=False,
        )
    except click.Abort:  # what click makes of Ctrl-C
        return _fail(FAILED, "interrupted")
    except Failure as failure:
        return _fail(failure.status, *failure.lines)
    except click.ClickException as error:
        return _usage(error)
    except Error as error:
        if may_begin_anew and isinstance(error, PrivilegeError):
            raise
        return _refused(error)
    except BrokenPipeError:
        # Whoever read standard output has seen enough; nothing more can be said there, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        return _fail(FAILED, with_file(error))
    return status if isinstance(status, int) else 0


def _refused(error: Error) -> int:
    """The status and the words for an error of the package; what raised it has been loaded."""
    from mptcplab.files import TargetError
    from mptcplab.results.inventory import DamagedError, NoListError, OccupiedError
    from mptcplab.scenario.errors import ScenarioError, UnsupportedError

    match error:
        case ScenarioError():
            return _fail(WRONG_INPUT, *map(str, error.problems))
        case UnsupportedError():
            return _fail(CANNOT, *map(str, error.problems))
        case UnknownEngineError() | OccupiedError() | PluginLoadError() | BusyError() | TargetError():
            return _fail(WRONG_INPUT, str(error))
        case NoListError() | DamagedError():
            return _fail(WRONG_INPUT, str(error))
        case EngineUnavailableError():
            return _fail(CANNOT, str(error))
    return _fail(FAILED, str(error))


def _usage(error: click.ClickException) -> int:
    from mptcplab.cli.usage import said

    context = getattr(error, "ctx", None)
    command = "mptcplab" if context is None else context.command_path
    return _fail(WRONG_INPUT, said(error), remedy=f"{command} --help lists the arguments and options")


def _fail(status: int, *lines: str, remedy: str | None = None) -> int:
    from rich.console import Console

    errors = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    for line in lines:
        errors.print("[bold red]error:[/] ", end="")
        errors.print(line, markup=False)
    if remedy is not None:
        errors.print(remedy, markup=False)
    return status
