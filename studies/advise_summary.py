"""What the study of advice found: its file, its table and its figure.

Cases of one network are not independent of each other: a network that is hard for `web` may be hard for `mix`. So the
intervals are of networks. Those of the median and of the 95th percentile come from drawing networks anew with
replacement, 2000 times, always the same. Of what happened in no network or in few, the bound is the exact one of the
binomial distribution (Clopper and Pearson).
"""

import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from mptcplab.advice.traffic import KINDS
from scipy.stats import beta

TCP: Final = "TCP on the better path"
BBR: Final = "TCP with BBR on the better path"
_BELOW: Final = -0.03
_DRAWS: Final = 2000

Row = Mapping[str, Any]


def read(file: Path) -> list[dict[str, Any]]:
    """The lines of a file, if there is one."""
    if not file.exists():
        return []
    with _opened(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def append(file: Path, row: Row) -> None:
    """One line more."""
    with _opened(file, "at") as lines:
        lines.write(json.dumps(row) + "\n")


def _opened(file: Path, mode: str) -> Any:  # noqa: ANN401 - one of two kinds of text files
    return gzip.open(file, mode, encoding="utf-8") if file.suffix == ".gz" else file.open(mode, encoding="utf-8")


def percentile(values: Sequence[float], part: float) -> float:
    """By nearest rank; the median is the mean of the two in the middle if there are two."""
    held = sorted(values)
    place = part * len(held)
    if part == 0.5 and place == int(place):
        return (held[int(place) - 1] + held[int(place)]) / 2
    return held[math.ceil(place) - 1]


def interval(groups: Sequence[Sequence[float]], part: float) -> tuple[float, float]:
    """95 % interval of a percentile of all values, from drawing the groups anew."""
    order = sorted((value, place) for place, group in enumerate(groups) for value in group)
    values = np.array([value for value, _ in order])
    drawn = np.random.default_rng(1).multinomial(len(groups), [1 / len(groups)] * len(groups), size=_DRAWS)
    # How many values there are up to each, in each of the draws: a percentile is the first that has enough.
    until = drawn[:, [place for _, place in order]].cumsum(axis=1)
    found = values[(until < np.ceil(part * until[:, -1:])).sum(axis=1)].tolist()
    return percentile(found, 0.025), percentile(found, 0.975)


def at_most(count: int, of: int) -> float:
    """The largest share of which so few would be seen with a probability of 5 %."""
    return 1.0 if count == of else float(beta.ppf(0.95, count + 1, of - count))


def summary(rows: Iterable[Row]) -> str:
    """A table: percentiles of the regret, and how often TCP on the better path gives over 3 % more."""
    held = list(rows)
    lines = [
        "| traffic | setting | median regret | p95 regret | below TCP by > 3 % | in networks | below any TCP by > 3 % "
        "| cases |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        mine = [row for row in held if kind in (row["traffic"], "all")]
        if mine:
            lines += [_line(kind, name, mine) for name in mine[0]["regret"]]
    return "\n".join(lines)


def _line(kind: str, name: str, rows: Sequence[Row]) -> str:
    networks: dict[int, list[Row]] = {}
    for row in rows:
        networks.setdefault(row["network"], []).append(row)
    regrets = [row["regret"][name] for row in rows]
    groups = [[row["regret"][name] for row in each] for each in networks.values()]

    def shown(part: float) -> str:
        low, high = interval(groups, part)
        return f"{percentile(regrets, part):.1%} ({low:.1%} to {high:.1%})"

    below, any_below = (
        sum(row[against][name] < _BELOW for row in rows) for against in ("against_tcp", "against_any_tcp")
    )
    hit = sum(any(row["against_tcp"][name] < _BELOW for row in each) for each in networks.values())
    bound = f"{hit} of {len(networks)}, at most {at_most(hit, len(networks)):.1%}"
    return f"| {kind} | {name} | {shown(0.5)} | {shown(0.95)} | {below} | {bound} | {any_below} | {len(rows)} |"


def winners(rows: Iterable[Row], most: int = 10) -> str:
    """A table: which control and scheduler were the best, and in how many cases of each kind of traffic."""
    held = list(rows)
    kinds = [kind for kind in KINDS if any(row["traffic"] == kind for row in held)]
    counts = Counter((_pair(row["best"]), row["traffic"]) for row in held)
    totals = Counter(_pair(row["best"]) for row in held)
    lines = [f"| best setting of {len(totals)} | {' | '.join(kinds)} | all |", "|---" * (len(kinds) + 2) + "|"]
    for pair, total in sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:most]:
        lines.append(f"| {pair} | {' | '.join(str(counts[pair, kind]) for kind in kinds)} | {total} |")
    return "\n".join(lines)


def _pair(label: str) -> str:
    """Without the paths: their names say nothing beyond one network."""
    if label.startswith("TCP on "):
        return f"TCP, {label.split(', ')[1]}"
    if label.endswith(" as backup"):
        return f"{label.split(', ')[0]}, one path as backup"
    return label.rpartition(", ")[0]


def draw(rows: Iterable[Row], file: Path) -> None:
    """A picture (PNG) of the regret by setting and traffic: a mark for each case."""
    import altair as alt
    import polars as pl
    import vl_convert

    held = list(rows)
    points = pl.DataFrame(
        [
            {"traffic": row["traffic"], "setting": name, "regret": 100 * regret}
            for row in held
            for name, regret in row["regret"].items()
        ]
    )
    order = list(held[0]["regret"])
    chart = (
        alt.Chart(alt.NamedData(name="points"), width=110, height=150)
        .mark_tick(thickness=1, opacity=0.35, color="#0072B2")
        .encode(
            x=alt.X("regret:Q", title="regret (%)", scale=alt.Scale(domain=[0, 100], clamp=True)),
            y=alt.Y("setting:N", sort=order, title=None, axis=alt.Axis(labelLimit=200)),
            column=alt.Column("traffic:N", sort=list(KINDS), title=None),
        )
        # Viewers without the font that the labels are measured with need more room for them.
        .properties(padding={"left": 40, "right": 15, "top": 5, "bottom": 5})
    )
    drawn = chart.to_dict() | {"datasets": {"points": points.to_dicts()}}
    file.write_bytes(vl_convert.vegalite_to_png(drawn, scale=1.5))
