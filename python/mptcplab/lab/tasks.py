"""What a worker process does for the page: each task is a table, each answer a name, a few words and bytes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mptcplab.errors import Error
from mptcplab.lab import documents, exact_json, exports, preview
from mptcplab.lab.documents import Given, Origin
from mptcplab.lab.limits import Limits
from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError
from mptcplab.scenario.errors import Problem

Tell = Callable[[float], None]
"""Called with the part that is done; raises when nobody waits for the answer."""
Show = Callable[[bytes], None]
"""Called with what is known so far: JSON of an answer that is not complete."""
Answer = tuple[str, dict[str, Any], bytes]
"""`done`, or `wrong` with what the request did wrong; and the head and the content of the answer."""


def carry_out(task: Mapping[str, Any], limits: Limits, tell: Tell, show: Show) -> Answer:
    """Do it. What the request did wrong is an answer as well."""
    try:
        return _carried_out(task, limits, tell, show)
    except (ScenarioError, UnsupportedError) as error:
        return _wrong([asdict(problem) for problem in error.problems])
    except (Error, ValueError) as error:
        return _wrong([asdict(Problem(documents.NAME, "", str(error), "a run that comes to its end"))])
    except MemoryError:
        found = f"a run that needs more than {limits.memory_bytes >> 20} MiB of memory"
        return _wrong(
            [asdict(Problem(documents.NAME, "", found, "a shorter or smaller run; use mptcplab run for larger ones"))]
        )


def _wrong(problems: list[dict[str, Any]]) -> Answer:
    return "wrong", {}, _json({"problems": problems})


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _carried_out(task: Mapping[str, Any], limits: Limits, tell: Tell, show: Show) -> Answer:
    opened = task["opened"]
    origin = Origin.of(task["origin"], None if opened is None else Path(opened))
    given = documents.read(task["text"], task["data"], origin, limits)
    kind = task["kind"]
    if kind == "read":
        return "done", {}, _json(_of_scenario(given))
    if kind == "run":
        return "done", {}, _run(given, task["engine"], limits, tell, show)
    if kind == "packets":
        from mptcplab.lab import packets

        seen = packets.look(given.scenario, task["from_s"], task["for_s"], limits, tell)
        return "done", {}, _json(seen)
    if kind == "why":
        from mptcplab.lab import why

        return "done", {}, _json(why.look(given.scenario, task["at_s"], task["connection"], limits, tell))
    if kind == "advise":
        from mptcplab.lab import advice

        return "done", {}, _json(advice.on(given, task["options"], tell))
    if task["export"] in ("toml", "python"):
        return _file(*exports.of_scenario(given, task["export"]))
    from mptcplab.engines import runner

    result = runner.run(given.scenario, task["engine"], progress=tell)
    return _file(*exports.of_result(result, task["export"], task["figure"], task["theme"]))


def _file(name: str, media: str, content: bytes) -> Answer:
    return "done", {"name": name, "media": media}, content


def _of_scenario(given: Given) -> dict[str, Any]:
    return {
        "text": given.text,
        "data": exact_json.to_json(given.data),
        "complete": exact_json.to_json(given.scenario.to_dict()),
        "looks": _looks(given.scenario),
    }


def _run(given: Given, engine: str, limits: Limits, tell: Tell, show: Show) -> bytes:
    from mptcplab.engines import runner
    from mptcplab.engines.catalogue import find
    from mptcplab.lab import lines

    unsupported = find(engine).unsupported(given.scenario)
    if unsupported:
        raise UnsupportedError(engine, [_plain(problem) for problem in unsupported])

    def answer(scenario: Scenario, progress: Tell) -> dict[str, Any]:
        result = runner.run(scenario, engine, progress=progress)
        shown = {"result": result.to_dict(), "lines": lines.of_run(result.runs[0][1], limits)}
        return {**_of_scenario(given), **shown}

    if engine != "sim" or given.scenario.document.topology is not None:
        return _json(answer(given.scenario, tell))
    try:
        return _json(answer(given.scenario, preview.watched(tell)))
    except preview.LongError as long:
        for beginning in preview.beginnings(given.scenario, long.part):
            show(_json({"partial": answer(beginning, lambda _: tell(0.0))}))
    return _json(answer(given.scenario, tell))


def _plain(problem: Problem) -> Problem:
    return Problem(documents.NAME, problem.key, problem.found, problem.expected, problem.line, problem.column)


def _looks(scenario: Scenario) -> dict[str, Any]:
    """Colour, dash and marker of each path and link, and of each connection's congestion control, as in every plot."""
    from mptcplab.plots import style

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
