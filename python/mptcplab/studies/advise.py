"""How good advice is: its regret to the best of all settings on random networks, beside fixed settings.

`python -m mptcplab.studies.advise --networks 300 --out FILE` runs every kind of traffic on so many networks that were
not looked at while the advice was built (`--development` for those that were), appends a line of JSON for each to FILE,
and leaves out what FILE has already. Without `--networks` it summarises FILE.

On each network the advice is asked once. Then all settings run on random numbers that the advice did not see: all once,
the best 16, the fixed settings and TCP six times, and the best four of those, what was advised and the best TCP of each
kind 24 times. The best mean of those is the oracle's: as the best of several noisy means it is a little too good, so
regrets are a little too large.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from mptcplab.advice.advising import advise, ask
from mptcplab.advice.candidates import Candidate, multipath, singles
from mptcplab.advice.play import Player
from mptcplab.advice.prune import prune
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race
from mptcplab.advice.traffic import KINDS

RIVALS: Final[Mapping[str, tuple[str, str]]] = {
    "kernel default": ("cubic", "linux"),
    "LIA, min-rtt": ("lia", "min-rtt"),
    "OLIA, BLEST": ("olia", "blest"),
    "LIA, DMPTCP": ("lia", "dmptcp"),
    "LIA, ECF": ("lia", "ecf"),
}
"""Fixed settings; the first path is drawn, as it is for whoever does not choose."""
TCP: Final = "TCP on the better path"
BBR: Final = "TCP with BBR on the better path"
_SECOND: Final = 16
_SECOND_RUNS: Final = 6
_LAST: Final = 4
_LAST_RUNS: Final = 24
_OTHER_SEED: Final = 777_000_001
"""So far from the advice's own seeds that no run is one that it saw."""


def network(number: int, *, development: bool = False) -> tuple[list[str], str, str]:
    """Two paths in words, the receivers' buffer, and the path that opens connections if nobody chooses."""
    random = Random(f"advise {'development' if development else 'held out'} {number}")

    def drawn(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    paths = []
    for name in ("a", "b"):
        down = round(drawn(2000, 50_000))
        loss = round(random.uniform(0, 1.5), 2)
        words = [
            f"{down}/{max(500, down // 4)} kbit/s",
            f"{drawn(5, 120):.1f} ms",
            f"queue {drawn(20, 300):.0f} ms",
            *([f"{loss} %"] if loss else []),
        ]
        paths.append(f"{name}: {', '.join(words)}")
    return paths, f"{round(drawn(256, 8000))} kB", random.choice("ab")


def case(number: int, kind: str, *, development: bool = False, budget: float = 1.0) -> dict[str, Any]:
    """One network with one kind of traffic: the score of everybody that matters, relative to the best."""
    paths, buffer, first = network(number, development=development)
    advice = advise(paths=paths, traffic=kind, buffer=buffer, jobs=1, budget=budget)
    # The same network as the advice had, with other random numbers.
    question = replace(ask(None, paths, kind, "any", buffer=buffer), seed=_OTHER_SEED + number)
    order = (first, "b" if first == "a" else "a")
    rivals = {name: Candidate(*setting, order) for name, setting in RIVALS.items()}
    advised = advice.best.candidate
    with Player(question, 1) as player:
        race = Race(player)
        last = _last(race, question, advised, list(rivals.values()))
        best = max(last, key=race.mean)
        fixed = {
            "advice": advised,
            TCP: _best_tcp(race, last, bbr=False),
            BBR: _best_tcp(race, last, bbr=True),
            **rivals,
        }
        better = {name: race.difference(each, best).mean for name, each in fixed.items()}
    return {
        "network": number,
        "traffic": kind,
        "advised": advised.label,
        "best": best.label,
        "hops": advice.work_hops,
        "regret": {name: 1 - math.exp(each) for name, each in better.items()},
        "against_tcp": {name: math.exp(each - better[TCP]) - 1 for name, each in better.items()},
        "against_any_tcp": {name: math.exp(each - max(better[TCP], better[BBR])) - 1 for name, each in better.items()},
    }


def _last(race: Race, question: Question, advised: Candidate, rivals: Sequence[Candidate]) -> list[Candidate]:
    """Who ran most often: the best of all settings, what was advised, and the best TCP with and without BBR."""
    plain = singles(question.paths, question.purpose)
    # Without sttf where advice does not try it either: it costs as much as all others together.
    kind = question.traffic.kind
    every, _ = prune(list(multipath(question.paths, question.purpose)), (), kind, 1.0, "down", marked=question.marked)
    race.extend([*every, *plain], 1)
    second = list(dict.fromkeys([*race.ranked(every)[:_SECOND], *plain, *rivals, advised]))
    race.extend(second, _SECOND_RUNS)
    tcp = [_best_tcp(race, plain, bbr=bbr) for bbr in (False, True)]
    last = list(dict.fromkeys([*race.ranked(second)[:_LAST], advised, *tcp]))
    race.extend(last, _LAST_RUNS)
    return last


def _best_tcp(race: Race, candidates: Sequence[Candidate], *, bbr: bool) -> Candidate:
    return race.ranked([each for each in candidates if each.is_tcp and (each.congestion == "bbr") == bbr])[0]


def summary(rows: Iterable[Mapping[str, Any]]) -> str:
    """A table: median and 95th percentile of the regret, and how often TCP on the better path gives over 3 % more."""
    held = list(rows)
    lines = [
        "| traffic | setting | median regret | p95 regret | below TCP by > 3 % | below any TCP by > 3 % | cases |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        mine = [row for row in held if kind in (row["traffic"], "all")]
        if not mine:
            continue
        for name in ("advice", *RIVALS, TCP, BBR):
            regrets = sorted(row["regret"][name] for row in mine)
            below, any_below = (
                sum(row[against][name] < -0.03 for row in mine) for against in ("against_tcp", "against_any_tcp")
            )
            high = regrets[math.ceil(0.95 * len(regrets)) - 1]
            lines.append(
                f"| {kind} | {name} | {statistics.median(regrets):.1%} | {high:.1%} | {below} | {any_below} "
                f"| {len(regrets)} |"
            )
    return "\n".join(lines)


def draw(rows: Iterable[Mapping[str, Any]], file: Path) -> None:
    """A picture (SVG) of every case's regret, by setting and traffic."""
    import altair as alt
    import polars as pl
    import vl_convert

    points = pl.DataFrame(
        [
            {"traffic": row["traffic"], "setting": name, "regret": 100 * regret}
            for row in rows
            for name, regret in row["regret"].items()
        ]
    )
    order = ["advice", TCP, BBR, *RIVALS]
    chart = (
        alt.Chart(alt.NamedData(name="points"), width=110, height=150)
        .mark_tick(thickness=2, opacity=0.6, color="#0072B2")
        .encode(
            x=alt.X("regret:Q", title="regret (%)", scale=alt.Scale(domain=[0, 100], clamp=True)),
            y=alt.Y("setting:N", sort=order, title=None, axis=alt.Axis(labelLimit=200)),
            column=alt.Column("traffic:N", sort=list(KINDS), title=None),
        )
    )
    file.write_text(
        vl_convert.vegalite_to_svg(chart.to_dict() | {"datasets": {"points": points.to_dicts()}}), encoding="utf-8"
    )


def read(file: Path) -> list[dict[str, Any]]:
    """The lines of a file, if there is one."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m mptcplab.studies.advise", description="How good advice is.")
    parser.add_argument("--networks", type=int, default=0, help="how many networks, from the first")
    parser.add_argument("--out", type=Path, default=Path("advise.jsonl"), help="the file of results")
    parser.add_argument("--development", action="store_true", help="the networks that were looked at while building")
    parser.add_argument("--traffic", default=",".join(KINDS), help="kinds of traffic, with commas")
    parser.add_argument("--figure", type=Path, help="draw FILE's regrets to this SVG")
    given = parser.parse_args([] if arguments is None else arguments)
    done = {(row["network"], row["traffic"]) for row in read(given.out)}
    for number in range(given.networks):
        for kind in given.traffic.split(","):
            if (number, kind) not in done:
                row = case(number, kind, development=given.development)
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    rows = read(given.out)
    sys.stdout.write(summary(rows) + "\n")
    if given.figure is not None:
        draw(rows, given.figure)


if __name__ == "__main__":
    main(sys.argv[1:])
