"""What is wrong with a command line, in the words of all other errors: what was found, what would do."""

import re

import click

from mptcplab.hints import did_you_mean

_VALUE = re.compile(r"(?P<value>'.*?'|\S+) is not ")


def said(error: click.ClickException) -> str:
    """The sentence for an error of click."""
    match error:
        case click.NoSuchOption():
            known = [] if error.ctx is None else [name for each in error.ctx.command.params for name in each.opts]
            return f"there is no option {error.option_name}{did_you_mean(error.option_name, known)}"
        case click.BadOptionUsage():
            return f"{error.option_name}: found no value; expected one after it"
        case click.MissingParameter():
            return f"{_name(error)} is missing"
        case click.BadParameter():
            return _bad(error)
        case click.UsageError() if error.message.startswith("No such command"):
            name = error.message.partition("'")[2].partition("'")[0]
            context = error.ctx
            group = None if context is None else context.command
            known = group.list_commands(context) if isinstance(group, click.Group) and context is not None else []
            return f"there is no command {name!r}{did_you_mean(name, known)}"
        case click.UsageError() if "unexpected extra argument" in error.message:
            extra = error.message.rpartition("(")[2].rstrip(")")
            return f"found {extra}; expected no further argument"
    return error.format_message()


def _name(error: click.BadParameter) -> str:
    hint = error.param_hint
    if hint is None and error.param is not None and error.ctx is not None:
        hint = error.param.get_error_hint(error.ctx)
    return " or ".join([hint] if isinstance(hint, str) else hint or ["an argument"]).replace("'", "")


def _range(kind: object) -> str:
    """`, at least 1`, or ` from 1 to 65535`; nothing where there is no bound."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f" from {least:g} to {most:.15g}"
    if least is not None:
        return f", at least {least:g}"
    return "" if most is None else f", at most {most:.15g}"


def _bad(error: click.BadParameter) -> str:
    found = _VALUE.match(error.message)
    kind = None if error.param is None else error.param.type
    value = None if found is None else found["value"]
    expected = error.message.rstrip(".")
    if isinstance(kind, click.IntRange | click.types.IntParamType):
        expected = "a whole number" + _range(kind)
    elif isinstance(kind, click.types.FloatParamType):
        expected = "a number" + _range(kind)
    elif isinstance(kind, click.Choice):
        expected = f"one of {', '.join(map(str, kind.choices))}"
    if value is None:
        return f"{_name(error)}: {expected}"
    return f"{_name(error)}: found {value}; expected {expected}"
