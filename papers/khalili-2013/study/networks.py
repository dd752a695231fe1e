"""The paper's networks as scenarios: scenarios/khalili-2013-{a,b,c}.toml with the numbers of a point put in.

The testbed's sessions last 120 s; here 30 s before them are left out. A quick run has 60 s after 20 s.
"""

import tomllib
from typing import Any, Final

from mptcplab import shipped
from mptcplab.reproduce import Context

N2: Final = 10
"""Single-path users, C2 = 1 Mbit/s each."""
USERS_B: Final = 15
"""Blue and as many Red users in scenario B."""
_START: Final = ["0 s", "5 s"]


def times(scenario: dict[str, Any], *, quick: bool) -> dict[str, Any]:
    """The scenario with its duration and warm-up."""
    warmup, seconds = (20, 60) if quick else (30, 120)
    return {**scenario, "duration": f"{warmup + seconds} s", "measure": {"warmup": f"{warmup} s", "sample": "never"}}


def _read(name: str) -> dict[str, Any]:
    file = shipped.scenario_file(f"khalili-2013-{name}")
    if file is None:
        raise FileNotFoundError(f"this installation lacks the scenario khalili-2013-{name}")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def as_ran(scenario: dict[str, Any], context: Context) -> dict[str, Any]:
    """A testbed's scenario with its kernel's TCP and forms of the controls, OLIA with the authors' least threshold;
    by the text alone, with the equations.
    """
    profile = context.machine["form"]
    if profile == "equations":
        return scenario
    connections = {name: {"profile": profile, **each} for name, each in scenario["connection"].items()}
    for each in connections.values():
        if each.get("congestion") == "olia":
            each["congestion"] = {"name": "olia", "min_ssthresh": 1}
    return {**scenario, "connection": connections}


def scenario_a(control: str, n1: int, c1: float, *, quick: bool, longer: bool = False) -> dict[str, Any]:
    """N1 users of type 1 with a server of N1·C1 Mbit/s; none at N1 = 0.

    All round trips are about 150 ms; `longer`: all propagation is alike, and the path with two queues is longer by one.
    """
    scenario = times(_read("a"), quick=quick)
    if longer:
        scenario["link"]["shared"]["delay"] = "40 ms"
        scenario["link"]["internet"]["delay"] = "20 ms"
    if n1 == 0:
        del scenario["connection"]["type1"]
        return scenario
    scenario["link"]["server"]["rate"] = f"{n1 * c1:g} Mbit/s"
    scenario["connection"]["type1"] |= {"congestion": control, "count": n1}
    return scenario


def scenario_c(control: str | dict[str, Any], n1: int, c1: float, *, quick: bool) -> dict[str, Any]:
    """N1 multipath users with an access point of N1·C1 Mbit/s of their own; none at N1 = 0."""
    scenario = times(_read("c"), quick=quick)
    if n1 == 0:
        del scenario["connection"]["multi"]
        return scenario
    scenario["link"]["ap1"]["rate"] = f"{n1 * c1:g} Mbit/s"
    scenario["connection"]["multi"] |= {"congestion": control, "count": n1}
    return scenario


def scenario_b(control: str | dict[str, str], *, upgraded: bool, quick: bool, longer: bool = True) -> dict[str, Any]:
    """C_X = 27 and C_T = 36 Mbit/s; Red users with TCP through Y and T, or upgraded to two paths.

    All propagation is alike, and the path with two queues is longer by one; not `longer`: its round trip is about
    150 ms too.
    """
    scenario = times(_read("b"), quick=quick)
    if not longer:
        scenario["link"]["near"]["delay"] = "5 ms"
    scenario["connection"]["blue"]["congestion"] = control
    if upgraded:
        scenario["connection"]["red"]["congestion"] = control
    else:
        red = {"paths": ["red-y"], "protocol": "tcp", "count": USERS_B, "start": _START}
        scenario["connection"]["red"] = red
    return scenario


def two_paths(control: str | dict[str, str], second: int, *, seconds: int) -> dict[str, Any]:
    """Figure 6: a flow on two bottlenecks of 10 Mbit/s, 5 TCP users on the first and `second` on the second."""
    red = {"kind": "red", "min": "30 ms", "max": "60 ms", "max_probability": 0.1, "limit": "360 ms", "weight": 0.0625}
    link = {"rate": "10 Mbit/s", "delay": "60 ms", "queue": red}
    start = ["0 s", "2 s"]
    multi = {"paths": ["one", "two"], "congestion": control, "start": start}
    single = {"protocol": "tcp", "start": start}
    return {
        "duration": f"{seconds + 30} s",
        "link": {"one": link, "two": link},
        "connection": {
            "multi": multi,
            "one": {"paths": ["one"], "count": 5, **single},
            "two": {"paths": ["two"], "count": second, **single},
        },
        "measure": {"warmup": "30 s", "sample": "100 ms"},
    }


_TREE: Final[dict[str, Any]] = {
    "kind": "fat-tree",
    "k": 8,
    "rate": "100 Mbit/s",
    "delay": "20 us",
    "queue": "100 packets",
}


def fat_tree(control: str, subflows: int, *, profile: str, host_queue: str, quick: bool) -> dict[str, Any]:
    """128 hosts, each sending to another without end: `control` over so many subflows, or `tcp`."""
    sender: dict[str, Any] = {"protocol": "tcp"} if control == "tcp" else {"congestion": control, "subflows": subflows}
    sender["profile"] = profile
    return {
        "duration": "3 s" if quick else "6 s",
        "topology": {**_TREE, "host_queue": host_queue},
        "traffic": {"kind": "permutation", "start": ["0 s", "200 ms"], **sender},
        "measure": {"warmup": "1 s" if quick else "3 s", "sample": "never"},
    }


TCPS: Final[dict[str, dict[str, Any]]] = {"htsim": {"profile": "htsim"}, "Linux": {}}
"""TCP as the paper's simulator has it, and as Linux has."""


def short_flows(control: str, tcp: str, *, host_queue: str, quick: bool) -> dict[str, Any]:
    """512 hosts in the same tree: a third send without end, the others 70 kB every 200 ms on average."""
    sender = {"protocol": "tcp"} if control == "tcp" else {"congestion": control, "subflows": 8}
    flows = {"kind": "flows", "size": "70 kB", "arrivals": {"distribution": "poisson", "rate": "5 /s"}}
    return {
        "duration": "2.5 s" if quick else "5 s",
        "topology": {**_TREE, "host_queue": host_queue, "hosts_per_edge": 16},
        "traffic": {
            "long": {"kind": "permutation", "share": "33.3 %", "start": ["0 s", "200 ms"], **sender, **TCPS[tcp]},
            "short": {"kind": "permutation", "protocol": "tcp", "application": flows, **TCPS[tcp]},
        },
        "measure": {"warmup": "1 s", "sample": "never"},
    }
