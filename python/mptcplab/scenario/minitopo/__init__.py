"""Minitopo's topology and experiment files as scenario files.

Minitopo (github.com/qdeconinck/minitopo) runs an experiment between two Mininet hosts over several paths. Both of its
files have one `key:value` a line. Keys without a counterpart in a scenario are errors, with their line; those that do
not change the network or its traffic (captures, ports, pings) are listed in a comment.
"""

from pathlib import Path
from typing import Any

import tomli_w

from mptcplab.scenario.errors import ScenarioError
from mptcplab.scenario.load import Scenario
from mptcplab.scenario.minitopo import topology as topologies
from mptcplab.scenario.minitopo.experiment import WITHOUT_EFFECT, Experiment
from mptcplab.scenario.minitopo.files import File


def convert(topology: Path, experiment: Path | None = None, *, duration: str = "60 s") -> str:
    """A scenario file for a topology and, where there is one, an experiment of Minitopo.

    `duration` is that of a scenario whose experiment does not say how long it takes. Raises ScenarioError with every
    line that is wrong or has no counterpart.
    """
    topo, xp = File.read(topology), File("" if experiment is None else str(experiment))
    if experiment is not None:
        xp = File.read(experiment)
    network = topologies.read(topo)
    traffic = Experiment(xp, topo, network)
    problems = [*topo.problems, *xp.problems]
    if problems:
        raise ScenarioError(problems)
    title = topo.get("desc", "").strip() or f"Minitopo's {topology.name}"
    data: dict[str, Any] = {"title": title}
    data["duration"] = duration if traffic.seconds is None else f"{traffic.seconds:g} s"
    data["link"] = network.links
    if traffic.paths:
        data["path"] = traffic.paths
    data["connection"] = traffic.connections
    if network.events:
        data["event"] = network.events
    Scenario.from_dict(data)  # what Minitopo takes and a scenario does not, such as an event after the end
    head = [f"Imported from Minitopo: {', '.join(Path(file.name).name for file in (topo, xp) if file.name)}."]
    ignored = [key for key in xp.values if key in WITHOUT_EFFECT]
    if ignored:
        head.append(f"Without a counterpart: {', '.join(ignored)}.")
    if network.events:
        head.append(f"Minitopo's netem has a clock that starts {topologies.BEFORE_TRAFFIC_S:g} s before the traffic.")
    return "".join(f"# {line}\n" for line in head) + "\n" + tomli_w.dumps(data)
