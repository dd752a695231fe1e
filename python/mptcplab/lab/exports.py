"""The scenario and its result as files."""

import json
import pprint
from typing import TYPE_CHECKING, Final

from mptcplab.lab.documents import Given

if TYPE_CHECKING:
    from mptcplab.results.result import Result

KINDS: Final = ("toml", "python", "json", "report", "svg", "png")
FIGURES: Final = ("goodput", "windows", "rtts", "queues")
THEMES: Final = ("light", "dark", "print")


def of_scenario(given: Given, kind: str) -> tuple[str, str, bytes]:
    """Name, media type and content of what needs no run."""
    name = given.scenario.name
    if kind == "toml":
        return f"{name}.toml", "application/toml", given.text.encode()
    return f"{name}.py", "text/x-python", _program(given).encode()


def _program(given: Given) -> str:
    """A program that runs the scenario and prints what it got."""
    data = pprint.pformat(given.data, width=110, sort_dicts=False)
    return (
        f'"""{_one_line(given.scenario.title)}"""\n\n'
        f"import mptcplab\n\nscenario = mptcplab.Scenario.from_dict(\n    {data.replace(chr(10), chr(10) + '    ')},\n"
        f"    name={given.scenario.name!r},\n)\n"
        "result = mptcplab.run(scenario)\n"
        'print(result.connections.select("name", "congestion", "goodput_bps"))\n'
    )


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\", "/").replace('"', "'").split()) + "."


def of_result(result: "Result", kind: str, figure: str, theme: str) -> tuple[str, str, bytes]:
    """Name, media type and content of what shows a run."""
    name = result.scenario.name
    if kind == "json":
        return f"{name}.json", "application/json", result.to_json().encode()
    if kind == "report":
        return f"{name}.html", "text/html", result.report().encode()
    import vl_convert

    from mptcplab import plots

    drawn = next((each for each in plots.figures(result) if each.name == figure), None)
    if drawn is None:
        raise ValueError("there is no figure without samples: set measure.sample and start a connection")
    spec = json.dumps(plots.static_spec(drawn, theme="dark" if theme == "dark" else "light"))
    drawing: str = vl_convert.vegalite_to_svg(spec)
    if kind == "svg":
        return f"{name}-{figure}.svg", "image/svg+xml", drawing.encode()
    return f"{name}-{figure}.png", "image/png", vl_convert.svg_to_png(drawing, scale=2.0)
