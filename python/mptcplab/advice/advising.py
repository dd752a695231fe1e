"""`advise`: from a question to its answer."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from mptcplab.advice import reasons
from mptcplab.advice.answer import BELOW, Advice, Recommendation, values_of
from mptcplab.advice.candidates import KERNEL_DEFAULT, Candidate, multipath, singles
from mptcplab.advice.commands import commands
from mptcplab.advice.errors import AdviceError
from mptcplab.advice.paths import check_buffer, known_path, read_cap, read_paths
from mptcplab.advice.play import Player
from mptcplab.advice.prune import UNMARKED, prune
from mptcplab.advice.question import Question, best_rates_bps, from_file, from_paths, with_traffic
from mptcplab.advice.race import BUDGET_HOPS, INDIFFERENT, Race
from mptcplab.advice.traffic import DOWNLOADS, KINDS, Traffic, of_kind
from mptcplab.scenario import Scenario
from mptcplab.scenario.errors import did_you_mean, show

PURPOSES: Final = ("any", "linux")
_SHOWN: Final = 3
"""The most settings that are recommended."""
_CONTRAST_RUNS: Final = 4
_THE_SAME: Final = 1e-5


def advise(
    scenario: "Scenario | str | os.PathLike[str] | None" = None,
    *,
    paths: Sequence[str] = (),
    traffic: str | None = None,
    purpose: str = "any",
    metered: Sequence[str] = (),
    caps: Sequence[str] = (),
    buffer: str | None = None,
    direction: str = "down",
    connection: str | None = None,
    seed: int = 1,
    jobs: int = 2,
    budget: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> Advice:
    """Recommend a congestion control, a scheduler and a first path, or TCP on one path, with reasons.

    The network is a `scenario` (or the name of its file), or a list of `paths` such as `"lte: 40/10 Mbit/s, 45 ms ± 30,
    0.5 %"`: name, rate to the client / from it, round-trip time, loss. `traffic` is `web`, `bulk`, `video`, `calls` or
    `mix`; for a scenario it is that of its connection unless given. `purpose` is `any`, or `linux` for what a stock
    kernel with our BPF programs can do. `metered` names paths that cost money; `caps` are contracts, `"lte: 20
    GB/month"`; `buffer` the receivers' largest buffer. `connection` is the one to advise on when the scenario has
    several. `budget` multiplies the work that goes into the answer, which for the same arguments is always the same,
    whatever `jobs` is. `progress` is called with the part that is done.

    Raises AdviceError, and ScenarioError for a scenario that is wrong.

    >>> import mptcplab
    >>> advice = mptcplab.advise(
    ...     paths=["fibre: 20/5 Mbit/s, 8 ms", "lte: 15/5 Mbit/s, 45 ms"], traffic="calls", budget=0.2
    ... )
    >>> advice.best_single_path.candidate.paths
    ('fibre',)
    """
    question = ask(scenario, paths, traffic, purpose, metered, caps, buffer, direction, connection, seed)
    if jobs < 1:
        raise AdviceError("jobs", str(jobs), "1 or more")
    if not 0 < budget <= 1000:
        raise AdviceError("budget", f"{budget:g}", "more than 0 and at most 1000")
    with Player(question, jobs) as player:
        race = Race(player, progress, round(BUDGET_HOPS * budget))
        return _answer(question, race)


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
) -> Question:
    """The question, checked. Raises AdviceError."""
    if (scenario is None) == (not paths):
        found = "neither a scenario file nor paths" if scenario is None else "both a scenario file and paths"
        raise AdviceError("the network", found, "a scenario file, or at least two --path")
    for name, value, known in (("--for", purpose, PURPOSES), ("--direction", direction, ("down", "up"))):
        if value not in known:
            raise AdviceError(name, show(value), " or ".join(known))
    if buffer is not None:
        check_buffer(buffer)
    if traffic is not None and traffic not in KINDS:
        raise AdviceError("--traffic", show(traffic), f"{', '.join(KINDS)}{did_you_mean(traffic, KINDS)}")
    if scenario is not None:
        question = _of_scenario(scenario, traffic, connection, purpose, seed, buffer)
    else:
        if connection is not None:
            raise AdviceError(f"--connection {connection}", "no scenario file", "it with a file that has connections")
        specs = read_paths(paths)
        asked = "mix" if traffic is None else traffic
        if direction == "up" and asked in DOWNLOADS:
            raise AdviceError("--direction up", f"the traffic {asked}, in which the client asks", "bulk")
        rates = [(spec.down_bps, spec.up_bps)[:: 1 if direction == "down" else -1] for spec in specs]
        kind = of_kind(asked, max((forth, back) for forth, back in rates))
        base = from_paths(specs, kind, direction, buffer)
        names = tuple(spec.name for spec in specs)
        question = Question(base, tuple(kind.applications), names, kind, purpose, seed, tuple(specs))
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
    if traffic is None:
        carried = Traffic("scenario", {name: {}}, loaded.duration_ns / 1e9)
        targets: tuple[str, ...] = (name,)
    else:
        if table.direction == "up" and traffic in DOWNLOADS:
            raise AdviceError("--traffic", f"{traffic} for {name}, which sends up", "bulk, or a download")
        carried = of_kind(traffic, best_rates_bps(loaded, paths, table.direction))
        targets = with_traffic(base, name, carried)
    return Question(base, targets, paths, carried, purpose, seed, source=loaded.source, connection=name)


def _answer(question: Question, race: Race) -> Advice:
    direction = next(iter(question.base["connection"].values())).get("direction", "down")
    plain = singles(question.paths, question.purpose)
    every = list(multipath(question.paths, question.purpose))
    traffic = question.traffic
    kept, left_out = prune(every, question.specs, traffic.kind, traffic.duration_s, direction, marked=question.marked)
    race.dropped.update(left_out)
    race.run(plain, kept, [each for each, why in left_out.items() if why != UNMARKED])
    remaining = race.confirm([each for each in race.results if not each.is_tcp and each not in race.dropped], plain)
    plain = [each for each in plain if each in race.results]
    single = _known_best(race, plain)
    safe = [each for each in remaining if _is_safe(race, each, single)]
    chosen = _apart(race, _preferred(race, question, safe))[:_SHOWN]
    others = _contrasts(question, chosen[0] if chosen else single, single, plain)
    race.extend(others, min(_CONTRAST_RUNS, len(race.results[single])))
    made = [
        _recommendation(race, question, each, single, plain, others if each == chosen[0] else ()) for each in chosen
    ]
    last = _recommendation(race, question, single, single, plain, () if chosen else [e for e in others if e.is_tcp])
    if not chosen:
        why = reasons.stay(race, question, single, remaining[0] if remaining else None)
        last = _with_reason(last, why)
    shown = {each.candidate for each in made} | {single}
    for each in remaining:
        if each not in shown and each not in safe:
            race.dropped[each] = "not better than TCP on the best path with 95 % confidence"
        elif each not in shown:
            race.dropped[each] = f"among the best, place {remaining.index(each) + 1}"
    for each in plain:
        if each != single:
            behind = 1 - math.exp(race.difference(each, single).mean)
            race.dropped[each] = f"{behind:.1%} below {single.label}"
    if race.progress is not None:
        race.progress(1.0)
    dropped = tuple(sorted(race.dropped.items(), key=lambda item: item[0].label))
    return Advice(question, tuple(made) or (last,), last, dropped, race.results, race.player.work_hops)


def _is_safe(race: Race, candidate: Candidate, single: Candidate) -> bool:
    """Whether it is better than TCP on the better path for certain, by so much that it matters."""
    found = race.difference(candidate, single)
    return found.pairs >= 2 and found.low >= 0 and found.mean >= INDIFFERENT


def _known_best(race: Race, plain: Sequence[Candidate]) -> Candidate:
    """The best of plain TCP; of those that are as good the best known."""
    first = race.ranked(plain)[0]
    as_good = [each for each in plain if race.difference(each, first).mean >= -INDIFFERENT / 2]
    return min(as_good, key=lambda each: (each.plainness, each.paths != first.paths, each))


def _apart(race: Race, ranked: Sequence[Candidate]) -> list[Candidate]:
    """Without those that do the same as one before them."""
    found: list[Candidate] = []
    for each in ranked:
        if all(abs(race.difference(each, other).mean) > _THE_SAME for other in found):
            found.append(each)
    return found


def _preferred(race: Race, question: Question, safe: list[Candidate]) -> list[Candidate]:
    """Best first; among those that are as good, the one that sends least over metered paths, then the best known."""
    paid = [*question.metered, *(cap.path for cap in question.caps)]
    if not safe:
        return safe
    margin = 2 * INDIFFERENT if paid else INDIFFERENT / 2
    as_good = [each for each in safe if race.difference(each, safe[0]).mean >= -margin]

    def cost(candidate: Candidate) -> float:
        return math.fsum(reasons.shares_of(race, question, candidate)[path] for path in paid)

    as_good.sort(key=lambda each: (round(cost(each), 2), each.plainness, safe.index(each)))
    return [*as_good, *(each for each in safe if each not in as_good)]


def _contrasts(question: Question, best: Candidate, single: Candidate, plain: Sequence[Candidate]) -> list[Candidate]:
    """What the best is set beside: the kernel's default, and itself with one choice changed."""
    stock = question.purpose == "linux"
    order = best.paths if not best.is_tcp else (single.paths[0], *(p for p in question.paths if p != single.paths[0]))
    found = [Candidate(*KERNEL_DEFAULT, order, stock=stock)]
    if not best.is_tcp:
        for first in question.paths:
            rest = (first, *(path for path in question.paths if path != first))
            found.append(Candidate(best.congestion, best.scheduler, rest, best.backup, stock))
        found.append(Candidate("cubic", best.scheduler, best.paths, best.backup, stock))
        if not stock:
            found.append(Candidate(best.congestion, "min-rtt", best.paths, best.backup, stock))
    else:
        found += [each for each in plain if each.congestion == single.congestion or each.paths == single.paths]
    return [each for each in dict.fromkeys(found) if each != best]


def _recommendation(
    race: Race,
    question: Question,
    candidate: Candidate,
    single: Candidate,
    plain: Sequence[Candidate],
    others: Sequence[Candidate],
) -> Recommendation:
    played = race.results[candidate]
    below = [
        played[pair].score < max(race.results[each][pair].score for each in plain) + BELOW
        for pair in played
        if all(pair in race.results[each] for each in plain)
    ]
    return Recommendation(
        candidate,
        settings(question, candidate),
        values_of(question.targets, [played[pair] for pair in sorted(played)]),
        race.difference(candidate, single),
        sum(below) / len(below) if below else 0.0,
        reasons.shares_of(race, question, candidate),
        reasons.queueing_of(race, question, candidate),
        reasons.mean(race, candidate, "waiting_s"),
        reasons.neighbours_of(race, question, candidate, single),
        tuple(reasons.sentences(race, question, candidate, single, [each for each in others if each in race.results])),
        commands(candidate),
    )


def settings(question: Question, candidate: Candidate) -> dict[str, object]:
    """As keys of the scenario."""
    keys = candidate.keys()
    options = {f"tcp.{option}": value for option, value in keys.pop("tcp", {}).items()}
    return {
        f"connection.{name}.{key}": value for name in question.targets for key, value in {**keys, **options}.items()
    }


def _with_reason(recommendation: Recommendation, why: str) -> Recommendation:
    return replace(recommendation, reasons=(why, *recommendation.reasons))
