"""Packets until the simulator and Linux in virtual time part: one path and two, without losses and with.

The networks are points of a WSP design: rates of 1 to 50 Mbit/s, RTTs of 10 to 200 ms, queues of 0.5 to 4 BDP and
random losses of 0 to 1 %. Each is run as drawn, with the same losses from the same seed on both sides, and once more
without any: no random loss, and a queue that the whole file fits in. Each transfer has a guest of its own. Its packets
are compared with the simulator's as hosts send them: sizes, sequence numbers, acknowledgments, windows, options, flags
but PSH, and times to a millisecond. A transfer that is the same to the end counts with all its packets. The simulator
sets PSH only at the end of what was written, the kernel also at the end of what leaves at once. How a connection is
closed is left out: the guest's programs close when the file is there, the simulator's sender after it has written.
BBR is run over one path.

Chance parts two runs where nanoseconds decide. So where a transfer parts, the simulator is run twice more with the
delays of all links 100 ns longer and shorter: if either parts from the simulator's own run no later, that transfer is
counted as parted by a tie. A guest adds about 60 ns to what it sends.

`python -m studies exact-held-out` does the same with other networks, by a seed that was fixed before anything was
mended. Nobody is to look at one of them alone: what was mended must be right there too.

`python -m studies exact-older` compares with Linux 6.1, which the simulator is told of (`kernel`).

What Linux sent is kept in `exact.guests/` where the study is started, so that only the simulator runs again, and an
interrupted study goes on. Variables choose: MPTCPLAB_KERNEL, MPTCPLAB_NETWORKS (the first so many of each kind),
MPTCPLAB_CONTROLS, MPTCPLAB_PATHS (1 or 2).
"""

import hashlib
import json
import os
import pickle
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path as File
from typing import Final

import mptcplab
import numpy as np
from mptcplab import kernels
from mptcplab.capture.divergence import Sent, parting, sent, unclosed, unpushed
from mptcplab.capture.settings import Capture
from mptcplab.designs import wsp
from mptcplab.engines import linux_virtual
from mptcplab.scenario import Scenario

from .engines import Path
from .runs import say, show

NETWORKS: Final = 32
SEED: Final = 1
HELD_OUT: Final = 16
HELD_OUT_SEED: Final = 20_251
"""Of the networks kept aside. It is not to be changed: they are to be new to whoever mends."""
CONTROLS: Final[Mapping[int, Sequence[str]]] = {
    1: ("reno", "cubic", "bbr"),
    2: ("reno", "cubic", "lia", "olia", "balia"),
}
"""By the number of paths."""
SIZES: Final[Mapping[int, Sequence[str]]] = {1: ("4 MB",), 2: ("512 kB", "4 MB")}
AS_LINUX: Final = frozenset({"reno", "cubic", "bbr"})
"""Controls that Linux has itself, of which our transport has its form. The coupled ones of a guest are the papers'."""
AS_LINUX_SENDS: Final = 'window_validation = "linux", tso = true, receiver = "linux", timers = "linux"'
"""Of TCP too, whose kernel's forms no scheduler implies."""
DURATION_S: Final = 120
DEEP: Final = "4000 packets"
"""A queue that a whole file fits in."""
DRAWS: Final = 24
"""Seeds of the simulator that are tried for BBR without losses, where they decide only in which of seven phases its
cycle begins: both sides draw that, and a guest's draw cannot be set."""
TIE_NS: Final = 100
"""By which a link's delay must not matter."""
KEPT: Final = "exact.guests"
OLDER: Final = "6.1"
"""The other kernel whose form the simulator has."""


@dataclass(frozen=True)
class Case:
    """A transfer over a network."""

    network: tuple[Path, ...]
    number: int
    """Of the network."""
    control: str
    size: str
    lossy: bool
    kernel: str = "6.12"
    """That the simulator is to send as."""

    def text(self, engine: str) -> str:
        """The scenario."""
        links = "".join(
            path.link(f"p{place}")
            if self.lossy
            else f'[link.p{place}]\nrate = "{path.rate_mbps:.3f} Mbit/s"\ndelay = "{path.rtt_ms / 2:.3f} ms"\n'
            f'queue = "{DEEP}"\n'
            for place, path in enumerate(self.network)
        )
        control = f'"{self.control}"'
        if engine == "sim" and self.control in AS_LINUX:
            control = f'{{ name = "{self.control}", variant = "linux" }}'
        kind = 'protocol = "tcp"' if len(self.network) == 1 else 'scheduler = "linux"'
        if engine == "sim":
            kind += f'\ntcp = {{ {AS_LINUX_SENDS}, kernel = "{self.kernel}" }}'
        names = ", ".join(f'"p{place}"' for place in range(len(self.network)))
        return (
            f'duration = "{DURATION_S} s"\n{links}[connection.c]\npaths = [{names}]\n{kind}\ncongestion = {control}\n'
            f'application = {{ kind = "file", size = "{self.size}" }}\n[measure]\nsample = "never"\n'
        )


@dataclass(frozen=True)
class Run:
    """What hosts sent, and when the file was there; NaN if never."""

    packets: Sequence[Sent]
    completion_s: float


@dataclass(frozen=True)
class Outcome:
    """One case on both sides."""

    case: Case
    alike: int
    """Packets until the first difference."""
    first: tuple[str, Sent | None, Sent | None] | None
    """What differs first and the packets of both; None where nothing does."""
    slower: float
    """By how much Linux takes longer; NaN where the file did not arrive on either side."""
    names: tuple[str, str] = ("sim", "Linux")
    """Of the two sides, for people."""
    tie: bool = False
    """Whether nanoseconds part the simulator from itself no later."""

    @property
    def cause(self) -> str:
        """What first differences have in common: what differs, who sends it and who is first."""
        if self.first is None:
            return "none"
        what, ours, theirs = self.first
        one, other = self.names
        if ours is None or theirs is None:
            return f"{what}: {other if ours is None else one} sends more"
        sends = "data" if ours.length or theirs.length else ours.flags
        if what == "the window":
            return f"the window: {one if ours.window > theirs.window else other} announces more"
        if what == "the length":
            return f"the length: {one if ours.length > theirs.length else other} sends more"
        return f"{what} of {sends}: {one if ours.time_ns <= theirs.time_ns else other} is first"


def networks(paths: int, count: int = NETWORKS, seed: int = SEED) -> list[tuple[Path, ...]]:
    """A WSP design in four dimensions a path."""

    def path(u: Sequence[float]) -> Path:
        return Path(1 + 49 * u[0], 10 + 190 * u[1], 0.5 + 3.5 * u[2], 0.01 * u[3])

    rows = wsp(count, 4 * paths, seed=seed).tolist()
    return [tuple(path(row[at : at + 4]) for at in range(0, 4 * paths, 4)) for row in rows]


def cases(
    paths: int, drawn: Sequence[tuple[Path, ...]], controls: Sequence[str], kernel: str = "6.12"
) -> Iterator[Case]:
    """All transfers over some networks."""
    chosen = [each for each in CONTROLS[paths] if each in controls]
    for lossy, control, size in product((False, True), chosen, SIZES[paths]):
        for number, network in enumerate(drawn):
            yield Case(network, number, control, size, lossy, kernel)


def shifted(text: str, by_ns: int) -> str:
    """The scenario with the delays of all links so much longer."""
    return re.sub(r'delay = "([\d.]+) ms"', lambda found: f'delay = "{float(found[1]) + by_ns / 1e6:.6f} ms"', text)


def run(case: Case, engine: str, seed: int = 1, shift_ns: int = 0) -> Run:
    """Run it, and read what its hosts sent."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-exact-") as place:
        scenario = Scenario.from_toml(shifted(case.text(engine), shift_ns), "<study>")
        result = mptcplab.run(scenario, engine, seed=seed, capture=Capture(File(place)))
        completion_s = result.connections["completion_s"][0]
        packets = sent(File(place), plain=True)
    return Run(packets, float("nan") if completion_s is None else completion_s)


def linux(case: Case, kernel: kernels.Kernel) -> Run:
    """What Linux sent: as it was kept, or run now."""
    engine = f"linux-virtual:{kernel.name}"
    text = case.text(engine)
    origin = linux_virtual.origin(Scenario.from_toml(text, "<study>"), kernel=kernel.name)
    key = hashlib.sha256(f"{json.dumps(origin)}\n{text}".encode()).hexdigest()[:24]
    file = File(KEPT) / f"{key}.pickle"
    if file.exists():
        packets, completion_s = pickle.loads(file.read_bytes())
        return Run(packets, completion_s)
    found = run(case, engine)
    file.parent.mkdir(exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_bytes(pickle.dumps((found.packets, found.completion_s)))
    partial.rename(file)
    return found


def compared(case: Case, ours: Run, theirs: Run) -> Outcome:
    """Where the two part."""
    packets, others = (unclosed(unpushed(each.packets)) for each in (ours, theirs))
    slower = theirs.completion_s / ours.completion_s - 1
    found = parting(packets, others)
    if found is None:
        return Outcome(case, len(packets), None, slower)
    return Outcome(case, found.number, (found.what, found.first, found.second), slower)


def outcome(case: Case, kernel: kernels.Kernel) -> Outcome:
    """Run a case on both sides."""
    theirs = linux(case, kernel)
    seed, ours = 1, run(case, "sim")
    found = compared(case, ours, theirs)
    for other in range(2, 1 + (DRAWS if case.control == "bbr" and not case.lossy else 1)):
        if found.first is None:
            break
        tried = run(case, "sim", other)
        if (drawn := compared(case, tried, theirs)).alike > found.alike:
            seed, ours, found = other, tried, drawn
    if found.first is None:
        return found
    moved = (run(case, "sim", seed, shift_ns) for shift_ns in (-TIE_NS, TIE_NS))
    return replace(found, tie=any(compared(case, ours, each).alike <= found.alike for each in moved))


def row(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Of transfers of one kind."""
    case = outcomes[0].case
    alike = np.array([each.alike for each in outcomes])
    apart = np.array([each.slower for each in outcomes])
    apart = apart[~np.isnan(apart)]
    parted = [each for each in outcomes if each.first is not None]
    return {
        "paths": str(len(case.network)),
        "losses": "as drawn" if case.lossy else "none",
        "control": case.control,
        "file": case.size,
        "networks": str(len(outcomes)),
        "packets until they part, median": f"{np.median(alike):,.0f}",
        "tenth percentile": f"{np.quantile(alike, 0.1):,.0f}",
        "the same to the end": f"{1 - len(parted) / len(outcomes):.0%}",
        "parted by a tie": f"{sum(each.tie for each in parted)} of {len(parted)}",
        "completion apart, median": f"{np.median(np.abs(apart)):.1%}" if len(apart) else "–",
        "p90": f"{np.quantile(np.abs(apart), 0.9):.1%}" if len(apart) else "–",
        "mean (bias)": f"{apart.mean():+.1%}" if len(apart) else "–",
    }


def causes(outcomes: Sequence[Outcome]) -> Iterator[dict[str, str]]:
    """A row for each kind of first difference, the most frequent first."""
    found: defaultdict[tuple[int, bool, str], list[int]] = defaultdict(list)
    for each in outcomes:
        if each.first is not None:
            found[len(each.case.network), each.case.lossy, each.cause].append(each.alike)
    for (paths, lossy, cause), alike in sorted(found.items(), key=lambda item: (item[0][0], item[0][1], -len(item[1]))):
        yield {
            "paths": str(paths),
            "losses": "as drawn" if lossy else "none",
            "first difference": cause,
            "transfers": str(len(alike)),
            "packets until there, median": f"{np.median(alike):,.0f}",
        }


def measured(count: int, seed: int, kernel: kernels.Kernel, called: str = "6.12") -> list[Outcome]:
    """All cases, those of one kind together; `called` as scenarios call the kernel."""
    count_chosen = int(os.environ.get("MPTCPLAB_NETWORKS", count))
    controls = os.environ.get("MPTCPLAB_CONTROLS", ",".join({*CONTROLS[1], *CONTROLS[2]})).split(",")
    found: list[Outcome] = []
    for paths in map(int, os.environ.get("MPTCPLAB_PATHS", "1,2").split(",")):
        chosen = list(cases(paths, networks(paths, count, seed)[:count_chosen], controls, called))
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for place, each in enumerate(pool.map(lambda case: outcome(case, kernel), chosen), 1):
                found.append(each)
                sys.stderr.write(f"\r{paths} path{'s' * (paths > 1)}: {place} of {len(chosen)}")
        sys.stderr.write("\n")
    return found


def tables(outcomes: Sequence[Outcome], which: str) -> None:
    """Print them."""
    kinds: defaultdict[tuple[int, bool, str, str], list[Outcome]] = defaultdict(list)
    for each in outcomes:
        kinds[len(each.case.network), each.case.lossy, each.case.control, each.case.size].append(each)
    show(f"Packets until the simulator and Linux part, {which}", map(row, kinds.values()))
    say("Linux against the simulator by the time a file takes (+: Linux is slower).")
    show(f"The first difference, {which}", causes(outcomes))


def main() -> None:
    """Print the tables of the grid."""
    tables(measured(NETWORKS, SEED, kernels.find(os.environ.get("MPTCPLAB_KERNEL"))), "grid")


def held_out() -> None:
    """Print the tables of the networks kept aside: no single one is shown."""
    kernel = kernels.find(os.environ.get("MPTCPLAB_KERNEL"))
    tables(measured(HELD_OUT, HELD_OUT_SEED, kernel), "held out")


def older() -> None:
    """Print the tables of the grid for another kernel, which the simulator is told of."""
    kernel = kernels.find(OLDER)
    tables(measured(NETWORKS, SEED, kernel, OLDER), f"Linux {kernel.version}")
