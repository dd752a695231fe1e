"""`mptcplab list`: algorithms and keys from the registry; scenarios and papers from the checkout or the package."""

import os
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final

import click

from mptcplab import profiles, registry, routers
from mptcplab.cli.common import JSON, WRONG_INPUT, Failure, complete, print_json
from mptcplab.hints import did_you_mean
from mptcplab.shipped import papers_directory, scenario_directory

TOPICS: Final = (*registry.FAMILIES, *registry.SETTINGS, "profiles", "routers", "scenarios", "papers")
_GAP: Final = "   "
_WIDTH: Final = 160
"""Where no terminal bounds a table."""
_LEAST_WIDTH: Final = 12


@click.command("list")
@click.argument("what", metavar=f"[{'|'.join(TOPICS)}]", required=False, shell_complete=complete(lambda: TOPICS))
@JSON
def list_topics(what: str | None, as_json: bool) -> None:
    """List algorithms, scenarios or papers, and which engines support them; the keys of a medium or of TCP,
    or what profiles of TCP and routers set and why.

    \b
    Example: mptcplab list congestion
    """
    if what is not None and what not in TOPICS:
        hint = did_you_mean(what, TOPICS)
        raise Failure(WRONG_INPUT, f"there is no list of {what!r}; choose from {', '.join(TOPICS)}{hint}")
    if as_json:
        document = {}
        for topic in TOPICS if what is None else (what,):
            headers, rows = _table(topic)
            keys = [header.replace(" ", "_").replace("what_it_is", "summary") for header in headers]
            document[topic] = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json(document)
        return
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH
    for topic in TOPICS if what is None else (what,):
        click.echo(_heading(topic))
        for line in _lines(*_table(topic), width):
            click.echo(line)
        click.echo()


def _heading(topic: str) -> str:
    heading = click.style(topic, bold=True)
    if topic not in ("scenarios", "papers"):
        return heading
    place = scenario_directory() if topic == "scenarios" else papers_directory()
    return heading + (" (none here)" if place is None else f" in {_short(place)}")


def _table(topic: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The headers and rows of a topic."""
    if topic == "scenarios":
        place = scenario_directory()
        files = [] if place is None else sorted(place.glob("*.toml"))
        return ("file", "title"), [(file.name, _entry(file, "title")) for file in files]
    if topic == "papers":
        place = papers_directory()
        files = [] if place is None else sorted(place.glob("*/published.toml"))
        rows = [(file.parent.name, _entry(file, "title"), _entry(file, "year")) for file in files]
        return ("paper", "title", "year"), rows
    if topic == "profiles":
        return ("profile", "key", "value", "source"), [
            (profile.name, switch.key, _shown(switch.value), switch.source)
            for profile in profiles.PROFILES
            for switch in profile.switches
        ]
    if topic == "routers":
        return ("router", "what it is", "key", "value", "source"), [
            (router.name, router.summary if not place else "", setting.key, setting.written, setting.source)
            for router in routers.ROUTERS
            for place, setting in enumerate(router.settings)
        ]
    if topic in registry.SETTINGS:
        from mptcplab.scenario import written

        entry = registry.settings(topic)
        keys = [
            (key.name, written.default(key), written.words(key) or written.bounds(key, entry), written.meaning(key))
            for key in entry.parameters
        ]
        return ("key", "default", "values", "what it is"), [[cell.replace("`", "") for cell in row] for row in keys]
    known = [
        (entry.name, ", ".join(entry.engines) or "none yet", entry.summary, entry.source)
        for entry in registry.FAMILIES[topic]
    ]
    return ("name", "engines", "what it is", "source"), [*known, *_installed(topic)]


def _shown(value: object) -> str:
    """A value as a scenario file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _installed(topic: str) -> Sequence[tuple[str, str, str, str]]:
    """What installed packages add."""
    group = f"[mptcplab.{topic.replace('-', '_')}]"
    lists = (file for place in sys.path for file in Path(place).glob("*.dist-info/entry_points.txt"))
    # Mostly there is nothing, and what reads entry points, plug-ins and the core need not be loaded.
    if not any(group in file.read_text(encoding="utf-8") for file in lists):
        return []
    from mptcplab.plugins import loading

    engines = ", ".join(registry.PLUGINS)
    return [(name, engines, summary, source) for name, summary, source in loading.listed(topic)]


def _lines(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """A table as lines of at most `width`; the widest columns are folded. rich takes longer to load than the rest."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > width and max(widths) > _LEAST_WIDTH:
        widths[widths.index(max(widths))] -= 1
    yield _GAP.join(map(str.ljust, headers, widths)).rstrip()
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows:
        # Most cells fit: to wrap one takes ten times as long as to see that.
        cells = [
            [cell] if len(cell) <= size else textwrap.wrap(cell, size) for cell, size in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            yield _GAP.join(map(str.ljust, parts, widths)).rstrip()


def _entry(file: Path, key: str) -> str:
    """An entry as it stands; a file that is no TOML is listed all the same, `check` says what is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
        # What stands before the first table is enough, and quicker to read than the whole.
        head, _, _ = text.partition("\n[")
        return str(tomllib.loads(head).get(key, ""))
    except (OSError, ValueError):
        return "(not readable)"


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
