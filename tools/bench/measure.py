"""Runs the workloads: CPU time from the program itself, instructions from callgrind."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = Path("target/release/examples/bench")
RUNS = 3
"""The median of so many runs is taken, or of more, until they have taken `LEAST_S` together or are `MOST_RUNS`: a short
run says little on a machine that is not alone."""
LEAST_S = 5.0
MOST_RUNS = 25

WORKLOADS = {
    "w1": "two disjoint 100 Mbit/s paths, RTT 20 ms: 1 MPTCP/LIA over both and 10 TCP on each",
    "w2": "the same at 20 Mbit/s",
    "w3": "fat tree k=8, 128 hosts, permutation, LIA × 8",
    "w4": "fat tree k=16, 1 024 hosts, permutation, LIA × 8",
    "w3-htsim": "w3 with hosts as htsim has them: a long queue of their own, a first slow start to 100 segments",
    "w4-htsim": "w4 with such hosts",
    "w5": "dumbbell, 10 Reno, 100 Mbit/s, RTT 20 ms",
    "w6": "2 MB over Wi-Fi and LTE, each a run through the Python API",
    "w7": "10 000 Reno flows over one 10 Gbit/s link, RTT 100 ms",
    "w1-python": "W1 with Reno as a plug-in in Python beside the built-in Reno: the part of its speed",
    "jobs-run": "W6 on two threads beside one: how many times as fast by the wall",
    "jobs-sweep": "30 s over Wi-Fi and LTE, as runs of a sweep, in two processes beside one",
}
FROM_PYTHON = ("w6", "w1-python", "jobs-run", "jobs-sweep")
"""Those that go through the Python API."""
COUNTED_S = {"w1": 5.0, "w2": 25.0, "w3": 0.15, "w4": 0.02, "w3-htsim": 0.15, "w4-htsim": 0.02, "w5": 5.0, "w7": 1.2}
"""Virtual seconds that are run under callgrind, which is some fifty times slower."""
TRANSFERS = 10_000
"""Of W6."""
PLUGIN_S = 30
"""Virtual seconds of a run with a plug-in."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a workload gave; None where it has no such figure or the machine could not take it."""

    workload: str
    simulated_s_per_cpu_s: float | None
    ns_per_hop: float | None
    instructions_per_hop: float | None
    delivered_segments_per_s: float | None
    transfers_per_s: float | None
    peak_rss_mb: float
    packet_hops: int | None
    utilisation: float | None
    digest: str | None
    """Of the results: a change that keeps them keeps it."""
    two_jobs: float | None = None
    """How many times as fast two jobs are as one."""
    plugin_speed: float | None = None
    """How fast a run with a plug-in is, of the same run with the built-in algorithm."""


def build(root: Path = ROOT) -> Path:
    """The benchmark's program, built from the sources at `root`."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "simulator", "--example", "bench"]
    subprocess.run(command, cwd=root, check=True)
    return root / PROGRAM


def measure(name: str, program: Path, runs: int = RUNS) -> Measured:
    """One workload: `runs` of them in turn, the median by CPU time."""
    if name == "w6":
        return _transfers()
    if name == "w1-python":
        return _plugin()
    if name in FROM_PYTHON:
        return _two_jobs(name)
    taken = [_run(program, name) for _ in range(runs)]
    while sum(float(run["cpu_s"]) for run in taken) < LEAST_S and len(taken) < MOST_RUNS:
        taken.append(_run(program, name))
    taken.sort(key=lambda run: float(run["cpu_s"]))
    middle = taken[len(taken) // 2]
    cpu_s, hops = float(middle["cpu_s"]), int(middle["packet_hops"])
    return Measured(
        workload=name,
        simulated_s_per_cpu_s=float(middle["simulated_s"]) / cpu_s,
        ns_per_hop=cpu_s * 1e9 / hops,
        instructions_per_hop=instructions_per_hop(program, name, COUNTED_S[name]),
        delivered_segments_per_s=float(middle["segments_delivered"]) / cpu_s,
        transfers_per_s=None,
        peak_rss_mb=float(middle["peak_rss_bytes"]) / 1e6,
        packet_hops=hops,
        utilisation=float(middle["utilisation"]),
        digest=str(middle["digest"]),
    )


def peak_rss_bytes(program: Path, name: str, seconds: float) -> tuple[int, int]:
    """The most memory that a run has had, and how many data segments were sent and had not arrived at its end."""
    answer = _run(program, name, seconds)
    return int(answer["peak_rss_bytes"]), int(answer["data_segments_under_way"])


def _run(program: Path, name: str, seconds: float | None = None) -> dict[str, str]:
    command = [str(program), name] + ([] if seconds is None else [str(seconds)])
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    parsed: dict[str, str] = json.loads(answer.stdout)
    return parsed


def has_callgrind() -> bool:
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") is not None


def instructions_per_hop(program: Path, name: str, seconds: float) -> float | None:
    """Instructions a packet-hop, by callgrind: the difference of two runs, so that start-up does not count."""
    if not has_callgrind():
        return None
    (first, first_hops), (second, second_hops) = (_count(program, name, part * seconds) for part in (0.5, 1.0))
    return (second - first) / (second_hops - first_hops)


def _count(program: Path, name: str, seconds: float) -> tuple[int, int]:
    """Instructions and packet-hops of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), name, str(seconds)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", answer.stderr)
    if counted is None:
        raise RuntimeError(f"valgrind gave no count of instructions: {answer.stderr[-500:]}")
    return int(counted[1]), int(json.loads(answer.stdout)["packet_hops"])


def _transfers() -> Measured:
    """W6, in a process of its own."""
    taken = _from_python("tools.bench.transfers", str(TRANSFERS))
    return _only("w6", taken, transfers_per_s=taken["transfers"] / taken["cpu_s"])


def _plugin() -> Measured:
    """The plug-in and the built-in algorithm in turn, in a process of its own."""
    taken = _from_python("tools.bench.plugins", str(PLUGIN_S))
    measured = _only("w1-python", taken)
    speeds = {name: taken[name] for name in ("plugin_speed", "simulated_s_per_cpu_s")}
    return replace(measured, **speeds)


def _two_jobs(name: str) -> Measured:
    """One and two jobs in turn, in a process of its own."""
    taken = _from_python("tools.bench.jobs", name.removeprefix("jobs-"))
    if taken["cores"] < 2:
        sys.stderr.write(f"{name}: there is one core only, so two jobs cannot be quicker\n")
    return _only(name, taken, two_jobs=taken["two_jobs"])


def _from_python(module: str, argument: str) -> dict[str, Any]:
    command = [sys.executable, "-m", module, argument]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    parsed: dict[str, Any] = json.loads(answer.stdout)
    return parsed


def _only(
    name: str, taken: dict[str, Any], *, transfers_per_s: float | None = None, two_jobs: float | None = None
) -> Measured:
    return Measured(
        workload=name,
        simulated_s_per_cpu_s=None,
        ns_per_hop=None,
        instructions_per_hop=None,
        delivered_segments_per_s=None,
        transfers_per_s=transfers_per_s,
        peak_rss_mb=taken["peak_rss_bytes"] / 1e6,
        packet_hops=None,
        utilisation=None,
        digest=taken["digest"],
        two_jobs=two_jobs,
    )


def commit(root: Path = ROOT) -> str:
    """The commit of the sources at `root`, with -dirty when they differ from it."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def results_file(name: str) -> Path:
    """Where the results of a commit stand."""
    return ROOT / "target" / "bench" / f"{name}.json"


def store(name: str, measured: list[Measured]) -> Path:
    """Writes the results of a commit; those of workloads that were not run now stay."""
    path = results_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    known = load(name) if path.exists() else []
    rows = {row.workload: row for row in [*known, *measured]}
    ordered = [asdict(rows[workload]) for workload in sorted(rows)]
    path.write_text(json.dumps({"commit": name, "workloads": ordered}, indent=1) + "\n")
    return path


def load(name: str) -> list[Measured]:
    """The results of a commit."""
    return [Measured(**row) for row in json.loads(results_file(name).read_text())["workloads"]]
