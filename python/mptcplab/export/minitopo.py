"""A scenario as the two files of Minitopo's second version: a topology and an experiment.

What is written is read again by `mptcplab.scenario.minitopo`; where that gives another scenario, Minitopo has no words
for something, and the export is refused with the keys that differ.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mptcplab import files
from mptcplab.scenario import Problem, Scenario, ScenarioError, describe, minitopo, units
from mptcplab.scenario.errors import show
from mptcplab.scenario.minitopo import experiment, topology

FILES: Final = ("topo", "xp")
_QUEUE_MS: Final = 1000.0 * topology.PACKET_BYTES * 8
_QUEUES_ALIKE: Final = 0.05
_NOT_COMPARED: Final = frozenset({"title", "seed", "measure", "duration"})
_ONE: Final = "one connection, over paths of one link each: Minitopo has a client and a server"


def written(scenario: Scenario) -> tuple[tuple[str, str], list[Problem]]:
    """The contents of both files, and everything in the scenario that they cannot say."""
    document, places = scenario.document, scenario.places()
    if len(document.connections) != 1:
        found = f"{len(document.connections)} kinds of connections"
        return ("", ""), [places.problem(("connection",), found, _ONE)]
    ((name, connection),) = document.connections.items()
    links = [document.path_links(path) for path in connection.paths]
    if document.topology is not None or any(len(each) != 1 for each in links) or len(set(links)) < len(links):
        return ("", ""), [places.problem(("connection", name, "paths"), show(list(connection.paths)), _ONE)]
    told = describe.description(document, document.seed, False)
    both = _topology(told, scenario.title), _experiment(told, document.duration_ns)
    asked = _renamed(scenario, name, [link for (link,) in links], told)
    problems = [
        places.problem(_original(key, name, links), found, expected) for key, found, expected in _lost(asked, both)
    ]
    return both, problems


def _topology(told: Mapping[str, Any], title: str) -> str:
    lines = [
        f"desc:{' '.join(title.split()) or 'scenario'}",
        "topoType:MultiIf",
        "leftSubnet:10.0.",
        "rightSubnet:10.1.",
    ]
    (connection,) = told["connections"]
    lines += [
        f"path_c2r_{number}:{','.join(_path(told['links'][told['paths'][path]['links'][0]]))}"
        for number, path in enumerate(connection["paths"])
    ]
    return "".join(f"{line}\n" for line in lines)


def _path(link: Mapping[str, Any]) -> list[str]:
    """Delay in ms, queue in packets, rate in Mbit/s, and the loss in % where there is one."""
    way = link["down"]
    delay_ms, rate_mbps = way["delay_ns"] / 1e6, way["rate_bps"] / 1e6
    product = math.ceil(rate_mbps * 1e6 / 8 * 2 * delay_ms / 1e3 / topology.PACKET_BYTES)
    queue_ms = max(1, round((_queue_bytes(way) - topology.PACKET_BYTES * product) * 8 / (rate_mbps * 1000)))
    packets = max(1, math.ceil(queue_ms * rate_mbps * 1024 * 1024 / _QUEUE_MS))
    loss = way["loss"].get("probability", 0.0)
    return [f"{delay_ms:g}", str(packets), f"{rate_mbps:g}", *([f"{100 * loss:g}"] if loss else [])]


def _queue_bytes(way: Mapping[str, Any]) -> int:
    """Of a queue that is a length only; 0 for another one."""
    limit = way["queue"].get("limit", {}) if way["queue"]["kind"] == "drop-tail" else {}
    return int(limit.get("bytes") or topology.PACKET_BYTES * limit.get("packets", 0))


def _experiment(told: Mapping[str, Any], duration_ns: int) -> str:
    (connection,) = told["connections"]
    application = connection["application"]
    keys: dict[str, object] = {}
    if application["kind"] == "file":
        keys |= {"xpType": "https", "file": "random", "file_size": application["size_bytes"] // 1024}
    elif application["kind"] == "ping":
        pause_s = application["interval_ns"] / 1e9
        requests = max(1, round((duration_ns / 1e9 - 1) / pause_s))
        keys |= {"xpType": "msg", "msgClientSleep": f"{pause_s:g}", "msgServerSleep": "0", "msgNbRequests": requests}
        keys["msgBytes"] = application["size_bytes"]
    else:
        keys |= {"xpType": "iperf", "iperfTime": f"{duration_ns / 1e9:g}", "iperfParallel": connection["count"]}
    keys["congctrl"] = connection["congestion"]["name"]
    keys["mptcpEnabled"] = int(connection["protocol"] == "mptcp")
    if connection["protocol"] == "mptcp":
        names = {ours: theirs for theirs, ours in experiment.SCHEDULERS.items()}
        keys["sched"] = names.get(connection["scheduler"]["name"], "default")
        keys["kpm"] = connection["path_manager"]["name"]
        if keys["kpm"] == "backup":
            del keys["kpm"]
            keys |= {f"backup_path_{number}": 1 for number in range(1, len(connection["paths"]))}
    if connection["receive_buffer_bytes"] is not None:
        size = 2 * connection["receive_buffer_bytes"]
        keys["rmem"] = f"{min(10240, size)} {size} {size}"
    return "".join(f"{key}:{value}\n" for key, value in keys.items())


def _renamed(scenario: Scenario, connection: str, links: Sequence[str], told: Mapping[str, Any]) -> dict[str, Any]:
    """The complete scenario with Minitopo's names and with queues in bytes."""
    data = tomllib.loads(scenario.to_toml())
    for link in told["links"]:
        table, size = data["link"][link["name"]], _queue_bytes(link["down"])
        if isinstance(table.get("queue"), str) and size:
            table["queue"] = f"{size} B"
    used = {link: f"c2r-{number}" for number, link in enumerate(links)}
    # A link that the connection does not use changes nothing.
    data["link"] = {used[link]: table for link, table in data["link"].items() if link in used}
    data["connection"] = {"flow": {**data["connection"][connection], "paths": list(used.values())}}
    data.pop("path", None)
    return data


def _original(key: tuple[str, ...], connection: str, links: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """A key of the renamed scenario as the file has it."""
    if key[:1] == ("link",) and len(key) > 1 and key[1].startswith("c2r-"):
        return ("link", links[int(key[1][4:])][0], *key[2:])
    return ("connection", connection, *key[2:]) if key[:2] == ("connection", "flow") else key


def _lost(asked: Mapping[str, Any], texts: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """What reads back differently: the key, what the scenario has, and what Minitopo would make of it."""
    with files.scratch("mptcplab-minitopo-") as scratch:
        places = [scratch / each for each in FILES]
        for place, text in zip(places, texts, strict=True):
            place.write_text(text, encoding="utf-8")
        try:
            again = Scenario.from_toml(minitopo.convert(*places))
        except ScenarioError as error:
            for problem in error.problems:
                yield ("connection", "flow"), problem.found, problem.expected
            return
    before, after = dict(_flat(asked)), dict(_flat(tomllib.loads(again.to_toml())))
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if key[0] not in _NOT_COMPARED and one != other and not _alike(key, one, other):
            have = "nothing" if other is None else show(other)
            yield key, "nothing" if one is None else show(one), f"{have}, which is what Minitopo has"


def _flat(value: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, each in value.items():
        if isinstance(each, dict):
            yield from _flat(each, (*before, key))
        else:
            yield (*before, key), each


def _alike(key: tuple[str, ...], one: object, other: object) -> bool:
    """Queues in bytes, which Minitopo has in whole milliseconds of the link."""
    if key[-1] != "queue" or not (isinstance(one, str) and isinstance(other, str)):
        return False
    try:
        sizes = [float(units.read(text, [units.SIZE])[1]) for text in (one, other)]
    except units.UnreadableError:
        return False
    return abs(sizes[0] - sizes[1]) <= _QUEUES_ALIKE * sizes[0]
