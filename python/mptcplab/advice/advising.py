"""`advise`: from a question to its answer."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from mptcplab.advice import reasons
from mptcplab.advice.answer import BELOW, Advice, Recommendation, values_of
from mptcplab.advice.asked import check
from mptcplab.advice.candidates import (
    KERNEL_DEFAULT,
    LINUX_CONTROLS,
    UNCOUPLED,
    Candidate,
    backups,
    multipath,
    orders,
    singles,
    with_window,
)
from mptcplab.advice.choose import AS_GOOD, WORTH_ANOTHER, best_of, known_best
from mptcplab.advice.commands import commands
from mptcplab.advice.costs import costs
from mptcplab.advice.effort import BUDGET_HOPS, SCALING, Effort, plan
from mptcplab.advice.errors import AdviceError
from mptcplab.advice.exploring import explore, nearest_first
from mptcplab.advice.paths import few_enough, known_path, read_buffer, read_cap, read_paths
from mptcplab.advice.prune import LATE, prune
from mptcplab.advice.question import Question, best_rates_bps, from_file, from_paths, with_traffic
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import OVERHEAD_HOPS, Simulator
from mptcplab.advice.subsets import Reach, reaches
from mptcplab.advice.traffic import DOWNLOADS, Traffic, of_kind
from mptcplab.advice.windows import wanted
from mptcplab.scenario import Scenario

_PARTS: Final[Mapping[str, tuple[float, float, float]]] = {
    "both": (0.08, 0.38, 0.54),
    "linux": (0.12, 0.5, 0.0),
    "any": (0.1, 0.0, 0.55),
}
"""Of the work, until when plain TCP, a stock kernel's settings and all others race; the rest is for the final runs."""
_SETS_PART: Final = 0.4
"""Of a race, what goes to finding the sets of paths."""
_SETS: Final = {True: 3, False: 2}
"""How many sets of paths race, on a stock kernel and freely."""
_GLANCE_S: Final = 1.0
"""What a first look at a setting has at least of a run: less than that shows how it starts on its first path."""
_CONTRAST_RUNS: Final = 4
_NEIGHBOUR_RUNS: Final = 6
"""How often those that differ from the leader by a path must be able to run."""
_CLIMBS: Final = 3
_OVER: Final = 1.1
"""Of the budget: what the runs for the reasons may reach."""


def advise(
    scenario: "Scenario | str | os.PathLike[str] | None" = None,
    *,
    paths: Sequence[str] = (),
    traffic: str | None = None,
    purpose: str = "both",
    prefer: str = "best",
    metered: Sequence[str] = (),
    caps: Sequence[str] = (),
    buffer: str | None = None,
    direction: str = "down",
    connection: str | None = None,
    seed: int = 1,
    jobs: int = 2,
    budget: float = 1.0,
    progress: Callable[[float], None] | None = None,
    estimate: Callable[[Effort], None] | None = None,
) -> Advice:
    """Recommend a congestion control, a scheduler and a first path, or TCP on one path, with reasons.

    The network is a `scenario` (or the name of its file), or a list of `paths` such as `"lte: 40/10 Mbit/s, 45 ms ± 30,
    0.5 %"`: name, rate to the client / from it, round-trip time, loss. `traffic` is `web`, `bulk`, `video`, `calls` or
    `mix`; for a scenario it is that of its connection unless given. `purpose` is `linux` for what a stock kernel with
    our BPF programs can do, `any` for every control and scheduler, or `both`, in which the kernel's answer comes first.
    `prefer` is what decides within 10 %: `survive`, `simple` or `fair`; `best` within 2 %. `metered` names paths that
    cost money; `caps` are contracts, `"lte: 20 GB/month"`; `buffer` the receivers' window. `connection` is the one to
    advise on when the scenario has several. `budget` multiplies the work that goes into the answer, which for the same
    arguments is always the same, whatever `jobs` is. `progress` is called with the part that is done, `estimate` once
    before, with what it will take.

    Raises AdviceError, and ScenarioError for a scenario that is wrong.

    >>> import mptcplab
    >>> advice = mptcplab.advise(
    ...     paths=["fibre: 20/5 Mbit/s, 8 ms", "lte: 15/5 Mbit/s, 45 ms"], traffic="calls", budget=0.2
    ... )
    >>> advice.best_single_path.candidate.paths
    ('fibre',)
    """
    question = ask(
        scenario, paths, traffic, purpose, metered, caps, buffer, direction, connection, seed, prefer, jobs, budget
    )
    effort = plan(question, reaches(question), round(BUDGET_HOPS * budget))
    question.scale, question.length = effort.scale, effort.length
    if estimate is not None:
        estimate(effort)
    with Simulator(question, jobs) as simulator:
        race = Race(simulator, progress, effort.budget_hops)
        race.smallest_part = min(1.0, max(1 / 8, _GLANCE_S / (effort.length * question.traffic.duration_s)))
        return _answer(question, race, effort)


def ask(
    scenario: "Scenario | str | os.PathLike[str] | None",
    paths: Sequence[str],
    traffic: str | None,
    purpose: str,
    metered: Sequence[str] = (),
    caps: Sequence[str] = (),
    buffer: str | None = None,
    direction: str = "down",
    connection: str | None = None,
    seed: int = 1,
    prefer: str = "best",
    jobs: int = 1,
    budget: float = 1.0,
) -> Question:
    """The question, checked. Raises AdviceError."""
    check(
        has_file=scenario is not None,
        paths=paths,
        traffic=traffic,
        purpose=purpose,
        prefer=prefer,
        metered=metered,
        caps=caps,
        buffer=buffer,
        direction=direction,
        connection=connection,
        jobs=jobs,
        budget=budget,
    )
    if direction == "both":
        raise AdviceError("direction", '"both"', "down, up, or a question for each")
    if buffer is not None:
        buffer = read_buffer(buffer)
    if scenario is not None:
        question = _of_scenario(scenario, traffic, connection, purpose, seed, buffer)
    else:
        specs = read_paths(paths)
        asked = "mix" if traffic is None else traffic
        rates = [(spec.down_bps, spec.up_bps)[:: 1 if direction == "down" else -1] for spec in specs]
        kind = of_kind(asked, max((forth, back) for forth, back in rates))
        base = from_paths(specs, kind, direction, buffer)
        names = tuple(spec.name for spec in specs)
        question = Question(base, tuple(kind.applications), names, kind, purpose, seed, tuple(specs))
    question.prefer = prefer
    question.metered = tuple(known_path(f"--metered {name}", name, question.paths) for name in metered)
    question.caps = tuple(read_cap(text, question.paths) for text in caps)
    question.check()
    return question


def _of_scenario(
    scenario: "Scenario | str | os.PathLike[str]",
    traffic: str | None,
    connection: str | None,
    purpose: str,
    seed: int,
    buffer: str | None,
) -> Question:
    loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(Path(scenario))
    base, name = from_file(loaded, connection, replaced=traffic is not None)
    if buffer is not None:
        base["connection"][name]["receive_buffer"] = buffer
    table = loaded.document.connections[name]
    paths = tuple(table.paths)
    few_enough(f"{loaded.source}: connection.{name}.paths", len(paths))
    if traffic is None:
        carried = Traffic("scenario", {name: {}}, loaded.duration_ns / 1e9, table.application.kind)
        targets: tuple[str, ...] = (name,)
    else:
        if table.direction == "up" and traffic in DOWNLOADS:
            raise AdviceError("--traffic", f"{traffic} for {name}, which sends up", "bulk, or a download")
        carried = of_kind(traffic, best_rates_bps(loaded, paths, table.direction))
        targets = with_traffic(base, name, carried)
    return Question(base, targets, paths, carried, purpose, seed, source=loaded.source, connection=name)


def _answer(question: Question, race: Race, effort: Effort) -> Advice:
    """Plain TCP first, then a race on the kernel's own settings, one on all others, and the best of all again."""
    known = reaches(question)
    window = wanted(question, known)
    shares = _PARTS[question.purpose]
    ends = [part * race.budget_hops for part in shares]
    plain = with_window(singles(question.paths, stock=question.purpose != "any"), window)
    if effort.scale > 1:
        plain = [each for each in plain if each.congestion in SCALING]
    race.singles(plain, ends[0])
    finalists: list[Candidate] = []
    if question.purpose != "any":
        finalists += _group(question, race, known, window, ends[1], stock=True, controls=effort.controls)
        finalists = list(dict.fromkeys([*finalists[:1], *_best_default(race), *finalists[1:]]))
    if question.purpose != "linux":
        others = _group(question, race, known, window, ends[2], stock=False, controls=effort.controls)
        finalists = list(dict.fromkeys([*finalists, *(_twins(others) if finalists else []), *others]))
    beside = _beside(question, race, known, window, finalists, plain)
    plain += [each for each in beside if each.is_tcp and each not in plain]
    race.confirm(_in_order(finalists, [each for each in beside if not each.is_tcp]), plain)
    plain = [each for each in plain if each in race.results]
    single = known_best(race, plain)
    pool = [each for each in race.results if each.stock or question.purpose == "any"]
    best, contrasts = _climbed(race, question, best_of(race, question, pool, plain), single, plain)
    chosen = [best]
    if question.purpose == "both":
        free = best_of(race, question, list(race.results), plain)
        found = race.difference(free, best)
        if not free.stock and found.mean > WORTH_ANOTHER and found.low > 0:
            chosen.append(free)
    return _told(question, race, effort, chosen, single, plain, contrasts)


def _best_default(race: Race) -> list[Candidate]:
    """The kernel's default over the paths that suit it best, of those that have run."""
    ran = [each for each in race.results if each.scheme == (*KERNEL_DEFAULT, True) and len(each.paths) > 1]
    most = max((len(race.results[each]) for each in ran), default=0)
    often = [each for each in ran if 2 * len(race.results[each]) >= most]
    return sorted(often, key=lambda each: (-race.mean(each), each.plainness, each))[:1]


def _twins(free: Sequence[Candidate]) -> list[Candidate]:
    """What a stock kernel has of the best free choice: its control over the same paths."""
    return [
        replace(each, scheduler="linux", stock=True)
        for each in free[:2]
        if each.congestion in LINUX_CONTROLS and len(each.paths) > 1
    ]


def _in_order(finalists: Sequence[Candidate], beside: Sequence[Candidate]) -> list[Candidate]:
    """The most needed first, as the last ones do not run where the work is too little for all."""
    stock, free = ([each for each in finalists if each.stock == kind] for kind in (True, False))
    return list(dict.fromkeys([*stock[:1], *beside[:1], *stock[1:2], *free[:1], *beside[1:], *stock[2:], *free[1:]]))


def _group(
    question: Question,
    race: Race,
    known: Mapping[str, Reach] | None,
    window: int,
    until: float,
    *,
    stock: bool,
    controls: Sequence[str] | None,
) -> list[Candidate]:
    """The best few of a stock kernel's settings, or of all others."""
    start = race.simulator.work_hops
    explored_hops = start + _SETS_PART * (until - start)
    sets = explore(race, question, known, window, explored_hops, stock=stock, most=_SETS[stock], controls=controls)
    every = [each for members in sets for each in multipath(members, stock=stock)]
    if stock or question.purpose == "any":
        order = nearest_first(question.paths, known)
        every += backups(order, stock=stock)
    made = with_window(every, window)
    kept, late = prune(made, known, question.traffic.kind, marked=question.marked, controls=controls)
    race.dropped.update(late)
    race.run(kept, [each for each, why in late.items() if why == LATE], until)
    return race.finalists(made)


def _beside(
    question: Question,
    race: Race,
    known: Mapping[str, Reach] | None,
    window: int,
    finalists: Sequence[Candidate],
    plain: Sequence[Candidate],
) -> list[Candidate]:
    """What the final runs have besides: one path with backups, the kernel's default, and small or cheap variants."""
    first = race.ranked(list(plain))[0]
    best = [each for each in finalists if each.stock][:1] or list(finalists[:1])
    stock = question.purpose != "any"
    order = nearest_first(question.paths, known)
    rest = tuple(path for path in order if path != first.paths[0])
    scheduler = "linux" if stock else "min-rtt"
    found = [Candidate(first.congestion, scheduler, first.paths, rest, stock, window)]
    for leader in best:
        left = tuple(path for path in order if path not in leader.used)
        if left and question.prefer == "survive" and not leader.is_tcp:
            found.append(replace(leader, backup=(*leader.backup, *left)))
        found += [each for name in question.paid for each in _cheaper(leader, name)]
        if len(leader.paths) > 1:
            found.append(replace(leader, congestion="cubic"))
            found += _neighbours(race, leader, left, len(finalists) + len(plain) + len(found))
    if window:
        # With the buffer that Linux has by default.
        found += [replace(each, window_bytes=0) for each in (*best, first, found[0])]
    return [each for each in dict.fromkeys(found) if each not in finalists and each not in plain]


def _neighbours(race: Race, leader: Candidate, left: Sequence[str], beside: int) -> list[Candidate]:
    """The same with a path more or less, as many as can run with the others often enough to tell."""
    found = [replace(leader, paths=(*leader.paths, path), backup=()) for path in left]
    if len(leader.paths) > 2:
        found += [replace(leader, paths=tuple(p for p in leader.paths if p != path)) for path in leader.paths]
    cost = max(result.work_hops for each in race.results.values() for result in each.values()) + OVERHEAD_HOPS
    room = int((race.budget_hops - race.simulator.work_hops) / cost / _NEIGHBOUR_RUNS) - beside
    return found[: max(0, room)]


def _cheaper(leader: Candidate, name: str) -> list[Candidate]:
    """The same with a path that costs money as backup."""
    if name not in leader.paths or len(leader.paths) < 2:
        return []
    members = tuple(path for path in leader.paths if path != name)
    return [replace(leader, paths=members, backup=(*leader.backup, name))]


def _climbed(
    race: Race, question: Question, best: Candidate, single: Candidate, plain: Sequence[Candidate]
) -> tuple[Candidate, list[Candidate]]:
    """The best beside those that differ from it by one choice, in the same runs: if one of them is better, that one.

    What the best is set beside, in any case.
    """
    others: list[Candidate] = []
    for turn in range(_CLIMBS):
        others = _contrasts(question, best, single, plain)
        left = race.budget_hops * _OVER - race.simulator.work_hops
        told = len(race.results[single])
        cost = sum(result.work_hops for result in race.results[best].values()) / len(race.results[best])
        missing = [each for each in others if each not in race.results]
        room = int(left / (cost + OVERHEAD_HOPS))
        dear = set(missing[max(1, room) :])
        others = [each for each in others if each not in dear]
        fits = int(room / max(1, len(missing) - len(dear)))
        if turn > 0 and fits < 1:
            break
        race.extend(others, max(1, min(fits, told)))
        able = [
            each
            for each in others
            if each.stock == best.stock and _is_told(race, each, best, min(told, _CONTRAST_RUNS))
        ]
        again = best_of(race, question, [best, *able], plain)
        if again == best:
            break
        best = again
    return best, others


def _is_told(race: Race, other: Candidate, best: Candidate, pairs: int) -> bool:
    """Whether it ran often enough beside the best for a difference to be no luck: the best of many looks too good."""
    found = race.difference(other, best)
    if len(race.results[other]) < max(2, pairs):
        return False
    return found.pairs == len(race.results[best]) or found.low > 0 or found.margin < AS_GOOD


def _told(
    question: Question,
    race: Race,
    effort: Effort,
    chosen: Sequence[Candidate],
    single: Candidate,
    plain: Sequence[Candidate],
    others: Sequence[Candidate],
) -> Advice:
    """The answer in words and numbers."""
    made = []
    for each in chosen:
        beside = others if each == chosen[0] else [chosen[0]]
        why = reasons.sentences(race, question, each, single, [one for one in beside if one in race.results])
        made.append(_recommendation(race, question, each, single, plain, why))
    last = made[0] if chosen[0] == single else _recommendation(race, question, single, single, plain, [])
    if chosen[0] == single:
        same = [each for each in race.results if each.stock == single.stock and len(each.paths) > 1]
        rivals = race.ranked([each for each in same if each not in others])
        stays = reasons.stay(race, question, single, rivals[0] if rivals else None)
        made[0] = last = replace(last, reasons=(stays, *reasons.standby(race, question, single), *last.reasons))
    shown = {*chosen, single}
    for each in race.results:
        if each not in shown:
            behind = 1 - math.exp(race.difference(each, chosen[0]).mean)
            if behind > 0:
                said = f"{behind:.1%} below"
            elif race.difference(each, chosen[0]).low < 0:
                said = f"{-behind:.1%} above, but not for certain,"
            else:
                said = f"{-behind:.1%} above, within what its advantages cost,"
            race.dropped[each] = f"{said} {chosen[0].label} in the final runs"
    for each in shown:
        race.dropped.pop(each, None)
    if race.progress is not None:
        race.progress(1.0)
    bought = costs(race, question, question.paid, chosen)
    dropped = tuple(sorted(race.dropped.items(), key=lambda item: item[0].label))
    return Advice(question, tuple(made), last, dropped, race.results, race.simulator.work_hops, bought, effort)


def _contrasts(question: Question, best: Candidate, single: Candidate, plain: Sequence[Candidate]) -> list[Candidate]:
    """What the best is set beside: the kernel's default, and itself with one choice changed."""
    order = (*best.paths, *(path for path in question.paths if path not in best.paths))
    found = [Candidate(*KERNEL_DEFAULT, order, (), best.stock, best.window_bytes)]
    if not best.is_tcp:
        left = [path for path in question.paths if path not in best.paths]
        found += [replace(best, paths=(*best.paths, path), backup=()) for path in left]
        if len(best.paths) > 1:
            found += [replace(best, paths=order) for order in orders(best.paths)]
            if len(best.paths) > 2:
                found += [replace(best, paths=tuple(p for p in best.paths if p != path)) for path in best.paths]
        found.append(replace(best, congestion="cubic"))
        if question.prefer == "fair" and best.congestion in UNCOUPLED:
            found.append(replace(best, congestion="lia"))
        if not best.stock:
            found.append(replace(best, scheduler="min-rtt"))
    else:
        found += [each for each in plain if each.congestion == single.congestion or each.paths == single.paths]
    if best.window_bytes:
        found.append(replace(best, window_bytes=0))
    return [each for each in dict.fromkeys(found) if each != best]


def _recommendation(
    race: Race,
    question: Question,
    candidate: Candidate,
    single: Candidate,
    plain: Sequence[Candidate],
    why: Sequence[str],
) -> Recommendation:
    results = race.results[candidate]
    below = [
        results[pair].score < max(race.results[each][pair].score for each in plain) + BELOW
        for pair in results
        if all(pair in race.results[each] for each in plain)
    ]
    return Recommendation(
        candidate,
        settings(question, candidate),
        values_of(question.targets, [results[pair] for pair in sorted(results)]),
        race.difference(candidate, single),
        sum(below) / len(below) if below else 0.0,
        reasons.shares_of(race, question, candidate),
        reasons.queueing_of(race, question, candidate),
        reasons.mean(race, candidate, "waiting_s"),
        reasons.neighbours_of(race, question, candidate, single),
        tuple(why),
        tuple(path for path in question.paths if path not in candidate.used),
        commands(candidate, question.paths),
    )


def settings(question: Question, candidate: Candidate) -> dict[str, object]:
    """As keys of the scenario."""
    keys = candidate.keys()
    options = {f"tcp.{option}": value for option, value in keys.pop("tcp", {}).items()}
    found: dict[str, object] = {
        f"connection.{name}.{key}": value for name in question.targets for key, value in {**keys, **options}.items()
    }
    return found | {f"link.{name}.metered.use": "backup" for name in question.first_links(candidate.marked_backups)}
