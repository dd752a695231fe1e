"""What the page offers: algorithms, applications, presets and engines, from the tables that everything else reads."""

import tomllib
from dataclasses import asdict
from typing import Any

from mptcplab import registry, shipped
from mptcplab.engines.catalogue import ENGINES
from mptcplab.errors import EngineUnavailableError
from mptcplab.plots import style


def catalogue() -> dict[str, Any]:
    """All of it."""
    return {
        "families": {family: [_entry(family, entry) for entry in registry.FAMILIES[family]] for family in _FAMILIES},
        "presets": presets(),
        "engines": [_engine(name) for name in ENGINES if name in _ENGINES],
        "pages": {theme: {"ink": ink, "page": page} for theme, (ink, page) in style.PAGES.items()},
    }


_FAMILIES = ("congestion", "schedulers", "path-managers", "queues", "applications", "middleboxes", "losses")
_ENGINES = ("sim", "model", "stack", "linux")


def _entry(family: str, entry: registry.Entry) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "name": entry.name,
        "summary": entry.summary,
        "source": entry.source,
        "engines": list(entry.engines),
        "coupled": entry.coupled,
        "parameters": [
            {key: value for key, value in asdict(parameter).items() if key != "runs"}
            for parameter in entry.parameters
            if not parameter.field  # of a connection's algorithm; those of links the page has as a whole
        ],
    }
    if family == "congestion":
        mark = style.algorithm(entry.name)
        answer |= {"colour": mark.colour, "shape": mark.shape}
    return answer


def presets() -> list[dict[str, str]]:
    """The ready-made scenarios that the simulator can run, with their titles."""
    found = []
    for name in shipped.scenario_names():
        file = shipped.scenario_file(name)
        assert file is not None
        text = file.read_text(encoding="utf-8")
        if '"program"' not in text:
            found.append({"name": name, "title": str(tomllib.loads(text).get("title", name))})
    return found


def preset(name: str) -> str | None:
    """The text of a ready-made scenario; None when there is none of this name."""
    file = shipped.scenario_file(name)
    return None if file is None else file.read_text(encoding="utf-8")


def _engine(name: str) -> dict[str, Any]:
    engine = ENGINES[name]
    try:
        engine.require()
        why = None
    except EngineUnavailableError as error:
        why = str(error)
    return {"name": name, "summary": engine.summary, "live": not engine.virtual_time, "unavailable": why}
