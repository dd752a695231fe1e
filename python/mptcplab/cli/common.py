"""What the commands share: statuses, failures, arguments and where they print."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from rich.console import Console

    from mptcplab.scenario import Scenario

FAILED: Final = 1
WRONG_INPUT: Final = 2
CANNOT: Final = 3

# What a table may take where nobody's terminal bounds it (a file, a pipe) and COLUMNS is not set.
_UNBOUNDED_WIDTH = 160


def _scenarios(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    from mptcplab.shipped import scenario_names

    names = [CompletionItem(name) for name in scenario_names() if name.startswith(begun)]
    return [*names, CompletionItem(begun, type="file")]


def complete(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What completes the names that the function gives."""
    return lambda _, __, begun: [name for name in names() if name.startswith(begun)]


FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path), shell_complete=_scenarios)
"""A scenario file, the name of a ready-made scenario, or `-` for standard input."""
CHECKED_FILE = click.argument(
    "file", metavar="FILE", required=False, type=click.Path(path_type=Path), shell_complete=_scenarios
)
"""The same for a command that checks itself whether it is there."""
OVERRIDES = click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Override a key of the scenario; may be repeated."
)
SEED = click.option("--seed", type=click.IntRange(min=0), help="Seed to use instead of the scenario's.")
KERNEL = click.option(
    "--kernel", "kernel", metavar="NAME", help="Kernel for the engine linux-virtual; `mptcplab kernel list` shows them."
)
KERNELS = click.option(
    "--kernel",
    "kernels",
    metavar="NAME,…",
    default="",
    show_default=False,
    help="Kernels for the engine linux-virtual, run one after the other; `mptcplab kernel list` shows them.",
)
METRIC = click.option(
    "--metric",
    metavar="NAME",
    help="What to compare by: goodput, completion, transfer-p95, max-min-share…, CONNECTION.COLUMN, "
    "link.NAME.DIRECTION.COLUMN.",
)
AT_LEAST_1 = click.IntRange(min=1)
FILE_PATH = click.Path(path_type=Path)


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")


class Failure(Exception):  # noqa: N818 - it ends the command, with the status it carries
    """The command ends here, with this status and these lines on standard error."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status = status
        self.lines = lines


def named_kernels(text: str) -> list[str]:
    """The kernels of a list with commas, none twice."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    twice = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if twice is not None:
        raise Failure(WRONG_INPUT, f"--kernel: found {twice!r} twice in {text!r}; expected each kernel once")
    return names


def console() -> "Console":
    """Where tables go: as wide as the terminal, or wide enough for a file."""
    from rich.console import Console

    bounded = sys.stdout.isatty() or "COLUMNS" in os.environ
    # What is printed has names of the user's in it, such as :x: or [red].
    return Console(width=None if bounded else _UNBOUNDED_WIDTH, highlight=False, markup=False, emoji=False)


def print_line(text: str) -> None:
    """A line on standard output."""
    sys.stdout.write(text + "\n")


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")


def part_of_one(option: str, text: str) -> float:
    """A fraction above 0 and below 1, also as per cent."""
    from mptcplab.scenario.units import PERCENTAGE, UnreadableError, read

    try:
        value = float(text) if text.replace(".", "", 1).strip().isdecimal() else float(read(text, (PERCENTAGE,))[1])
    except UnreadableError:
        value = 0.0
    if not 0 < value < 1:
        raise Failure(WRONG_INPUT, f'{option} {text}: found {text!r}; expected a percentage, such as "2 %"')
    return value


def value_of(text: str) -> object:
    """TOML where it is TOML, else the text itself, as `--set` reads it."""
    import tomllib

    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if list(parsed) == ["value"] else text


def baselines(given: Iterable[str]) -> dict[str, object]:
    """The values of `--baseline KEY=VALUE`."""
    found: dict[str, object] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise Failure(WRONG_INPUT, f"--baseline {text}: expected KEY=VALUE, such as scheduler=min-rtt")
        read = value_of(value.strip())
        found[key.strip()] = read if isinstance(read, str | int | float | bool) else value.strip()
    return found


def print_json(document: object) -> None:
    """One JSON document on standard output."""
    import json

    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


read_from_stdin: bytes | None = None
"""What has been read of standard input, for a command that begins anew."""


def load_scenario(file: Path, overrides: Sequence[str] = ()) -> "Scenario":
    """The scenario of a file, of a ready-made name, or `-`: of standard input.

    What is not there is told before anything that loads slowly.
    """
    if str(file) == "-":
        global read_from_stdin
        read_from_stdin = said = sys.stdin.buffer.read()
        text = said.decode("utf-8-sig", errors="replace")
        from mptcplab.scenario import Scenario

        return Scenario.from_toml(text, "<standard input>", overrides)
    there("scenario", file)
    from mptcplab.scenario import Scenario

    return Scenario.load(file, overrides=overrides)


def there(kind: Literal["scenario", "sweep"], file: Path) -> None:
    """Refuse a path that is no file, and no name of a ready-made scenario or sweep."""
    if os.path.lexists(file):
        return
    from mptcplab import shipped

    source, names = str(file), shipped.scenario_names() if kind == "scenario" else shipped.sweep_names()
    if not shipped.is_name(source):
        raise Failure(
            WRONG_INPUT, f"{source}: found nothing readable (No such file or directory); expected a {kind} file"
        )
    if source not in names:
        from mptcplab.hints import did_you_mean

        expected = f"a {kind} file or the name of a ready-made {'scenario' if kind == 'scenario' else 'one'}"
        raise Failure(
            WRONG_INPUT,
            f"{source}: found neither a file nor a ready-made name; expected {expected}{did_you_mean(source, names)}",
        )
