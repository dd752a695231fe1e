"""How good the default answer of advice is on networks of two to five paths: its regret to a search of all settings.

`python -m studies.advise_paths --networks 200 --search SEARCH --out FILE` draws networks of three to five paths that
were not looked at while the advice was built: rates of 2 Mbit/s to 2 Gbit/s, round trips of 5 to 120 ms, loss up to
1.5 % on every other path, queues of 20 to 300 ms, windows of 256 kB to 8 MB; a third has one useless path (far and
slow, or losing 30 to 50 %), a quarter one that is metered. Each carries one kind of traffic. `--two` takes the networks
of the study of two paths (`studies.advise`) instead, with the kind that is given by their number.

SEARCH has a line for each network with the best of all settings that a stock kernel has, found without the advice
(`search`); `--full` searches without short cuts, which shows what these lose. FILE has a line with what was advised and
what the search found, both on random numbers that neither saw: the best of hundreds of noisy means looks better in the
runs for which it was chosen than it is. What is there is not run again, so the study can be stopped and go on. Without
`--networks` it summarises FILE.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, Final

from mptcplab.advice.advising import advise, ask
from mptcplab.advice.candidates import KERNEL_DEFAULT, Candidate, backups, multipath, orders, singles
from mptcplab.advice.effort import BUDGET_HOPS, plan
from mptcplab.advice.prune import prune
from mptcplab.advice.question import Question
from mptcplab.advice.race import Difference, Race
from mptcplab.advice.simulation import OVERHEAD_HOPS, Simulator
from mptcplab.advice.subsets import Reach, bound, reaches, window_of
from mptcplab.advice.traffic import KINDS
from mptcplab.provenance import source_state

from .advise import network as two_paths
from .advise_summary import append, percentile, read

_OTHER_SEED: Final = 555_000_001
_BELOW: Final = -0.03
_SURELY: Final = math.log1p(_BELOW)
_ROUND_HOPS: Final = 8_000_000
"""What a round of the search may take: where whole runs take more, it sees their first part."""
_SMALLEST_PART: Final = 1 / 8
_PAIRS: Final = (8, 24)
"""How often the best, and what the advice is compared with, have run when they are chosen: more where it is cheap."""
_FRESH: Final = 5000
"""Where the pairs begin on which the advice is compared with them."""
_BLOCK: Final = 8
_MOST_FRESH: Final = 400
_FRESH_HOPS: Final = 10_000_000
_ENOUGH: Final = 0.01
"""These runs end when each difference is known to this, with 95 % confidence, or when they are many or dear."""
_CHEAP_HOPS: Final = 60_000
ADVICE: Final = "advice"
FOUND: Final = "the best found"
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


def asked(number: int, *, two: bool, development: bool, budget: float) -> tuple[dict[str, Any], Question]:
    """What the advice is asked about a network, and the same as a question with other random numbers."""
    kind = list(KINDS)[number % len(KINDS)]
    if two:
        paths, buffer, _ = two_paths(number, development=development)
        metered: list[str] = []
    else:
        paths, buffer, metered = network(number, development=development)
    question = replace(ask(None, paths, kind, "linux", buffer=buffer), seed=_OTHER_SEED + number)
    effort = plan(question, reaches(question), round(BUDGET_HOPS * budget))
    question.scale, question.length = effort.scale, effort.length
    return {"paths": paths, "traffic": kind, "buffer": buffer, "metered": metered, "budget": budget}, question


def search(
    number: int, *, two: bool = False, development: bool = False, budget: float = 1.0, full: bool = False
) -> dict[str, Any]:
    """The best of all settings of one network, and what the advice is compared with: a line of SEARCH."""
    _, question = asked(number, two=two, development=development, budget=budget)
    controls = plan(question, reaches(question), round(BUDGET_HOPS * budget)).controls
    began = time.process_time()
    with Simulator(question, 1) as simulator:
        race = Race(simulator)
        every = _every(question, controls)
        fixed = _searched(race, question, every, full=full)
        return {
            "network": number,
            "paths": len(question.paths),
            "traffic": question.traffic.kind,
            "scale": question.scale,
            "length": round(question.length, 4),
            "settings": len(every),
            "hops": simulator.work_hops,
            "cpu_s": round(time.process_time() - began, 2),
            "found": {name: each.label for name, each in fixed.items()},
            "candidates": {name: astuple(each) for name, each in fixed.items()},
        }


def _every(question: Question, controls: Sequence[str] | None) -> list[Candidate]:
    """All settings that a stock kernel has: every set of paths, every first path, one path with backups, TCP."""
    sets = [chosen for size in range(2, len(question.paths) + 1) for chosen in combinations(question.paths, size)]
    made = [each for members in sets for each in multipath(members, stock=True)]
    made += [*backups(question.paths, stock=True), *singles(question.paths, stock=True)]
    return prune(made, None, question.traffic.kind, marked=question.marked, controls=controls)[0]


def _searched(race: Race, question: Question, every: Sequence[Candidate], *, full: bool) -> dict[str, Candidate]:
    """By role, the best of all and what the advice is compared with, each with a number of `_PAIRS` of runs.

    In rounds, each with more runs of fewer settings. Where running all of them whole once takes too long, the first
    two rounds see a part of the run, and the first of them the settings that open on the nearest path; those of the
    better third come back with every other first path. `full`: all whole. Sets whose bound, a law, is below what TCP
    reached in each run are left out in any case.
    """
    known = reaches(question)
    assert known is not None
    race.extend([each for each in every if each.is_tcp], 2)
    reached = max(min(run.score for run in runs.values()) for runs in race.results.values())
    able = [each for each in every if _bound(question, known, each) >= reached]
    cost = max(run.work_hops for runs in race.results.values() for run in runs.values()) + OVERHEAD_HOPS
    scores: dict[Candidate, float] = {}

    def glance(some: Sequence[Candidate]) -> None:
        part = 1.0
        while not full and part > _SMALLEST_PART and len(some) * cost * part > _ROUND_HOPS:
            part /= 2
        scores.update(zip(some, race.glance(some, part), strict=True))

    if full or len(able) * cost <= _ROUND_HOPS:
        glance(able)
        left = able
    else:
        first = [each for each in able if len(each.paths) == 1 or each.paths[0] == _nearest(known, each.paths)]
        glance(first)
        better = sorted(first, key=lambda each: -scores[each])[: max(24, len(first) // 3)]
        left = [other for each in better for other in _openings(each)]
        scores.clear()  # parts of another length do not compare
        glance(left)
    plain = [each for each in every if each.is_tcp]
    defaults = [each for each in left if each.scheme[:2] == KERNEL_DEFAULT and not each.backup and len(each.paths) > 1]
    order = tuple(sorted(question.paths, key=lambda path: (known[path].rtt_s, path)))
    everything = Candidate(*KERNEL_DEFAULT, order, (), stock=True)
    if not defaults:
        defaults = [each for each in every if each.scheme[:2] == KERNEL_DEFAULT and not each.backup and not each.is_tcp]
        glance([each for each in defaults if each not in scores])

    def best_of(some: Sequence[Candidate], most: int) -> list[Candidate]:
        return sorted(some, key=lambda each: (-scores[each], each.plainness, each))[:most]

    beside = best_of(defaults, 3)
    field = list(dict.fromkeys([*best_of(left, 16), *race.ranked(plain)[:3], *beside]))
    race.extend(field, 2)
    field = [*race.ranked(field)[:6], *race.ranked(plain)[:2], *race.ranked(beside)[:2]]
    race.extend(field, 4)
    field = list(dict.fromkeys(field))
    fixed = {
        TCP: race.ranked([each for each in field if each.is_tcp])[0],
        ALL: everything,
        BEST_SET: race.ranked([each for each in field if each in beside])[0],
    }
    last = list(dict.fromkeys([*race.ranked(field)[:2], *fixed.values()]))
    race.extend(last, _PAIRS[cost < _CHEAP_HOPS])
    return {FOUND: race.ranked(last)[0], **fixed}


def _bound(question: Question, known: Mapping[str, Reach], candidate: Candidate) -> float:
    """What its score cannot exceed."""
    limit = bound(question, [known[path] for path in candidate.paths], window_of(question))
    return math.inf if limit is None else limit


def _nearest(known: Mapping[str, Reach], paths: Sequence[str]) -> str:
    return min(paths, key=lambda path: (known[path].rtt_s, path))


def _openings(candidate: Candidate) -> Iterator[Candidate]:
    """The same with each path as the first; one path, with backups or not, is itself alone."""
    if len(candidate.paths) == 1:
        yield candidate
        return
    for order in orders(candidate.paths):
        yield replace(candidate, paths=order)


def case(
    number: int,
    searched: Mapping[str, Any],
    *,
    two: bool = False,
    development: bool = False,
    budget: float = 1.0,
) -> dict[str, Any]:
    """What is advised on one network, beside what the search found: a line of FILE."""
    words, question = asked(number, two=two, development=development, budget=budget)
    began = time.process_time()
    advice = advise(**words, jobs=1)
    advised_s = time.process_time() - began
    advised = advice.best.candidate
    assert (advice.effort.scale, round(advice.effort.length, 4)) == (searched["scale"], searched["length"])
    fixed = {name: _candidate(each) for name, each in searched["candidates"].items()}
    with Simulator(question, 1) as simulator:
        race = Race(simulator, first_pair=_FRESH)
        known = _compared(race, advised, list(fixed.values()))
    against = {name: known[each] for name, each in fixed.items()}
    gains = {name: each.mean for name, each in against.items()}
    most = max(0.0, gains[FOUND])
    behind = {ADVICE: gains[FOUND] - most, **{name: gains[FOUND] - gains[name] - most for name in (TCP, ALL, BEST_SET)}}
    return {
        "network": number,
        "paths": len(question.paths),
        "traffic": question.traffic.kind,
        "metered": words["metered"],
        "advised": advised.label,
        "best": searched["found"][FOUND],
        "budget": budget,
        "hops": advice.work_hops,
        "cpu_s": round(advised_s, 2),
        "commit": source_state()[0],
        "regret": {name: round(1 - math.exp(each), 5) for name, each in behind.items()},
        "against": {ADVICE: 0.0, **{name: round(math.exp(gains[name]) - 1, 5) for name in (TCP, ALL, BEST_SET)}},
        "pairs": against[FOUND].pairs,
        "margin": {name: round(each.margin, 5) for name, each in against.items()},
    }


def _candidate(fields: Sequence[Any]) -> Candidate:
    congestion, scheduler, paths, backup, *others = fields
    return Candidate(congestion, scheduler, tuple(paths), tuple(backup), *others)


def _compared(race: Race, advised: Candidate, others: Sequence[Candidate]) -> dict[Candidate, Difference]:
    """How much better the advice is than each, on runs in which none was chosen."""
    runners = list(dict.fromkeys([advised, *others]))
    pairs = 0
    while True:
        pairs += _BLOCK
        race.extend(runners, pairs)
        found = {each: race.difference(advised, each) for each in others}
        each_hops = race.simulator.work_hops / pairs
        if (
            all(each.margin <= _ENOUGH for each in found.values())
            or pairs + _BLOCK > _MOST_FRESH
            or race.simulator.work_hops + _BLOCK * each_hops > _FRESH_HOPS
        ):
            return found


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table by number of paths, and one of traffic."""
    lines = [
        "| networks | cases | setting | median regret | p95 | largest | advice below it by > 3 % | for certain |",
        "|---" * 8 + "|",
    ]
    groups = {f"{n} paths": [row for row in rows if row["paths"] == n] for n in sorted({row["paths"] for row in rows})}
    groups |= {kind: [row for row in rows if row["traffic"] == kind] for kind in KINDS}
    for title, mine in {**groups, "all": list(rows)}.items():
        for name in mine[0]["regret"] if mine else ():
            regrets = [row["regret"][name] for row in mine]
            below = [row for row in mine if row["against"][name] < _BELOW]
            certain = sum(math.log1p(row["against"][name]) + row["margin"][name] < _SURELY for row in below)
            lines.append(
                f"| {title} | {len(mine)} | {name} | {percentile(regrets, 0.5):.1%} | {percentile(regrets, 0.95):.1%} "
                f"| {max(regrets):.1%} | {'' if name == ADVICE else len(below)} | {'' if name == ADVICE else certain} |"
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
    parser.add_argument("--budget", type=float, default=1.0, help="of the advice")
    parser.add_argument("--full", action="store_true", help="search without short cuts")
    parser.add_argument("--search", type=Path, default=Path("advise-search.jsonl"), help="the file of searches")
    parser.add_argument("--out", type=Path, help="the file of advice; without it, networks are searched only")
    given = parser.parse_args([] if arguments is None else arguments)
    which: dict[str, Any] = {"two": given.two, "development": given.development, "budget": given.budget}
    found = {row["network"]: row for row in read(given.search)}
    done = {row["network"] for row in read(given.out)} if given.out else set()
    for number in range(given.first, given.first + given.networks):
        if time.process_time() > given.seconds:
            break
        if number not in found:
            found[number] = search(number, full=given.full, **which)
            append(given.search, found[number])
        if given.out and number not in done:
            append(given.out, case(number, found[number], **which))
    if given.out:
        sys.stdout.write(f"{summary(read(given.out))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
