"""The question in the form that can be simulated: scenarios of networks, and what is asked of which connections."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from mptcplab import registry
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.errors import AdviceError
from mptcplab.advice.paths import Cap, PathSpec, Span
from mptcplab.advice.traffic import Traffic
from mptcplab.scenario import Scenario, units
from mptcplab.scenario.errors import show

CHOSEN: Final = ("protocol", "paths", "congestion", "scheduler", "path_manager", "checksum")
"""Keys of a connection that the advice decides, or that only one protocol has."""
AUTO_WINDOW_BYTES: Final = 3_986_000
"""Data that Linux's largest default receive buffer holds: 6 MiB, of which a segment of 1,460 bytes takes 2,304."""
_SEEDS: Final = 1_000_003
_FEWEST_QUEUE_BYTES: Final = 15_000
_SMALLEST_WINDOW: Final = 64_240
_SEND_BUFFER_MIB: Final = (0.0625, 4.0)
"""The smallest that the kernel's scheduler takes, and the default."""


@dataclass
class Question:
    """What is to be answered."""

    base: dict[str, Any]
    """A complete scenario: the network as it was said (the middle of what is open), and neighbours if any."""
    targets: tuple[str, ...]
    """The connections that are to be advised on."""
    paths: tuple[str, ...]
    traffic: Traffic
    purpose: str
    seed: int
    specs: tuple[PathSpec, ...] = ()
    """Empty for a scenario file, in which everything is known."""
    metered: tuple[str, ...] = ()
    caps: tuple[Cap, ...] = ()
    prefer: str = "best"
    source: str = "<dict>"
    """Of the scenario file: the traces that it names are beside it."""
    connection: str | None = None
    """Of a scenario file, the one that was asked about; `targets` are others if it was to carry several kinds."""
    scale: int = 1
    """Rates, queues, windows and files are simulated at one part in so many: see mptcplab.advice.effort."""
    length: float = 1.0
    """The part of the run that is simulated."""
    _links: dict[int, list[Any]] = field(default_factory=dict)
    _told: dict[Candidate, dict[str, Any]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether nothing is drawn about the network, so that runs differ by their random numbers alone."""
        return all(spec.is_known for spec in self.specs)

    @property
    def paid(self) -> list[str]:
        """Paths that cost something."""
        return list(dict.fromkeys([*self.metered, *(cap.path for cap in self.caps)]))

    @property
    def direction(self) -> str:
        """Of the data: `down` or `up`."""
        return str(self.base["connection"][self.targets[0]].get("direction", "down"))

    def told_connections(self) -> list[dict[str, Any]]:
        """The connections as the simulator has them, of which the advice decides some keys."""
        told: list[dict[str, Any]] = self._description(Candidate("cubic", "min-rtt", self.paths))["connections"]
        return told

    def scenario(self, candidate: Candidate) -> Scenario:
        """The scenario with this candidate's settings."""
        changed = {**self.base, "connection": self._connections(candidate)}
        if candidate.marked_backups:
            changed["link"] = {name: dict(table) for name, table in self.base["link"].items()}
            for name in self.first_links(candidate.marked_backups):
                link = changed["link"][name]
                link["metered"] = {**link.get("metered", {}), "use": "backup"}
        made = Scenario(changed, "", self.source)
        made.name = "advice"
        return made

    def description(self, candidate: Candidate, pair: int, part: float = 1.0) -> str:
        """The scenario for the simulator: run number `pair`, the same network and random numbers for every candidate.

        `part` below 1 ends the run and its traffic early.
        """
        told = {**self._description(candidate), "seed": self.seed * _SEEDS + pair}
        told["links"] = self._links_for(candidate, pair)
        if self.scale > 1:
            told = scaled(told, self.scale)
        part *= self.length
        if part < 1:
            told["duration_ns"] = round(told["duration_ns"] * part)
            told["warmup_ns"] = round(told["warmup_ns"] * part)
            told["connections"] = [_shortened(each, told["duration_ns"], part) for each in told["connections"]]
        return json.dumps(told)

    def _description(self, candidate: Candidate) -> dict[str, Any]:
        told = self._told.get(candidate)
        if told is None:
            told = self._told[candidate] = self.scenario(candidate).description(seed=0)
        return told

    def _links_for(self, candidate: Candidate, pair: int) -> list[Any]:
        """Those of the pair, with the backups of this candidate."""
        links = self.links(pair)
        if not candidate.marked_backups:
            return links
        standing = set(self.first_links(candidate.marked_backups))
        free: dict[str, Any] = {"price_per_gb": 0.0, "cap_bytes": None}
        return [
            {**link, "metered": {**(link.get("metered") or free), "backup": True}} if link["name"] in standing else link
            for link in links
        ]

    def first_links(self, paths: Sequence[str]) -> list[str]:
        """The links that these paths begin with on the client's side: their use is that of the path."""
        listed: Mapping[str, Any] = self.base.get("path", {})
        return [listed[path]["links"][0] if path in listed else path for path in paths]

    def links(self, pair: int) -> list[Any]:
        """The links of run number `pair`, drawn within what was said of them; the file's own for a file.

        Not those of the candidate's scenario: a queue of "1 BDP" would depend on the paths that it uses.
        """
        if not self.specs:
            pair = 0
            if pair not in self._links:
                self._links[pair] = Scenario(self.base, "", self.source).description(seed=0)["links"]
        elif pair not in self._links:
            drawn = [_drawn(spec, Random(f"{self.seed} {pair} {spec.name}")) for spec in self.specs]
            table = {spec.name: link for spec, link in zip(self.specs, drawn, strict=True)}
            # A connection over every path: the length of a queue may depend on who uses it.
            connection = {"anything": {"paths": list(table)}}
            data = {"duration": "1 s", "link": table, "connection": connection}
            self._links[pair] = Scenario.from_dict(data).description(seed=0)["links"]
        return self._links[pair]

    def check(self) -> None:
        """Raise what is wrong with the scenario or what the simulator cannot do, before anything runs."""
        everything = Candidate("cubic", "min-rtt", self.paths)
        self.scenario(everything).description(seed=0)

    @property
    def marked(self) -> bool:
        """Whether each path has a queue that marks packets of connections that ask for it."""
        links = self.links(0)
        return all(
            any(_marks(links[place][side]["queue"]) for place in self.links_of(path) for side in ("down", "up"))
            for path in self.paths
        )

    def links_of(self, path: str) -> list[int]:
        """The numbers of a path's links."""
        names = list(self.base["link"])
        listed: Mapping[str, Any] = self.base.get("path", {})
        return [names.index(link) for link in (listed[path]["links"] if path in listed else [path])]

    def _connections(self, candidate: Candidate) -> dict[str, Any]:
        tables: Mapping[str, Any] = self.base["connection"]
        chosen = candidate.keys()
        made = {}
        for name, table in tables.items():
            kept = {key: value for key, value in table.items() if name not in self.targets or key not in CHOSEN}
            made[name] = dict(kept)
            if name in self.targets:
                made[name] |= chosen
                if "tcp" in chosen:  # an option of its own beside those of the scenario
                    made[name]["tcp"] = {**kept.get("tcp", {}), **chosen["tcp"]}
        return made


def from_paths(specs: Sequence[PathSpec], traffic: Traffic, direction: str, buffer: str | None) -> dict[str, Any]:
    """The scenario of the network as it was said, the middle of what is open, with the traffic on it."""
    connections = {}
    for name, table in traffic.applications.items():
        connections[name] = {"paths": [spec.name for spec in specs], "direction": direction, **table}
        if buffer is not None:
            connections[name]["receive_buffer"] = buffer
    return {
        "title": f"Advice on {' and '.join(spec.name for spec in specs)} for {traffic.kind}",
        "duration": f"{traffic.duration_s:g} s",
        "link": {spec.name: _link(spec, 1.0, spec.rtt_s.middle, _middle(spec.queue_s)) for spec in specs},
        "connection": connections,
        "measure": {"sample": "never"},
    }


def from_file(scenario: Scenario, name: str | None, *, replaced: bool = False) -> tuple[dict[str, Any], str]:
    """The complete scenario of a file, and the connection that is to be advised on.

    `replaced`: it will carry other traffic than the file says. Raises AdviceError.
    """
    document = scenario.document
    if document.topology is not None:
        raise AdviceError(scenario.source, "a generated network", "links and connections: advice is for one connection")
    able = [each for each, table in document.connections.items() if len(table.paths) > 1]
    if name is None and len(able) != 1:
        found = f"{len(able)} connections with several paths" if able else "no connection with several paths"
        expected = f"--connection with one of {', '.join(able)}" if able else "one with two or more paths"
        raise AdviceError(scenario.source, found, expected)
    chosen = able[0] if name is None else name
    if chosen not in able:
        expected = f"one with two or more paths: {', '.join(able) or 'there is none'}"
        raise AdviceError(f"--connection {chosen}", "no such connection", expected)
    kind = document.connections[chosen].application.kind
    if kind == "program" and not replaced:
        raise AdviceError(f"{scenario.source}: connection.{chosen}.application", '"program"', "traffic that `sim` runs")
    base = scenario.to_dict()
    base["measure"] = {**base.get("measure", {}), "sample": "never"}
    return base, chosen


def best_rates_bps(scenario: Scenario, paths: Sequence[str], direction: str) -> tuple[float, float]:
    """The rate of the fastest path in this direction and in the other: of its slowest link, of a trace the mean."""
    document = scenario.document
    ways: tuple[Any, Any] = ("down", "up") if direction == "down" else ("up", "down")

    def rate_bps(path: str, way: Any) -> float:  # noqa: ANN401 - one of two words
        links = document.paths[path].links if path in document.paths else (path,)
        return float(min(document.rate_bps(document.links[link].direction(way)) for link in links))

    return max((rate_bps(path, ways[0]), rate_bps(path, ways[1])) for path in paths)


def with_traffic(base: dict[str, Any], name: str, traffic: Traffic) -> tuple[str, ...]:
    """Have the connection carry other traffic; of several kinds, one connection each, called NAME-KIND. Their names."""
    tables = base["connection"]
    old = {key: value for key, value in tables[name].items() if key not in ("application", "stop")}
    kinds = traffic.applications
    made = {name if len(kinds) == 1 else f"{name}-{kind}": {**old, **table} for kind, table in kinds.items()}
    twice = next((each for each in made if each != name and each in tables), None)
    if twice is not None:
        raise AdviceError("--traffic", f"a connection called {show(twice)} in the file", "no such name for a mix")
    base["connection"] = {**{key: table for key, table in tables.items() if key != name}, **made}
    _, duration_ns = units.read(base["duration"], (units.TIME,))
    base["duration"] = units.write(units.TIME, max(int(duration_ns), round(traffic.duration_s * 1e9)))
    base["measure"] = {**base["measure"], "warmup": "0 s"}
    return tuple(made)


def _marks(queue: Mapping[str, Any]) -> bool:
    """By its nature, or by its key."""
    entry = registry.find("queues", queue["kind"])
    return bool(queue.get("ecn")) or (entry is not None and "marks packets" in entry.capabilities)


def _middle(span: Span) -> float:
    """The geometric mean: what is open by a factor is drawn by a factor."""
    return math.sqrt(span.low * span.high)


def _drawn(spec: PathSpec, random: Random) -> dict[str, Any]:
    factor = random.uniform(spec.rate.low, spec.rate.high)
    rtt_s = random.uniform(spec.rtt_s.low, spec.rtt_s.high)
    queue_s = math.exp(random.uniform(math.log(spec.queue_s.low), math.log(spec.queue_s.high)))
    return _link(spec, factor, rtt_s, queue_s)


def _link(spec: PathSpec, factor: float, rtt_s: float, queue_s: float) -> dict[str, Any]:
    link: dict[str, Any] = {
        "down": {"rate": f"{round(spec.down_bps * factor)} bit/s"},
        "up": {"rate": f"{round(spec.up_bps * factor)} bit/s"},
        "delay": f"{round(rtt_s / 2 * 1e9)} ns",
        # No modem holds less than some packets, however slow it is.
        "queue": {"limit": f"{round(queue_s * 1e9)} ns", "at_least": "10 packets"},
    }
    if spec.loss:
        link["loss"] = f"{spec.loss * 100:.6f} %"
    return link


def scaled(told: dict[str, Any], by: int) -> dict[str, Any]:
    """Rates, queues, windows and what is carried at one part in `by`; times and the size of packets as they are."""
    links = []
    for link in told["links"]:
        made = dict(link)
        for way in ("down", "up"):
            queue = link[way]["queue"]
            limit = {"bytes": max(_FEWEST_QUEUE_BYTES, queue["limit"]["bytes"] // by)}
            made[way] = {**link[way], "rate_bps": link[way]["rate_bps"] // by, "queue": {**queue, "limit": limit}}
        links.append(made)
    connections = []
    for each in told["connections"]:
        window = each["receive_buffer_bytes"] or AUTO_WINDOW_BYTES
        application = dict(each["application"])
        if application["kind"] == "web":
            objects = [{**one, "size_bytes": max(1, one["size_bytes"] // by)} for one in application["objects"]]
            application |= {"objects": objects}
        changed = {"receive_buffer_bytes": max(_SMALLEST_WINDOW, window // by), "application": application}
        scheduler = each.get("scheduler")
        if scheduler is not None and scheduler["name"] == "linux":
            smallest, default = _SEND_BUFFER_MIB
            changed["scheduler"] = {
                **scheduler,
                "send_buffer": max(smallest, scheduler.get("send_buffer", default) / by),
            }
        connections.append({**each, **changed})
    return {**told, "links": links, "connections": connections}


def _shortened(connection: dict[str, Any], duration_ns: int, part: float) -> dict[str, Any]:
    if connection["stop_ns"] is None:
        return connection
    return {**connection, "stop_ns": min(duration_ns, round(connection["stop_ns"] * part))}
