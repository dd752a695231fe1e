"""How good advice is: its regret to the best of all settings on random networks, beside fixed settings.

`python -m studies.advise --networks 300 --out FILE` runs every kind of traffic on so many networks that were
not looked at while the advice was built (`--development` for those that were), appends a line of JSON for each to FILE,
and leaves out what FILE has already. Without `--networks` it summarises FILE.

On each network the advice is asked once. Then all settings run on random numbers that the advice did not see: all once,
the best 32 with TCP four times, the best eight with the fixed settings and TCP eight times, and the best four of those,
what was advised and the best TCP of each kind 24 times. The best mean of those is the oracle's: as the best of several
noisy means it is a little too good, so regrets are a little too large.

A network takes about a minute of CPU time, and several processes can share the work: give each another `--first`, and a
file of its own. Lines of several files can be put together. A name that ends in `.gz` is compressed.
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from mptcplab.advice.advising import advise, ask
from mptcplab.advice.candidates import Candidate, backups, multipath, singles
from mptcplab.advice.prune import LATE, prune
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import Simulator
from mptcplab.advice.traffic import KINDS
from mptcplab.provenance import source_state

from studies.advise_summary import BBR, TCP, append, draw, read, summary, winners

RIVALS: Final[Mapping[str, tuple[str, str]]] = {
    "kernel default": ("cubic", "linux"),
    "LIA, min-rtt": ("lia", "min-rtt"),
    "OLIA, BLEST": ("olia", "blest"),
    "LIA, DMPTCP": ("lia", "dmptcp"),
    "LIA, ECF": ("lia", "ecf"),
}
"""Fixed settings; the first path is drawn, as it is for whoever does not choose."""
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
    advice = advise(paths=paths, traffic=kind, purpose="any", buffer=buffer, jobs=1, budget=budget)
    # The same network as the advice had, with other random numbers.
    question = replace(ask(None, paths, kind, "any", buffer=buffer), seed=_OTHER_SEED + number)
    order = (first, "b" if first == "a" else "a")
    rivals = {name: Candidate(*setting, order) for name, setting in RIVALS.items()}
    advised = advice.best.candidate
    with Simulator(question, 1) as simulator:
        race = Race(simulator)
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
        "commit": source_state()[0],
        "regret": _rounded({name: 1 - math.exp(each) for name, each in better.items()}),
        "against_tcp": _rounded({name: math.exp(each - better[TCP]) - 1 for name, each in better.items()}),
        "against_any_tcp": _rounded(
            {n: math.exp(each - max(better[TCP], better[BBR])) - 1 for n, each in better.items()}
        ),
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in values.items()}


def _last(race: Race, question: Question, advised: Candidate, rivals: Sequence[Candidate]) -> list[Candidate]:
    """Who ran most often: the best of all settings, what was advised, and the best TCP with and without BBR."""
    plain = singles(question.paths, stock=False)
    # Without sttf where advice does not try it either: it costs as much as all others together.
    made = [*multipath(question.paths, stock=False), *backups(question.paths, stock=False)]
    kept, left = prune(made, None, question.traffic.kind, marked=question.marked)
    every = [*kept, *(each for each, why in left.items() if why == LATE)]
    race.extend([*every, *plain], 1)

    def round_(among: Sequence[Candidate], best: int, beside: Sequence[Candidate], runs: int) -> list[Candidate]:
        chosen = list(dict.fromkeys([*race.ranked(among)[:best], advised, *beside]))
        race.extend(chosen, runs)
        return chosen

    second = round_(every, 32, plain, 4)
    third = round_(second, 8, [*plain, *rivals], 8)
    tcp = [_best_tcp(race, plain, bbr=bbr) for bbr in (False, True)]
    return round_(third, 4, tcp, 24)


def _best_tcp(race: Race, candidates: Sequence[Candidate], *, bbr: bool) -> Candidate:
    return race.ranked([each for each in candidates if each.is_tcp and (each.congestion == "bbr") == bbr])[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(prog="python -m studies.advise", description="How good advice is.")
    parser.add_argument("--networks", type=int, default=0, help="how many networks")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--out", type=Path, default=Path("advise.jsonl"), help="the file of results")
    parser.add_argument("--development", action="store_true", help="the networks that were looked at while building")
    parser.add_argument("--traffic", default=",".join(KINDS), help="kinds of traffic, with commas")
    parser.add_argument("--figure", type=Path, help="draw FILE's regrets to this PNG")
    given = parser.parse_args([] if arguments is None else arguments)
    done = {(row["network"], row["traffic"]) for row in read(given.out)}
    for number in range(given.first, given.first + given.networks):
        for kind in given.traffic.split(","):
            if (number, kind) not in done:
                row = case(number, kind, development=given.development)
                append(given.out, row)
    rows = read(given.out)
    sys.stdout.write(f"{summary(rows)}\n\n{winners(rows)}\n")
    if given.figure is not None:
        draw(rows, given.figure)


if __name__ == "__main__":
    main(sys.argv[1:])
