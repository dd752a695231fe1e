"""What there is: algorithms from the registry, scenario files from the checkout or the package."""

import tomllib
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mptcplab import registry
from mptcplab.shipped import papers_directory, scenario_directory

TOPICS: Final = (*registry.FAMILIES, "scenarios", "papers")


def show(topic: str | None) -> RenderableType:
    """One topic of `TOPICS`, or all of them under headings."""
    topics = TOPICS if topic is None else (topic,)
    return Group(*(part for name in topics for part in (_heading(name), _table(name), Text())))


def _heading(topic: str) -> Text:
    if topic not in ("scenarios", "papers"):
        return Text(topic, style="bold")
    place = scenario_directory() if topic == "scenarios" else papers_directory()
    return Text.assemble((topic, "bold"), " (none here)" if place is None else f" in {_short(place)}")


def _table(topic: str) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    if topic == "scenarios":
        for header in ("file", "title"):
            drawn.add_column(header, overflow="fold")
        place = scenario_directory()
        for file in [] if place is None else sorted(place.glob("*.toml")):
            drawn.add_row(Text(file.name), Text(_entry(file, "title")))
        return drawn
    if topic == "papers":
        for header in ("paper", "title", "year"):
            drawn.add_column(header, overflow="fold")
        place = papers_directory()
        for file in [] if place is None else sorted(place.glob("*/published.toml")):
            drawn.add_row(Text(file.parent.name), Text(_entry(file, "title")), Text(_entry(file, "year")))
        return drawn
    drawn.add_column("name", no_wrap=True)
    drawn.add_column("engines", no_wrap=True)
    drawn.add_column("what it is", overflow="fold")
    drawn.add_column("source", overflow="fold")
    for entry in registry.FAMILIES[topic]:
        engines = Text(", ".join(entry.engines)) if entry.engines else Text("none yet", style="dim")
        drawn.add_row(Text(entry.name), engines, Text(entry.summary), Text(entry.source))
    return drawn


def _entry(file: Path, key: str) -> str:
    """An entry as it stands; a file that is no TOML is listed all the same, `check` says what is wrong."""
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8")).get(key, ""))
    except (OSError, ValueError):
        return "(not readable)"


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
