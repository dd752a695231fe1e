"""`mptcplab export --to netns`: ten scenarios as scripts, run without mptcplab, beside the engine linux.

Links have no delay, so that kernels without netem can run them: what counts is their rate and their queue. Both run in
real time on this machine's kernel, one after the other, and need root, iperf3 and mptcpize.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import mptcplab
from mptcplab.export import netns
from mptcplab.scenario import Scenario, describe

from .runs import show

SECONDS: Final = 8
_NETWORK: Final = """
duration = "{seconds} s"
[link.one]
rate = "10 Mbit/s"
delay = "0 ms"
queue = "60 ms"
[link.two]
rate = "5 Mbit/s"
delay = "0 ms"
queue = "40 packets"
[connection.m]
paths = ["one", "two"]
congestion = "reno"
[measure]
warmup = "2 s"
"""
_ENDPOINTS: Final = """
[[endpoint]]
host = "client"
path = "two"
flags = ["subflow"]
[[endpoint]]
host = "server"
path = "two"
[limits.client]
subflows = 4
add_addr_accepted = 1
[limits.server]
subflows = 4
"""
_TCP: Final = ('connection.m.paths=["one"]', "connection.m.protocol=tcp")
SCENARIOS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "TCP": ("", _TCP),
    "TCP, upload": ("", (*_TCP, "connection.m.direction=up")),
    "TCP, CUBIC": ("", (*_TCP, "connection.m.congestion=cubic")),
    "TCP, a receive buffer of 30 kB": ("", (*_TCP, "connection.m.receive_buffer=30 kB")),
    "TCP at 4 Mbit/s": ("", (*_TCP, 'connection.m.application={ kind = "rate", rate = "4 Mbit/s" }')),
    "three TCP connections": ("", (*_TCP, "connection.m.count=3")),
    "two paths": ("", ()),
    "two paths, upload": ("", ("connection.m.direction=up",)),
    "the second path as a backup": ("", ("connection.m.path_manager=backup",)),
    "endpoints at both hosts": (_ENDPOINTS, ("connection.m.path_manager=linux",)),
}


def of_script(scenario: Scenario) -> float:
    """The goodput in Mbit/s that the script prints, in all of its connections."""
    text = netns.script(describe.description(scenario.document, scenario.document.seed, False), scenario.title)
    with tempfile.TemporaryDirectory(prefix="mptcplab-export-") as name:
        file = Path(name) / "lab.sh"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(["sh", str(file)], capture_output=True, text=True, check=False, timeout=120)
    told = re.findall(r"connection m: ([\d.]+) Mbit/s", done.stdout)
    if done.returncode or not told:
        raise RuntimeError(f"the script ended with status {done.returncode}: {done.stderr}{done.stdout}")
    return sum(map(float, told))


def rows() -> Iterator[Mapping[str, str]]:
    """One for each scenario."""
    for name, (more, overrides) in SCENARIOS.items():
        scenario = Scenario.from_toml(_NETWORK.format(seconds=SECONDS) + more, name, overrides)
        script = of_script(scenario)
        engine = float(mptcplab.run(scenario, "linux").connections["goodput_bps"].sum()) / 1e6
        yield {
            "scenario": name,
            "script, Mbit/s": f"{script:.2f}",
            "engine linux, Mbit/s": f"{engine:.2f}",
            "difference": f"{100 * (script / engine - 1):+.1f} %",
        }


def main() -> None:
    """Run it."""
    show("Exported scripts beside the engine linux", rows())
