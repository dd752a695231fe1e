"""Minitopo's topology and experiment files as scenario files.

Minitopo (github.com/qdeconinck/minitopo) runs an experiment between two Mininet hosts over several paths. Both of its
files have one `key:value` a line. Keys without a counterpart in a scenario are errors, with their line; those that do
not change the network or its traffic (captures, ports, pings) are listed in a comment.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import tomli_w

from mptcplab.scenario.errors import Problem, ScenarioError, did_you_mean, one_of, show
from mptcplab.scenario.load import Scenario

PACKET_BYTES: Final = 1500
"""What Minitopo takes for a packet where it computes a queue."""
_SCHEDULERS: Final = {
    "default": "min-rtt",
    "roundrobin": "round-robin",
    "redundant": "redundant",
    "blest": "blest",
    "ecf": "ecf",
}
_PATH_MANAGERS: Final = {name: name for name in ("default", "fullmesh", "ndiffports", "binder")}
_CONTROLS: Final = {name: name for name in ("reno", "cubic", "lia", "olia", "balia", "wvegas")}
_TOPOLOGY_KEYS: Final = ("desc", "topoType", "leftSubnet", "rightSubnet", "changeNetem", "serverPaths")
_WITHOUT_EFFECT: Final = (
    *("wmem", "autocork", "earlyRetrans", "expiration", "bufferAutotuning", "metric", "pingCount"),
    *("clientPcap", "serverPcap", "snaplen_pcap", "kpms", "upmc", "upms", "upmc_args", "upms_args"),
    *("ncServerPort", "ncClientPort", "priority_path_0", "priority_path_1"),
)
"""Keys of an experiment that say nothing a scenario has; they are listed above the scenario."""
_FILE_TRANSFERS: Final = ("http", "https", "sendfile")
_TYPES: Final = ("none", "ping", "iperf", *_FILE_TRANSFERS, "nc")
_EXPERIMENT_KEYS: Final = (
    *("xpType", "sched", "congctrl", "kpm", "kpmc", "mptcpEnabled", "rmem", "backup_path_0", "backup_path_1"),
    *("iperfTime", "iperfParallel", "file", "file_size", "ddIBS", "ddCount"),
    *_WITHOUT_EFFECT,
)
_PATH_KEY: Final = re.compile(r"path_(?:(?P<kind>[^_]+)_)?(?P<number>\d+)")
_NETEM_KEY: Final = re.compile(r"netemAt_(?:(?P<kind>[^_]+)_)?(?P<number>\d+)")
_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
T = TypeVar("T")


@dataclass
class _File:
    """A file of `key:value` lines: each key with its values and their lines."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    values: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "_File":
        file = cls(str(path))
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            file.problems.append(Problem(file.name, "", f"nothing readable ({error})", "a file of Minitopo"))
            lines = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            key, colon, value = line.strip().partition(":")
            if not colon:
                file.problems.append(Problem(file.name, "", show(line.strip()), "key:value", number))
            else:
                file.values.setdefault(key, []).append((value, number))
        return file

    def report(self, key: str, found: str, expected: str, line: int | None = None) -> None:
        if line is None and key in self.values:
            line = self.values[key][-1][1]
        self.problems.append(Problem(self.name, key, found, expected, line))

    def get(self, key: str, default: str) -> str:
        values = self.values.get(key, [(default, 0)])
        if len(values) > 1:
            self.report(key, f"{len(values)} values", "one")
        return values[-1][0]

    def choose(self, key: str, default: str, known: Mapping[str, T]) -> T:
        value = self.get(key, default)
        if value not in known:
            self.report(key, show(value), f"{one_of(list(known))}{did_you_mean(value, known)}")
            return known[default]
        return known[value]

    def number(self, key: str, text: str, convert: Callable[[str], float], least: float, what: str) -> float:
        try:
            value = convert(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            self.report(key, show(text), what)
            return max(least, 1)
        return value

    def unknown(self, known: Callable[[str], bool], names: tuple[str, ...]) -> None:
        for key in self.values:
            if not known(key):
                self.report(key, "an unknown key", f"{one_of(names)}{did_you_mean(key, names)}")


def convert(topology: Path, experiment: Path | None = None, *, duration: str = "60 s") -> str:
    """A scenario file for a topology and, where there is one, an experiment of Minitopo.

    `duration` is that of a scenario whose experiment does not say how long it takes. Raises ScenarioError with every
    line that is wrong or has no counterpart.
    """
    topo, xp = _File.read(topology), _File("" if experiment is None else str(experiment))
    if experiment is not None:
        xp = _File.read(experiment)
    links, backups = _links(topo)
    events = _events(topo, links)
    download, seconds = _connection(xp, topo, links, backups)
    problems = [*topo.problems, *xp.problems]
    if problems:
        raise ScenarioError(problems)
    title = topo.get("desc", "").strip() or f"Minitopo's {topology.name}"
    data: dict[str, Any] = {"title": title, "duration": duration if seconds is None else f"{seconds:g} s"}
    data |= {"link": links, "connection": {"flow": download}}
    if events:
        data["event"] = events
    Scenario.from_dict(data)  # what Minitopo takes and a scenario does not, such as an event after the end
    head = [f"Imported from Minitopo: {', '.join(Path(file.name).name for file in (topo, xp) if file.name)}."]
    ignored = [key for key in xp.values if key in _WITHOUT_EFFECT]
    if ignored:
        head.append(f"Without a counterpart: {', '.join(ignored)}.")
    return "".join(f"# {line}\n" for line in head) + "\n" + tomli_w.dumps(data)


def _name(match: re.Match[str]) -> str:
    return f"{match['kind']}-{match['number']}" if match["kind"] else f"path-{match['number']}"


def _links(topo: _File) -> tuple[dict[str, Any], list[bool]]:
    topo.choose("topoType", "MultiIf", {"MultiIf": None})
    topo.choose("serverPaths", "1", {"1": None})
    topo.unknown(
        lambda key: key in _TOPOLOGY_KEYS or bool(_PATH_KEY.fullmatch(key) or _NETEM_KEY.fullmatch(key)),
        ("path_c2r_0", "netemAt_c2r_0", *_TOPOLOGY_KEYS),
    )
    links: dict[str, Any] = {}
    backups: list[bool] = []
    for key in sorted(topo.values):
        if match := _PATH_KEY.fullmatch(key):
            links[_name(match)], backup = _link(topo, key)
            backups.append(backup)
    if not links:
        topo.report("", "no path", "at least one, such as path_c2r_0:10,20,5")
    return links, backups


def _link(topo: _File, key: str) -> tuple[dict[str, Any], bool]:
    parts = [part.strip() for part in topo.get(key, "").split(",")]
    if not 2 <= len(parts) <= 5:
        expected = "delay in ms, queue in packets, Mbit/s, loss in %, backup (0 or 1); or delay,Mbit/s"
        topo.report(key, show(",".join(parts)), expected)
        return {}, False
    delay = topo.number(key, parts[0], float, 0, "a delay in ms")
    rate = topo.number(key, parts[2] if len(parts) > 2 else parts[1], float, 1e-6, "a rate in Mbit/s")
    if len(parts) > 2:
        packets = topo.number(key, parts[1], int, 1, "a queue of at least 1 packet")
    else:
        packets = max(1, math.ceil(rate * 1e6 / 8 * 2 * delay / 1e3 / PACKET_BYTES))
    link: dict[str, Any] = {"rate": f"{rate:g} Mbit/s", "delay": f"{delay:g} ms", "queue": f"{packets:g} packets"}
    if len(parts) > 3 and (loss := topo.number(key, parts[3], float, 0, "a loss in %")):
        link["loss"] = f"{loss:g} %"
    backup = len(parts) > 4 and bool(topo.number(key, parts[4], int, 0, "0, or 1 for a backup"))
    return link, backup


def _events(topo: _File, links: Mapping[str, Any]) -> list[dict[str, Any]]:
    events: list[tuple[float, dict[str, Any]]] = []
    if not topo.choose("changeNetem", "false", {"yes": True, "no": False, "false": False}):
        return []
    for key in sorted(topo.values):
        match = _NETEM_KEY.fullmatch(key)
        if match is None:
            continue
        if _name(match) not in links:
            topo.report(key, "no such path", one_of([f"netemAt_{name.replace('-', '_')}" for name in links]))
            continue
        dead = False
        for value, line in topo.values[key]:
            at, _, command = value.partition(",")
            told = re.fullmatch(r"(?:loss (?P<loss>[\d.]+) ?%?)? ?(?:delay (?P<delay>[\d.]+) ?ms)?", command.strip())
            if not re.fullmatch(r"\d+(\.\d+)?", at.strip()) or told is None or not told[0]:
                topo.report(key, show(value), "seconds,netem: 5,loss 1% or 5,delay 20ms", line)
                continue
            change: dict[str, Any] = {}
            if told["loss"] is not None:
                loss = float(told["loss"])
                if loss >= 100 or dead:
                    dead = loss >= 100
                    change["down"] = dead
                if not dead:
                    change["loss"] = f"{loss:g} %"
            if told["delay"] is not None:
                change["delay"] = f"{float(told['delay']):g} ms"
            events.append((float(at), {"at": f"{float(at):g} s", "link": _name(match), "set": change}))
    return [event for _, event in sorted(events, key=lambda each: each[0])]


def _connection(
    xp: _File, topo: _File, links: Mapping[str, Any], backups: list[bool]
) -> tuple[dict[str, Any], float | None]:
    """The connection, and for how many seconds it lasts where the experiment says so."""
    xp.unknown(_EXPERIMENT_KEYS.__contains__, _EXPERIMENT_KEYS)
    multipath = xp.choose("mptcpEnabled", "1", {"1": True, "0": False})
    control = xp.choose("congctrl", "olia", _CONTROLS)
    scheduler = xp.choose("sched", "default", _SCHEDULERS)
    manager_key = "kpmc" if "kpmc" in xp.values else "kpm"
    manager = xp.choose(manager_key, "fullmesh", _PATH_MANAGERS)
    for number in (0, 1):
        if xp.choose(f"backup_path_{number}", "0", {"0": False, "1": True}) and number < len(backups):
            backups[number] = True
    names = list(links)
    flow: dict[str, Any] = {"paths": names[:1]}
    if multipath:
        if any(backups):
            if backups.count(False) != 1:
                found = f"{backups.count(True)} backups of {len(backups)} paths"
                topo.report("", found, "all paths but one as backups, which is what the path manager backup does")
            names.sort(key=lambda name: backups[list(links).index(name)])
            manager = "backup"
        flow |= {"paths": names, "congestion": control, "scheduler": scheduler, "path_manager": manager}
    else:
        flow |= {"protocol": "tcp", "congestion": control if control in ("reno", "cubic") else "reno"}
    rmem = xp.get("rmem", "10240 87380 16777216").split()
    if len(rmem) != 3 or not all(each.isdecimal() for each in rmem):
        xp.report("rmem", show(" ".join(rmem)), "three sizes in bytes: minimum, default and maximum")
    elif rmem[1] == rmem[2]:
        flow["receive_buffer"] = f"{rmem[2]} B"
    return _traffic(xp, flow)


def _traffic(xp: _File, flow: dict[str, Any]) -> tuple[dict[str, Any], float | None]:
    kind = xp.choose("xpType", "none", {name: name for name in _TYPES})
    if kind == "iperf":
        count = xp.number("iperfParallel", xp.get("iperfParallel", "1"), int, 1, "how many connections")
        seconds = xp.number("iperfTime", xp.get("iperfTime", "10"), float, 1e-3, "a time in s")
        if count > 1:
            flow["count"] = int(count)
        return flow | {"direction": "up"}, seconds
    if kind in _FILE_TRANSFERS:
        xp.choose("file", "random", {"random": None})
        kilobytes = xp.number("file_size", xp.get("file_size", "1024"), int, 1, "a size in KB")
        flow["application"] = {"kind": "file", "size": f"{int(kilobytes) * 1024} B"}
    elif kind == "nc":
        block = re.fullmatch(r"(\d+)([kmg]?)", xp.get("ddIBS", "1k").lower())
        if block is None or int(block[1]) == 0:
            xp.report("ddIBS", show(xp.get("ddIBS", "1k")), "a size such as 1k")
            return flow, None
        blocks = xp.number("ddCount", xp.get("ddCount", "5000"), int, 1, "how many blocks")
        flow["application"] = {"kind": "file", "size": f"{int(blocks) * int(block[1]) * _UNITS[block[2]]} B"}
    return flow, None
