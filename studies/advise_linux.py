"""Advice for a stock kernel, measured on the kernel: beside its default settings and TCP on the best path.

`python -m studies.advise_linux --engine linux --seeds 3 --out FILE` asks for advice (`--for linux`) on the
first networks of the study of advice, for downloads and for pages. Then the kernel carries the same traffic with what
was advised, with its default (CUBIC, its own scheduler, the first path drawn) and with TCP (CUBIC) on each path; the
simulator does too. The settings have the same links with the same losses. Ten networks share a run, each on links of
its own; a run that the engine calls INVALID is made again. FILE has a line for each value and what is in it is not
measured again; `--seeds 0` prints its tables. Where the advice is one of its rivals, such as TCP on the better path,
it is measured once, and what differs between two measurements of it is no gain.

`--three` takes networks of three paths instead (`three`); FILE must then be another.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import mptcplab
from mptcplab import bpf
from mptcplab.advice.advising import advise, ask
from mptcplab.advice.candidates import KERNEL_DEFAULT, Candidate
from mptcplab.advice.question import Question
from mptcplab.engines.catalogue import find
from mptcplab.scenario import Scenario, units

from studies.advise import network
from studies.advise_summary import append, percentile, read

from .runs import show

KINDS: Final = ("bulk", "web")
NETWORKS: Final = 20
AT_A_TIME: Final = 10
_BUDGET: Final = 0.5
_TRIES: Final = 3
ADVICE: Final = "advice"
DEFAULT: Final = "kernel default"
_BELOW: Final = -0.05
_T95: Final = {2: 6.314, 3: 2.920, 4: 2.353, 5: 2.132, 6: 2.015, 7: 1.943, 8: 1.895}
"""Student's t, one-sided 95 %, by the number of seeds."""


@dataclass(frozen=True)
class Case:
    """A network with a kind of traffic, and who carries it."""

    number: int
    kind: str
    question: Question
    settings: Mapping[str, Candidate]
    """By role: what was advised, the kernel's default, TCP on each path."""

    @property
    def twin(self) -> str | None:
        """The rival that has the same setting as the advice."""
        return next(
            (role for role, each in self.settings.items() if role != ADVICE and each == self.settings[ADVICE]), None
        )


def three(number: int) -> tuple[list[str], str, str]:
    """Three paths as those of two are drawn, every other one with loss, one useless in a third of the networks."""
    random = Random(f"advise linux three {number}")

    def drawn(low: float, high: float) -> float:
        return math.exp(random.uniform(math.log(low), math.log(high)))

    useless = random.choice("abc") if random.random() < 1 / 3 else ""
    paths = []
    for name in "abc":
        down, rtt_ms = round(drawn(2000, 50_000)), drawn(5, 120)
        loss = round(random.uniform(0, 1.5), 2) if random.random() < 0.5 else 0.0
        if name == useless:
            down, rtt_ms = round(drawn(500, 3000)), drawn(400, 800)
        words = [f"{down}/{max(500, down // 4)} kbit/s", f"{rtt_ms:.1f} ms", f"queue {drawn(20, 300):.0f} ms"]
        paths.append(f"{name}: {', '.join([*words, *([f'{loss} %'] if loss else [])])}")
    return paths, f"{round(drawn(256, 8000))} kB", random.choice("abc")


def case(
    number: int, kind: str, known: Sequence[Mapping[str, Any]], *, of_three: bool = False
) -> tuple[Case, dict[str, Any] | None]:
    """A case with its advice, and the line for it if it was not known already."""
    paths, buffer, first = (three if of_three else network)(number)
    question = ask(None, paths, kind, "linux", buffer=buffer)
    line = next((dict(row) for row in known if (row.get("advised_on"), row["traffic"]) == (number, kind)), None)
    new: dict[str, Any] | None = None
    if line is None:
        advised = advise(paths=paths, traffic=kind, purpose="linux", buffer=buffer, budget=_BUDGET).best.candidate
        line = new = {"advised_on": number, "traffic": kind, "label": advised.label, "candidate": astuple(advised)}
    congestion, scheduler, on, backup, stock = line["candidate"][:5]
    if backup is True:  # as it was noted while a setting had one member or none
        on, backup = on[:1], on[1:]
    order = (first, *(name for name in question.paths if name != first))
    settings = {
        ADVICE: Candidate(congestion, scheduler or "", tuple(on), tuple(backup or ()), stock),
        DEFAULT: Candidate(*KERNEL_DEFAULT, order, stock=True),
        **{f"TCP on {path}": Candidate("cubic", "", (path,), stock=True) for path in question.paths},
    }
    return Case(number, kind, question, settings), new


def scenario(cases: Sequence[Case], role: str) -> Scenario:
    """All cases in one scenario, each on links of its own; their names do not depend on the role, nor do losses."""
    links: dict[str, Any] = {}
    connections: dict[str, Any] = {}
    lasts_ns = 0
    for each in cases:
        table = each.question.scenario(each.settings[role]).to_dict()
        links |= {f"{name}{each.number}": link for name, link in table["link"].items()}
        (connection,) = table["connection"].values()
        connection["paths"] = [f"{name}{each.number}" for name in connection["paths"]]
        connections[f"m{each.number}"] = connection
        lasts_ns = max(lasts_ns, int(units.read(table["duration"], (units.TIME,))[1]))
    return Scenario.from_dict(
        {
            "duration": units.write(units.TIME, lasts_ns),
            "link": links,
            "connection": connections,
            "measure": {"sample": "never"},
        }
    )


def merits(rows: Sequence[Mapping[str, Any]], duration_s: float) -> dict[str, float]:
    """By connection: the goodput, or one over the mean time of pages; what did not end counts as long as the run."""
    found = {}
    for row in rows:
        times = row["transfer_times_s"]
        if times is None:
            found[row["name"]] = row["goodput_bps"]
        else:
            begun = max(1, row["transfers_begun"])
            found[row["name"]] = begun / (math.fsum(times) + (begun - len(times)) * duration_s)
    return found


def measure(cases: Sequence[Case], engine: str, seed: int, have: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """A line for each case and role that `have` lacks."""
    for kind in dict.fromkeys(each.kind for each in cases):
        mine = [each for each in cases if each.kind == kind]
        for begin in range(0, len(mine), AT_A_TIME):
            for role in mine[0].settings:
                batch = [
                    each
                    for each in mine[begin : begin + AT_A_TIME]
                    if (engine, kind, each.number, role, seed) not in have and (role != ADVICE or each.twin is None)
                ]
                if batch:
                    yield from _batch(batch, role, engine, seed)


def _batch(batch: Sequence[Case], role: str, engine: str, seed: int) -> Iterator[dict[str, Any]]:
    asked = scenario(batch, role)
    with ExitStack() as loaded:
        if find(engine).name == "linux":
            for control in sorted({each.settings[role].congestion for each in batch} & set(bpf.NAMES)):
                loaded.enter_context(bpf.registered(control))
        for _ in range(_TRIES):
            result = mptcplab.run(asked, engine, seed=seed)
            if not any("INVALID" in note for note in result.notes):
                break
            sys.stderr.write(f"{engine}, {role}, seed {seed}: {result.notes[0]}\n")
        else:
            return
    late = next((note for note in result.notes if "came late" in note), None)
    if find(engine).name == "linux" and late:
        sys.stderr.write(f"{batch[0].kind}, {role}, seed {seed}: {late}\n")
    found = merits(result.rows("connections"), asked.duration_ns / 1e9)
    for each in batch:
        yield {
            "engine": engine,
            "traffic": each.kind,
            "network": each.number,
            "role": role,
            "seed": seed,
            "merit": found[f"m{each.number}"],
        }


@dataclass(frozen=True)
class Gain:
    """What the advice gives more than another setting."""

    mean: float
    """Over the seeds, of the logarithm of the ratio."""
    margin: float
    """One-sided, 95 %."""

    @property
    def ratio(self) -> float:
        """Less 1."""
        return math.exp(self.mean) - 1

    @property
    def is_below(self) -> bool:
        """By more than what is allowed, on average."""
        return self.ratio < _BELOW

    @property
    def is_surely_below(self) -> bool:
        """And not only for the seeds that were drawn."""
        return math.exp(self.mean + self.margin) - 1 < _BELOW


def gain(values: Mapping[str, Mapping[int, float]], rival: str) -> Gain:
    """Of the advice over a rival, in the seeds that both have; `values` by role and seed."""
    mine, other = values[ADVICE], values[rival]
    logs = [math.log(mine[seed] / other[seed]) for seed in sorted(mine.keys() & other.keys())]
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Gain(mean, math.inf)
    deviation = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1))
    return Gain(mean, _T95.get(len(logs), 1.86) * deviation / math.sqrt(len(logs)))


def pooled(some: Mapping[int, float], others: Mapping[int, float]) -> dict[int, float]:
    """By seed, the geometric mean of what was measured for one setting."""
    seeds = sorted({*some, *others})
    measured = [[each[seed] for each in (some, others) if seed in each] for seed in seeds]
    return {seed: math.exp(math.fsum(map(math.log, v)) / len(v)) for seed, v in zip(seeds, measured, strict=True)}


def better_tcp(values: Mapping[str, Mapping[int, float]]) -> str:
    """The role of TCP on the better path, by the mean of logarithms."""
    return max(
        (role for role in values if role.startswith("TCP")),
        key=lambda role: math.fsum(map(math.log, values[role].values())) / len(values[role]),
    )


def gains(
    rows: Sequence[Mapping[str, Any]], engine: str, kind: str, *, of_three: bool = False
) -> dict[int, dict[str, Gain]]:
    """By network, over the kernel's default and over TCP on the best path."""
    table: dict[int, dict[str, dict[int, float]]] = {}
    for row in rows:
        if row.get("engine") == engine and row["traffic"] == kind:
            table.setdefault(row["network"], {}).setdefault(row["role"], {})[row["seed"]] = row["merit"]
    advised = {(row["advised_on"], row["traffic"]) for row in rows if "advised_on" in row}
    found = {}
    for number, values in sorted(table.items()):
        twin = case(number, kind, rows, of_three=of_three)[0].twin if (number, kind) in advised else None
        if twin in values:
            values[ADVICE] = values[twin] = pooled(values.get(ADVICE, {}), values[twin])
        if len(values) == 4 + of_three:
            found[number] = {DEFAULT: gain(values, DEFAULT), "TCP": gain(values, better_tcp(values))}
    return found


def tables(rows: Sequence[Mapping[str, Any]], engine: str, *, of_three: bool = False) -> None:
    """One of all, and one of networks."""
    summary = []
    for kind in KINDS:
        expected = gains(rows, "sim", kind, of_three=of_three)
        measured = gains(rows, engine, kind, of_three=of_three)
        labels = {row["advised_on"]: row["label"] for row in rows if "advised_on" in row and row["traffic"] == kind}
        if not measured:
            continue
        show(
            f"{kind}: {engine} (and sim), what the advice gives more",
            (
                {
                    "network": str(number),
                    "advice": labels[number],
                    **{
                        f"than {rival}": f"{each.ratio:+.1%} ({expected[number][rival].ratio:+.1%})"
                        for rival, each in both.items()
                    },
                }
                for number, both in measured.items()
            ),
        )
        for rival in (DEFAULT, "TCP"):
            here = [both[rival] for both in measured.values()]
            there = [expected[number][rival] for number in measured]
            summary.append(
                {
                    "traffic": kind,
                    "than": rival if rival == DEFAULT else "TCP on the best path",
                    "networks": str(len(here)),
                    "mean": f"{math.exp(math.fsum(each.mean for each in here) / len(here)) - 1:+.1%}",
                    "mean in sim": f"{math.exp(math.fsum(each.mean for each in there) / len(there)) - 1:+.1%}",
                    "median": f"{percentile([each.ratio for each in here], 0.5):+.1%}",
                    "worst": f"{min(each.ratio for each in here):+.1%}",
                    "below by > 5 %": str(sum(each.is_below for each in here)),
                    "for certain": str(sum(each.is_surely_below for each in here)),
                }
            )
    show(f"{engine}: the advice beside the kernel's default and TCP, geometric means over networks", iter(summary))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.advise_linux", description="Advice on the kernel.")
    parser.add_argument("--engine", default="linux", help="linux, or linux-virtual:KERNEL")
    parser.add_argument("--three", action="store_true", help="networks of three paths")
    parser.add_argument("--first", type=int, default=0, help="number of the first network")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="how many networks")
    parser.add_argument("--traffic", default=",".join(KINDS), help="kinds of traffic, with commas")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds")
    parser.add_argument("--out", type=Path, default=Path("advise-linux.jsonl"), help="the file of results")
    given = parser.parse_args(arguments)
    rows = read(given.out)
    cases = []
    for number in range(given.first, given.first + given.networks):
        for kind in given.traffic.split(","):
            one, line = case(number, kind, rows, of_three=given.three)
            cases.append(one)
            if line is not None:
                append(given.out, line)
    have = {
        tuple(row[key] for key in ("engine", "traffic", "network", "role", "seed")) for row in rows if "role" in row
    }
    for seed in range(1, given.seeds + 1):
        for engine in ("sim", given.engine):
            for line in measure(cases, engine, seed, have):
                append(given.out, line)
    tables(read(given.out), given.engine, of_three=given.three)


if __name__ == "__main__":
    main(sys.argv[1:])
