"""Section 6.1, and how far it depends on parameters that nobody knows."""

from collections.abc import Mapping
from typing import Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Context, at_most, below, every
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.judge import EQUALITY

from .lab import Cell
from .networks import PATHS
from .parameters import PARAMETERS
from .study import ONE, Judged, Results, Study, number, truth
from .throughput import trio

_ALL: Final = tuple((scene, direction) for scene in PATHS for direction in ("up", "down"))


def _cells(_: bool) -> dict[str, Cell]:
    return {f"{scene} {way}/{name}": cell for scene, way in _ALL for name, cell in trio(scene, way).items()}


def gains(found: Results) -> dict[str, Mean]:
    """Of both over the better path alone, by scenario and direction."""
    made: dict[str, Mean] = {}
    for scene, way in _ALL:
        name = f"{scene} {way}"
        if f"{name}/both" in found:
            best = max(found[f"{name}/{path}"].mbps for path in PATHS[scene])
            made[name] = found[f"{name}/both"].mbps / best - 1
    return made


def _judge(found: Results, _: Context) -> Judged:
    each = gains(found)
    similar = {name: value for name, value in each.items() if name[0] in "BC"}
    lte = {name: value for name, value in each.items() if name[0] in "DE"}
    told = ", ".join(f"{name} {value:+.0%}" for name, value in each.items())
    ethernet = [100 * (found[f"{name}/both"].mbps / found[f"{name}/ethernet"].mbps - 1) for name in similar]
    closest = min(ethernet, key=lambda value: abs(value - 53))
    frame = pl.DataFrame(
        [{"scenario": name, "gain over the better path, %": 100 * value} for name, value in each.items()]
    )
    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("scenario:N", sort=None, title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("gain over the better path, %:Q", title="gain over the better path alone, %"),
        )
        .properties(width=420, height=200)
    )
    return Judged(
        [
            number(
                "gain",
                "Ethernet and Wi-Fi have about 53 % more than Ethernet alone (which scenario is not said: the closest)",
                53,
                closest,
                percent=True,
                cause="work: B's gain follows from the airtime law, C's from two paths that are nearly alike. The "
                "thesis's own charts print other gains.",
            ),
            truth(
                "similar-paths",
                "Both paths gain in B and C, where they are alike",
                told,
                every(below(ONE, 1 + value) for value in similar.values()),
            ),
            truth(
                "lte-little",
                "With LTE both gain little or lose, more so in the upload",
                told,
                every(
                    [at_most(value, EQUALITY[0], whole=1.0) for value in lte.values()],
                    [below(lte[f"{scene} up"], lte[f"{scene} down"], whole=1.0) for scene in ("D", "E")],
                ),
                cause="setting: LTE's download was chosen at half of Ethernet's rate, and so much it adds.",
            ),
        ],
        [("Gain over the better path alone", frame)],
        [("Gain of both paths over the better one alone", chart)],
    )


_VARIED: Final[Mapping[str, Mapping[str, tuple[float, ...]]]] = {
    "C up": {"access up": (145, 300), "cloud up": (70,), "air": (140,)},
    "C down": {"cloud ethernet down": (57,), "cloud wifi down": (46,)},
    "D up": {
        "lte up": (1, 10),
        "lte queue": (100, 2000),
        "lte delay": (15, 40),
        "queue": (10, 200),
        "cloud delay": (5, 25),
    },
    "D down": {"lte down": (5, 30), "lte queue": (100, 2000), "lte delay": (15, 40), "queue": (10, 200)},
    "E up": {"lte up": (1, 10), "lte queue": (100, 2000), "air": (140, 280)},
    "E down": {"lte down": (5, 30), "lte queue": (100, 2000)},
    "B up": {"air": (140, 280), "wifi delay": (0.5, 3), "queue": (10, 200)},
    "B down": {"air": (140, 280), "wifi delay": (0.5, 3), "queue": (10, 200)},
}
"""One parameter at a time, at the ends of its plausible range or where a printed value would come out."""
_TOGETHER: Final = {"C down": (("cloud ethernet down", 57.0), ("cloud wifi down", 46.0))}


def _sensitivity(quick: bool) -> dict[str, Cell]:
    made = {}
    for name, varied in _VARIED.items():
        if quick and name not in ("C up", "D up"):
            continue
        scene, way = name.split()
        for parameter, values in varied.items():
            for value in values:
                changed: tuple[tuple[str, float], ...] = ((parameter, float(value)),)
                label = f"{parameter} {value:g} {PARAMETERS[parameter].unit}"
                for transfer in (PATHS[scene][0], "both"):
                    paths = PATHS[scene] if transfer == "both" else (transfer,)
                    made[f"{name}/{label}/{transfer}"] = Cell(scene, paths, way, changed=changed)
    if not quick:
        for name, changed in _TOGETHER.items():
            scene, way = name.split()
            label = ", ".join(f"{parameter} {value:g} {PARAMETERS[parameter].unit}" for parameter, value in changed)
            for transfer in (PATHS[scene][0], "both"):
                paths = PATHS[scene] if transfer == "both" else (transfer,)
                made[f"{name}/{label}/{transfer}"] = Cell(scene, paths, way, changed=changed)
    return made


def _table(found: Results, _: Results, __: Context) -> Judged:
    rows = []
    for name in found:
        if not name.endswith("/both"):
            continue
        scenario, label = name.removesuffix("/both").split("/", 1)
        first = PATHS[scenario[0]][0]
        alone, both = found[f"{scenario}/{label}/{first}"].mbps, found[name].mbps
        rows.append(
            {
                "scenario": scenario,
                "changed": label,
                "first path alone, Mbit/s": alone,
                "both, Mbit/s": both,
                "gain over the first path, %": 100 * (both / alone - 1),
            }
        )
    parameters = pl.DataFrame(
        [
            {
                "parameter": each.name,
                "value": each.value,
                "unit": each.unit,
                "range": f"{each.range[0]:g} to {each.range[1]:g}",
                "reason": each.reason,
            }
            for each in PARAMETERS.values()
        ]
    )
    return Judged(tables=[("Sensitivity: one parameter changed", pl.DataFrame(rows)), ("Parameters", parameters)])


section_6_1 = Study(_cells, _judge, _sensitivity, _table)
