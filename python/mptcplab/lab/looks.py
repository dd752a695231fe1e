"""Colours and marks of the page: those of every plot, so that a path and an algorithm look the same everywhere."""

from typing import TYPE_CHECKING, Any

from mptcplab.plots import style

if TYPE_CHECKING:
    from mptcplab.scenario import Scenario


def of_scenario(scenario: "Scenario") -> dict[str, Any]:
    """Colour, dash and marker of each path and link, and of each connection's congestion control."""
    document = scenario.document
    names = [*document.paths_in_use(), *document.links]
    colours, lines = style.path_colours(names), style.path_lines(names)
    return {
        "paths": {
            name: {"colour": colours[name], "dash": list(lines[name].dash), "shape": lines[name].shape}
            for name in colours
        },
        "algorithms": {
            name: {"colour": mark.colour, "shape": mark.shape}
            for name in dict.fromkeys(each.congestion.name for each in document.connections.values())
            for mark in [style.algorithm(name)]
        },
    }
