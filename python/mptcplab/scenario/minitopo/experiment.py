"""Minitopo's experiment files: the connections of a topology and what they carry."""

import re
from typing import Any, Final

from mptcplab.scenario.errors import show
from mptcplab.scenario.minitopo.files import File
from mptcplab.scenario.minitopo.topology import MULTI_CLIENT, Topology

SCHEDULERS: Final = {
    "default": "min-rtt",
    "roundrobin": "round-robin",
    "redundant": "redundant",
    "blest": "blest",
    "ecf": "ecf",
}
_PATH_MANAGERS: Final = {name: name for name in ("default", "fullmesh", "ndiffports", "binder")}
_CONTROLS: Final = {name: name for name in ("reno", "cubic", "lia", "olia", "balia", "wvegas")}
WITHOUT_EFFECT: Final = (
    *("wmem", "autocork", "earlyRetrans", "expiration", "bufferAutotuning", "metric", "pingCount"),
    *("clientPcap", "serverPcap", "snaplen_pcap", "snaplenPcap", "kpms", "upmc", "upms", "upmc_args", "upms_args"),
    *("ncServerPort", "ncClientPort", "priority_path_0", "priority_path_1"),
)
"""Keys of an experiment that say nothing a scenario has; they are listed above the scenario."""
_FILE_TRANSFERS: Final = ("http", "https", "sendfile")
_SCENARIO: Final = "iperfScenario"
_TYPES: Final = ("none", "ping", "iperf", _SCENARIO, "msg", *_FILE_TRANSFERS, "nc")
_KEYS: Final = (
    *("xpType", "sched", "congctrl", "kpm", "kpmc", "mptcpEnabled", "rmem", "backup_path_0", "backup_path_1"),
    *("iperfTime", "iperfParallel", "iperfScenarioFMSublows", "file", "file_size", "ddIBS", "ddCount"),
    *("msgClientSleep", "msgServerSleep", "msgNbRequests", "msgBytes"),
    *WITHOUT_EFFECT,
)
_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_IPERF_SCENARIO_S: Final = 50.0
_COMPETITORS_S: Final = ((10, 30), (20, 40))
"""Of iperfScenario: when the TCP flow on each link starts and stops."""


class Experiment:
    """The tables of a scenario that an experiment makes of a topology."""

    def __init__(self, xp: File, topo: File, topology: Topology) -> None:
        """What is wrong is reported to the files."""
        self._xp, self._topo, self._topology = xp, topo, topology
        self.connections: dict[str, Any] = {}
        self.paths: dict[str, Any] = {}
        """Tables of paths that are not a link of their own name."""
        self.seconds: float | None = None
        """How long it takes, where the experiment says so."""
        xp.unknown(_KEYS.__contains__, _KEYS)
        kind = xp.choose("xpType", "none", {name: name for name in _TYPES})
        if (kind == _SCENARIO) != topology.multi_client:
            expected = f"{MULTI_CLIENT} and {_SCENARIO} together"
            xp.report("xpType" if xp.name else "", f"{show(kind)} on another topology", expected)
        flow = self._flow(self._subflows(kind))
        self._traffic(kind, flow)
        self.connections = {"flow": flow, **self.connections}

    def _subflows(self, kind: str) -> int:
        """Of each pair of addresses."""
        if kind != _SCENARIO:
            return 1
        key = "iperfScenarioFMSublows"
        return int(self._xp.number(key, self._xp.get(key, "1"), int, 1, "how many subflows"))

    def _names(self, subflows: int) -> list[str]:
        """Every path as a scenario names it; a subflow more on the same links is a path of another name."""
        names = []
        for path in self._topology.paths:
            for number in range(subflows):
                name = " and ".join(path) + (f" again {number}" if number else "")
                names.append(name)
                if (name,) != path:
                    self.paths[name] = {"links": list(path)}
        return names

    def _flow(self, subflows: int) -> dict[str, Any]:
        xp, backups = self._xp, list(self._topology.backups)
        multipath = xp.choose("mptcpEnabled", "1", {"1": True, "0": False})
        control = xp.choose("congctrl", "olia", _CONTROLS)
        scheduler = xp.choose("sched", "default", SCHEDULERS)
        manager = xp.choose("kpmc" if "kpmc" in xp.values else "kpm", "fullmesh", _PATH_MANAGERS)
        for number in (0, 1):
            if xp.choose(f"backup_path_{number}", "0", {"0": False, "1": True}) and number < len(backups):
                backups[number] = True
        names = self._names(subflows if multipath else 1)
        flow: dict[str, Any] = {"paths": names[:1]}
        if multipath:
            if any(backups):
                if backups.count(False) != 1 or subflows > 1:
                    found = f"{backups.count(True)} backups of {len(backups)} paths"
                    expected = "all paths but one as backups, which is what the path manager backup does"
                    self._topo.report("", found, expected)
                names = [name for _, name in sorted(zip(backups, names, strict=False), key=lambda each: each[0])]
                manager = "backup"
            flow |= {"paths": names, "congestion": control, "scheduler": scheduler, "path_manager": manager}
        else:
            flow |= {"protocol": "tcp", "congestion": control if control in ("reno", "cubic") else "reno"}
        self._window(flow)
        return flow

    def _window(self, flow: dict[str, Any]) -> None:
        xp = self._xp
        rmem = xp.get("rmem", "10240 87380 16777216").split()
        if len(rmem) != 3 or not all(each.isdecimal() for each in rmem):
            xp.report("rmem", show(" ".join(rmem)), "three sizes in bytes: minimum, default and maximum")
        elif rmem[1] == rmem[2]:
            # Half of tcp_rmem is the kernel's overhead (tcp_adv_win_scale 1), and receive_buffer is without it.
            flow["receive_buffer"] = f"{max(1, int(rmem[2]) // 2)} B"

    def _traffic(self, kind: str, flow: dict[str, Any]) -> None:
        xp = self._xp
        if kind == "iperf":
            count = xp.number("iperfParallel", xp.get("iperfParallel", "1"), int, 1, "how many connections")
            self.seconds = xp.number("iperfTime", xp.get("iperfTime", "10"), float, 1e-3, "a time in s")
            if count > 1:
                flow["count"] = int(count)
            flow["direction"] = "up"
        elif kind == _SCENARIO:
            flow["direction"] = "up"
            self._competitors()
        elif kind == "msg":
            self._messages(flow)
        elif kind in _FILE_TRANSFERS:
            xp.choose("file", "random", {"random": None})
            kilobytes = xp.number("file_size", xp.get("file_size", "1024"), int, 1, "a size in KB")
            flow["application"] = {"kind": "file", "size": f"{int(kilobytes) * 1024} B"}
        elif kind == "nc":
            block = re.fullmatch(r"(\d+)([kmg]?)", xp.get("ddIBS", "1k").lower())
            if block is None or int(block[1]) == 0:
                xp.report("ddIBS", show(xp.get("ddIBS", "1k")), "a size such as 1k")
                return
            blocks = xp.number("ddCount", xp.get("ddCount", "5000"), int, 1, "how many blocks")
            flow["application"] = {"kind": "file", "size": f"{int(blocks) * int(block[1]) * _UNITS[block[2]]} B"}

    def _competitors(self) -> None:
        """A TCP flow with Reno on each of the first two links, up as the other; one beside the first, one later."""
        links = [path[0] for path in self._topology.paths]
        if len(links) != len(_COMPETITORS_S):
            self._topo.report("", f"{len(links)} paths", f"two, which {_SCENARIO} has flows for")
            return
        for number, (link, (start, stop)) in enumerate(zip(links, _COMPETITORS_S, strict=True), 1):
            self.connections[f"flow{number}"] = {
                "paths": [link],
                "protocol": "tcp",
                "congestion": "reno",
                "direction": "up",
                "start": f"{start} s",
                "stop": f"{stop} s",
            }
        self.seconds = _IPERF_SCENARIO_S

    def _messages(self, flow: dict[str, Any]) -> None:
        """Requests with answers of the same size: a ping whose interval is the pause.

        The client pauses from one answer to the next request; a ping's requests are an interval apart. The shipped
        files pause for several round trips, where this is a round trip less per request.
        """
        xp = self._xp
        pause_s = xp.number("msgClientSleep", xp.get("msgClientSleep", "5.0"), float, 1e-3, "a time in s")
        count = xp.number("msgNbRequests", xp.get("msgNbRequests", "5"), int, 1, "how many requests")
        size = xp.number("msgBytes", xp.get("msgBytes", "1200"), int, 1, "a size in bytes")
        if float(xp.number("msgServerSleep", xp.get("msgServerSleep", "5.0"), float, 0, "a time in s")) > 0:
            xp.report("msgServerSleep", show(xp.get("msgServerSleep", "5.0")), "0: a ping is answered at once")
        flow["application"] = {"kind": "ping", "size": f"{int(size)} B", "interval": f"{pause_s * 1e3:g} ms"}
        # The last request is sent after the last pause, and answered within a second.
        self.seconds = round(pause_s * count + 1, 3)
