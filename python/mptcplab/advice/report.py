"""The answer as a table and as an HTML page with figures, written with its JSON and a scenario file."""

import math
from pathlib import Path
from typing import Any

import polars as pl

from mptcplab.advice import formats
from mptcplab.advice.answer import Advice
from mptcplab.advice.candidates import KERNEL_DEFAULT, Candidate
from mptcplab.advice.costs import HEADERS as COST_HEADERS
from mptcplab.advice.race import Race
from mptcplab.advice.reasons import queueing_of
from mptcplab.advice.rows import rows, shown
from mptcplab.advice.told import closing, headline
from mptcplab.results import inventory
from mptcplab.scenario.traces import FOLDER


def check(directory: Path) -> None:
    """Raise OccupiedError unless advice may be written there."""
    inventory.check(directory, "advice", "advice.json")


def write(advice: Advice, directory: Path) -> None:
    """advice.json, scenario.toml with its traces, and report.html; replaces an earlier answer. Raises OccupiedError."""
    from mptcplab.results.directory import replaced

    with replaced(directory, check) as fresh:
        (fresh / "advice.json").write_text(advice.to_json() + "\n", encoding="utf-8")
        (fresh / "scenario.toml").write_text(advice.scenario().to_toml(), encoding="utf-8")
        for file, trace in advice.scenario().document.traces.items():
            (fresh / FOLDER).mkdir(exist_ok=True)
            (fresh / FOLDER / Path(file).name).write_text(trace.text, encoding="ascii", newline="")
        (fresh / "report.html").write_text(page(advice), encoding="utf-8")


def page(advice: Advice) -> str:
    """The page, all of it in one file."""
    from mptcplab.plots import style
    from mptcplab.render import page as pages

    question = advice.question
    headers, cells = rows(advice)
    captions = [
        ("Every run", f"Each point is a run; 1 is {advice.best_single_path.label} in the same run, more is better."),
    ]
    panels = [_against(advice)]
    queues = _queues(advice)
    if queues is not None:
        captions.append(
            ("Queues", "How long packets wait in the queue before each path's link, the mean over all runs.")
        )
        panels.append(queues)
    return pages.render(
        "advice.html",
        title=f"Advice for {question.traffic.title} over {formats.listed(list(question.paths))}",
        lead=question.traffic.summary(),
        answers=[(headline(each), each.reasons, each.commands) for each in advice.recommended],
        closing=closing(advice),
        costs=([list(COST_HEADERS), [each.cells() for each in advice.costs]] if advice.costs else None),
        headers=headers,
        rows=cells,
        figures=captions,
        dropped=[[each.label, reason] for each, reason in advice.dropped],
        scenario=advice.scenario().to_toml(),
        plots={"config": style.config("currentColor"), "panels": panels},
    )


def _compared(advice: Advice) -> list[Candidate]:
    """The recommended, the kernel's default where it ran, and TCP on each path."""
    default = [
        each for each in advice.results if (each.congestion, each.scheduler) == KERNEL_DEFAULT and not each.backup
    ]
    plain = [each for each in advice.results if each.is_tcp and each.congestion == "cubic"]
    mine = [each.candidate for each in shown(advice)]
    return list(dict.fromkeys([*mine, *sorted(default), *sorted(plain)]))


def _against(advice: Advice) -> dict[str, Any]:
    import altair as alt

    reference = advice.results[advice.best_single_path.candidate]
    points = [
        {"setting": each.label, "ratio": math.exp(result.score - reference[pair].score)}
        for each in _compared(advice)
        for pair, result in advice.results[each].items()
        if pair in reference
    ]
    chart = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_point(filled=True, size=60, opacity=0.7)
        .encode(
            x=alt.X("ratio:Q", title="of TCP on the best path", scale=alt.Scale(zero=False)),
            y=alt.Y(
                "setting:N", sort=[each.label for each in _compared(advice)], title=None, axis=alt.Axis(labelLimit=320)
            ),
        )
    )
    return _panel("runs", chart, points)


def _queues(advice: Advice) -> dict[str, Any] | None:
    """None where no queue was seen, as of calls alone."""
    import altair as alt

    from mptcplab.plots import style

    race = Race(None, results={each: dict(result) for each, result in advice.results.items()})  # type: ignore[arg-type]
    points = [
        {"setting": each.label, "path": name, "ms": value * 1e3}
        for each in _compared(advice)
        for name, value in queueing_of(race, advice.question, each).items()
        if value is not None
    ]
    if not points:
        return None
    colours = style.path_colours(advice.question.paths)
    chart = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_bar()
        .encode(
            x=alt.X("ms:Q", title="ms"),
            y=alt.Y(
                "setting:N", sort=[each.label for each in _compared(advice)], title=None, axis=alt.Axis(labelLimit=320)
            ),
            yOffset="path:N",
            color=alt.Color("path:N", scale=alt.Scale(domain=list(colours), range=list(colours.values()))),
        )
    )
    return _panel("queues", chart, points)


def _panel(name: str, chart: Any, points: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: ANN401 - an Altair chart
    frame = pl.DataFrame(points)
    return {"file": name, "time": False, "spec": chart.to_dict(), "data": {"points": frame.to_dict(as_series=False)}}
