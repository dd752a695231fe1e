"""The SIGCOMM 2020 tutorial on multipath transport, parts 1 to 5, from its own files: its text beside what is found.

TUTORIAL is the folder `tutorial_files` of https://github.com/qdeconinck/sigcomm20_mptp_tutorial. Each pair of a
topology and an experiment is imported as `mptcplab import minitopo` does and runs on the engine sim. A rate or a delay
of the text holds if the one found is within 10 % of it, or of the ends of a range.
"""

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import mptcplab
import numpy as np
from mptcplab.results.result import Result
from mptcplab.scenario import Scenario, minitopo

from .runs import say, show

TOLERANCE: Final = 0.1
PHASES_S: Final = ((0, 10), (10, 20), (20, 30), (30, 40), (40, 50))
# Part 5: the rate of the Multipath TCP connection in each phase, as its text says.
PRINTED_MBPS: Final = (40.0, 30.0, 20.0, 30.0, 40.0)
# Its two TCP flows run in phases 2 and 3, and 3 and 4; each link has 20 Mbit/s.
FLOWS: Final = (("flow1", 10, 30), ("flow2", 20, 40))
LONG_S: Final = 600
STARTS_S: Final = (10.0, 10.3, 10.6, 10.9, 11.2)


def verdict(found: float, least: float, most: float) -> str:
    """Whether what is found is what the text says."""
    return "holds" if (1 - TOLERANCE) * least <= found <= (1 + TOLERANCE) * most else "differs"


class Tutorial:
    """Its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, part: str, topology: str, experiment: str) -> Result:
        """A pair of them, run."""
        place = self.folder / part
        text = minitopo.convert(place / topology, place / experiment)
        return mptcplab.run(Scenario.from_toml(text, f"{topology}, {experiment}"), "sim")

    def beside(self, part: str, topology: str, experiment: str, flow: str) -> list[float]:
        """Goodput of one TCP flow in Mbit/s, alone beside the multipath connection for LONG_S, for each start."""
        place = self.folder / part
        described = tomllib.loads(minitopo.convert(place / topology, place / experiment))
        connections = {name: of for name, of in described["connection"].items() if name in ("flow", flow)}
        del connections[flow]["stop"]
        found = []
        for start_s in STARTS_S:
            connections[flow]["start"] = f"{start_s} s"
            long = described | {"connection": connections, "duration": f"{start_s + LONG_S} s"}
            rows = mptcplab.run(Scenario.from_dict(long, experiment), "sim").connections
            found.append(rows.filter(rows["name"] == flow)["bytes_delivered"][0] * 8 / LONG_S / 1e6)
        return found

    def goodput(self, part: str, topology: str, experiment: str) -> float:
        """Of the whole connection, in Mbit/s."""
        return float(self.run(part, topology, experiment).connections["goodput_bps"].sum()) / 1e6


def mean_mbps(result: Result, connection: str, begin_s: float, end_s: float) -> float:
    """Mean goodput of a connection in a span of time."""
    table = result.samples
    times = table["time_s"]
    rows = table.filter((table["connection"] == connection) & (times > begin_s + 1e-6) & (times < end_s + 1e-6))
    per_time = rows.select("time_s", "goodput_bps").group_by("time_s", maintain_order=True).sum()["goodput_bps"]
    return float(per_time.to_numpy().mean()) / 1e6


def row(part: str, what: str, printed: str, found: str, judged: str) -> Mapping[str, str]:
    """A line of the table."""
    return {"part": part, "quantity": what, "the text": printed, "found": found, "verdict": judged}


def first_four(tutorial: Tutorial) -> Iterator[Mapping[str, str]]:
    """Parts 1 to 4."""
    tcp = tutorial.goodput("01_multipath", "topo", "xp_tcp")
    both = tutorial.goodput("01_multipath", "topo", "xp_mptcp")
    yield row("1", "TCP, Mbit/s", "19 to 20", f"{tcp:.1f}", verdict(tcp, 19, 20))
    yield row("1", "Multipath TCP over TCP", "2", f"{both / tcp:.2f}", verdict(both / tcp, 2, 2))
    for scheduler, name, printed, ends in (
        ("lowest RTT", "rtt", "40 to 50", (40, 50)),
        ("round robin", "rr", "around 90", (90, 90)),
    ):
        result = tutorial.run("02_scheduler/reqres", "topo", f"reqres_{name}")
        delay_ms = 1e3 * float(np.median(result.transfers["time_s"].to_numpy()))
        what = f"requests, {scheduler}, median in ms"
        yield row("2", what, printed, f"{delay_ms:.1f}", verdict(delay_ms, *ends))
    tcp_s = float(tutorial.run("02_scheduler/http", "topo", "http_tcp").connections["completion_s"][0])
    for scheduler, name in (("lowest RTT", "rtt"), ("round robin", "rr")):
        took_s = float(tutorial.run("02_scheduler/http", "topo", f"http_{name}").connections["completion_s"][0])
        yield row("2", f"10 MB, {scheduler}, time of TCP over its own", "not said", f"{tcp_s / took_s:.2f}", "")
    for topology, manager, count in (
        ("topo_single_path", "fullmesh", 1),
        ("topo_single_path", "ndiffports", 2),
        ("topo_two_client_paths", "fullmesh", 2),
        ("topo_two_client_paths", "ndiffports", 2),
        ("topo_two_client_paths", "default", 1),
        ("topo_two_client_paths_two_server_paths", "fullmesh", 4),
    ):
        result = tutorial.run("03_path_manager", topology, f"iperf_{manager}")
        subflows = result.subflows.height
        rate = float(result.connections["goodput_bps"][0]) / 1e6
        what = f"{topology}, {manager}: subflows"
        judged = "holds" if subflows == count else "differs"
        printed = str(count) if topology == "topo_single_path" else f"{count}, by its rules"
        yield row("3", what, printed, f"{subflows}, {rate:.1f} Mbit/s", judged)
    for topology, paths in (("topo", "both normal"), ("topo_bk", "one a backup")):
        result = tutorial.run("04_backup", topology, "reqres_rtt")
        longest_ms = 1e3 * float(result.transfers["time_s"].to_numpy().max())
        yield row("4", f"longest request, {paths}, ms", "not said", f"{longest_ms:.0f}", "")


def fifth(tutorial: Tutorial) -> Iterator[Mapping[str, str]]:
    """Part 5: who gets what."""
    for subflows in ("1sf", "4sf"):
        for control in ("reno", "olia"):
            result = tutorial.run("05_congestion_control", "topo_cong", f"iperf_scenario_{control}_{subflows}")
            name = f"{control}, {subflows[0]} subflow{'s' * (subflows != '1sf')} a link"
            for (begin_s, end_s), printed in zip(PHASES_S, PRINTED_MBPS, strict=True):
                found = mean_mbps(result, "flow", begin_s, end_s)
                said, judged = ("not said", "")
                if subflows == "1sf":
                    said, judged = (f"{printed:g}", verdict(found, printed, printed))
                yield row("5", f"{name}: {begin_s} to {end_s} s, Mbit/s", said, f"{found:.1f}", judged)
            for flow, begin_s, end_s in FLOWS:
                found = mean_mbps(result, flow, begin_s, end_s)
                said, judged = ("10", verdict(found, 10, 10)) if subflows == "1sf" else ("not said", "")
                yield row("5", f"{name}: TCP, {flow}, Mbit/s", said, f"{found:.1f}", judged)
    for control in ("reno", "olia"):
        for flow, _, _ in FLOWS:
            rates = tutorial.beside("05_congestion_control", "topo_cong", f"iperf_scenario_{control}_1sf", flow)
            what = f"{control}, 1 subflow a link: TCP, {flow} alone for {LONG_S} s, five starts, Mbit/s"
            yield row("5", what, "not said", f"{min(rates):.1f} to {max(rates):.1f}", "")


def main() -> None:
    """Run all pairs."""
    folder = os.environ.get("TUTORIAL")
    if folder is None or not (Path(folder) / "05_congestion_control").is_dir():
        sys.exit("needs TUTORIAL with the folder tutorial_files of the tutorial's repository")
    tutorial = Tutorial(Path(folder))
    lines: list[Mapping[str, str]] = []

    def judged() -> Iterator[Mapping[str, str]]:
        for each in (*first_four(tutorial), *fifth(tutorial)):
            lines.append(each)
            yield each

    show("The SIGCOMM 2020 tutorial from its own files", judged())
    verdicts = [line["verdict"] for line in lines]
    say(f"{verdicts.count('holds')} of {len(verdicts) - verdicts.count('')} statements hold within {TOLERANCE:.0%}.")
