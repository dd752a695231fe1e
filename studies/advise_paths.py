"""How good the default answer of advice is on networks of two to five paths: its regret to exhaustive search.

`python -m studies.advise_paths --networks 200 --out FILE` draws networks of three to five paths that were not looked at
while the advice was built: rates of 2 Mbit/s to 2 Gbit/s, round trips of 5 to 120 ms, loss up to 1.5 % on every other
path, queues of 20 to 300 ms, windows of 256 kB to 8 MB; a third has one useless path (far and slow, or losing 30 to
50 %), a quarter one that is metered. Each carries one kind of traffic. `--two` takes the networks of the study of two
paths (`studies.advise`) instead, with the kind that is given by their number.

On each the advice is asked once, as it is without options. Then every setting that a stock kernel has runs over every
set of paths, with every first path, on random numbers that the advice did not see; the best 24 three times, the best
six with what is compared eight times, and the best three with these 24 times. FILE has a line for each; what is there
is not run again, so the study can be stopped and go on. Without `--networks` it summarises FILE.
"""

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Final

from mptcplab.advice.advising import advise, ask
from mptcplab.advice.candidates import KERNEL_DEFAULT, Candidate, backups, multipath, singles
from mptcplab.advice.prune import prune
from mptcplab.advice.question import Question
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import Simulator
from mptcplab.advice.traffic import KINDS
from mptcplab.provenance import source_state

from .advise import network as two_paths
from .advise_summary import append, percentile, read

_OTHER_SEED: Final = 555_000_001
_BELOW: Final = -0.03
_DEAR_HOPS: Final = 60_000
"""A run that costs more is not run whole for each of hundreds of settings."""
_FIRST_PART: Final = 0.25
ADVICE: Final = "advice"
TCP: Final = "TCP on the best path"
ALL: Final = "kernel default, all paths"
BEST_SET: Final = "kernel default, the best paths"


def network(number: int, *, development: bool = False) -> tuple[list[str], str, list[str]]:
    """Paths in words, the receivers' window, and what is metered."""
    random = Random(f"advise paths {'development' if development else 'held out'} {number}")

    def drawn(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    names = "abcde"[: random.choice((3, 4, 5))]
    useless = random.choice(names) if random.random() < 1 / 3 else ""
    metered = [random.choice(names)] if random.random() < 1 / 4 else []
    paths = []
    for name in names:
        down = round(drawn(2000, 2_000_000))
        loss = round(random.uniform(0, 1.5), 2) if random.random() < 0.5 else 0.0
        rtt_ms = drawn(5, 120)
        if name == useless and random.random() < 0.5:
            down, rtt_ms = round(drawn(500, 3000)), drawn(400, 800)
        elif name == useless:
            loss = round(random.uniform(30, 50), 1)
        words = [f"{down}/{max(500, down // 4)} kbit/s", f"{rtt_ms:.1f} ms", f"queue {drawn(20, 300):.0f} ms"]
        paths.append(f"{name}: {', '.join([*words, *([f'{loss} %'] if loss else [])])}")
    return paths, f"{round(drawn(256, 8000))} kB", metered


def case(number: int, kind: str, *, two: bool = False, development: bool = False) -> dict[str, Any]:
    """One network: the regret of what was advised and of what it is compared with."""
    if two:
        paths, buffer, _ = two_paths(number, development=development)
        metered: list[str] = []
    else:
        paths, buffer, metered = network(number, development=development)
    began = time.process_time()
    advice = advise(paths=paths, traffic=kind, buffer=buffer, metered=metered, jobs=1)
    advised_s = time.process_time() - began
    question = replace(ask(None, paths, kind, "linux", buffer=buffer), seed=_OTHER_SEED + number)
    question.scale, question.length = advice.effort.scale, advice.effort.length
    advised = advice.best.candidate
    with Simulator(question, 1) as simulator:
        race = Race(simulator)
        fixed = {ADVICE: advised, **_search(race, question, advised, advice.effort.controls)}
        best = max(race.results, key=lambda each: (len(race.results[each]), race.mean(each)))
        better = {name: race.difference(each, best).mean for name, each in fixed.items()}
    return {
        "network": number,
        "paths": len(paths),
        "traffic": kind,
        "metered": metered,
        "advised": advised.label,
        "best": best.label,
        "hops": advice.work_hops,
        "cpu_s": round(advised_s, 2),
        "scale": question.scale,
        "length": round(question.length, 4),
        "settings": len(race.results),
        "commit": source_state()[0],
        "regret": {name: round(1 - math.exp(each), 5) for name, each in better.items()},
        "against": {name: round(math.exp(better[ADVICE] - each) - 1, 5) for name, each in better.items()},
    }


def _search(
    race: Race, question: Question, advised: Candidate, controls: Sequence[str] | None
) -> Mapping[str, Candidate]:
    """Everything runs, the best more often; what the advice is compared with."""
    sets = [chosen for size in range(2, len(question.paths) + 1) for chosen in combinations(question.paths, size)]
    made = [each for members in sets for each in multipath(members, stock=True)]
    made += [*backups(question.paths, stock=True), *singles(question.paths, stock=True)]
    every, _ = prune(made, None, question.traffic.kind, marked=question.marked, controls=controls)
    race.extend([each for each in every if each.is_tcp], 1)
    dear = max(result[0].work_hops for result in race.results.values()) > _DEAR_HOPS
    scores = dict(zip(every, race.glance(every, _FIRST_PART if dear else 1.0), strict=True))

    def best_of(some: Sequence[Candidate], most: int) -> list[Candidate]:
        return sorted(some, key=lambda each: (-scores[each], each.plainness, each))[:most]

    plain = [each for each in every if each.is_tcp]
    defaults = [each for each in every if each.scheme[:2] == KERNEL_DEFAULT and not each.backup]
    second = list(dict.fromkeys([*best_of(every, 24), *best_of(plain, 4), *best_of(defaults, 4), advised]))
    race.extend(second, 3)
    nearest = question.specs
    order = tuple(spec.name for spec in sorted(nearest, key=lambda spec: (spec.rtt_s.low, spec.name)))
    everything = Candidate(*KERNEL_DEFAULT, order, (), True)
    third = [
        *race.ranked(second)[:6],
        *race.ranked([each for each in second if each.is_tcp])[:2],
        *race.ranked([each for each in second if each in defaults])[:2],
        everything,
        advised,
    ]
    race.extend(third, 8)
    fixed = {
        TCP: race.ranked([each for each in dict.fromkeys(third) if each.is_tcp])[0],
        ALL: everything,
        BEST_SET: race.ranked([each for each in dict.fromkeys(third) if each in defaults])[0],
    }
    race.extend([*race.ranked(list(dict.fromkeys(third)))[:3], *fixed.values(), advised], 24)
    return fixed


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table by number of paths, and one of traffic."""
    lines = [
        "| networks | cases | setting | median regret | p95 | largest | advice below it by > 3 % |",
        "|---" * 7 + "|",
    ]
    groups = {f"{n} paths": [row for row in rows if row["paths"] == n] for n in sorted({row["paths"] for row in rows})}
    groups |= {kind: [row for row in rows if row["traffic"] == kind] for kind in KINDS}
    for title, mine in {**groups, "all": list(rows)}.items():
        for name in mine[0]["regret"] if mine else ():
            regrets = [row["regret"][name] for row in mine]
            below = sum(row["against"][name] < _BELOW for row in mine)
            lines.append(
                f"| {title} | {len(mine)} | {name} | {percentile(regrets, 0.5):.1%} | {percentile(regrets, 0.95):.1%} "
                f"| {max(regrets):.1%} | {'' if name == ADVICE else below} |"
            )
    if rows:
        cpu = [row["cpu_s"] for row in rows]
        lines.append(f"\nCPU time of an answer: median {percentile(cpu, 0.5):.1f} s, largest {max(cpu):.1f} s.")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.advise_paths", description="Advice on three to five paths."
    )
    parser.add_argument("--networks", type=int, default=0, help="how many networks")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--two", action="store_true", help="the networks of two paths of studies.advise")
    parser.add_argument("--development", action="store_true", help="networks to look at while building")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no network after so much CPU time")
    parser.add_argument("--out", type=Path, default=Path("advise-paths.jsonl"), help="the file of results")
    given = parser.parse_args([] if arguments is None else arguments)
    done = {row["network"] for row in read(given.out)}
    kinds = list(KINDS)
    for number in range(given.first, given.first + given.networks):
        if time.process_time() > given.seconds:
            break
        if number not in done:
            kind = kinds[number % len(kinds)]
            append(given.out, case(number, kind, two=given.two, development=given.development))
    sys.stdout.write(f"{summary(read(given.out))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
