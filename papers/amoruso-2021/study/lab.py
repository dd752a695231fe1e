"""Runs cells, a network with one transfer each: one by one on the simulator, several side by side in real time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from mptcplab.reproduce import Context, mean_of
from mptcplab.reproduce import Found as Mean
from mptcplab.sweeps.frames import Runs

from . import networks
from .parameters import CONGESTION, SECONDS, value

_TOTAL_MBPS: Final = 220.0
"""Of the networks of one run in real time: the emulator is a single thread."""
_SMALL_BYTES: Final = 1_000_000
_SMALL_MBPS: Final = 30.0
_SIDE_BY_SIDE: Final = 12
_MARGIN_S: Final = 2.0
"""Of a run with programs, for them to start and end."""


@dataclass(frozen=True)
class Cell:
    """One transfer over one network. Cells that are equal are run once."""

    scene: str
    paths: tuple[str, ...]
    direction: str
    application: str = "bulk"
    """`bulk`, `ping`, or the size of a file in bytes."""
    throttle_mbps: float | None = None
    scheduler: str = "min-rtt"
    reinjection: str = "none"
    congestion: str = CONGESTION
    window_mib: float | None = None
    seconds: float = SECONDS
    changed: tuple[tuple[str, float], ...] = ()
    """Parameters with other values."""
    unplugged: tuple[str, float, float] | None = None
    """A path, when it goes, and when it comes back (0: it does not)."""
    path_manager: str = "fullmesh"
    sample_ms: int = 0
    varying: int = 0
    """Draws the capacity of radio links anew every half second, with this seed; 0: it is constant."""

    @property
    def multi(self) -> bool:
        """Whether it is Multipath TCP."""
        return len(self.paths) > 1

    @property
    def on_linux(self) -> bool:
        """Whether the kernel has what it asks for."""
        return self.scheduler in ("min-rtt", "linux") and self.reinjection == "none"

    @property
    def expected_mbps(self) -> float:
        """At most, while it lasts; a small file is over soon."""
        made = self.network()
        if self.application not in ("bulk", "ping") and float(self.application) <= _SMALL_BYTES:
            return _SMALL_MBPS
        whole = sum(min(_rate_mbps(made.link[link], self.direction) for link in made.path[path]) for path in self.paths)
        # All of B crosses the server's air.
        return min(whole, value("air")) if self.scene == "B" else whole

    def network(self) -> networks.Network:
        """What it runs over."""
        return networks.network(self.scene, self.throttle_mbps, dict(self.changed))

    def parts(self, prefix: str, *, real: bool) -> dict[str, dict[str, Any]]:
        """Links, paths, media, connections and events, the names with a prefix; `real`: with programs."""
        made = self.network()
        used = {link for path in self.paths for link in made.path[path]}
        links = {f"{prefix}{name}": dict(each) for name, each in made.link.items() if name in used}
        for each in links.values():
            if "medium" in each:
                each["medium"] = prefix + each["medium"]
        media = {
            f"{prefix}{name}": each
            for name, each in made.medium.items()
            if any(link.get("medium") == prefix + name for link in links.values())
        }
        paths = {f"{prefix}by {path}": {"links": [prefix + link for link in made.path[path]]} for path in self.paths}
        window = value("receive window") if self.window_mib is None else self.window_mib
        connection: dict[str, Any] = {
            "paths": list(paths),
            "protocol": "mptcp" if self.multi else "tcp",
            "direction": self.direction,
            "congestion": self.congestion,
            "receive_buffer": f"{round(window * 2**20)} B",
            "application": self._application(real),
        }
        if self.multi:
            connection["path_manager"] = self.path_manager
            connection["scheduler"] = (
                # The kernel has one.
                "linux"
                if real
                else {"name": self.scheduler, "reinjection": self.reinjection}
                if self.scheduler == "min-rtt"
                else self.scheduler
            )
        if self.application == "ping" and not real:
            connection["tcp"] = {"segments_per_ack": 1}
        events = []
        if self.unplugged is not None:
            path, gone_s, back_s = self.unplugged
            # What is the path's own: its first link.
            link = prefix + made.path[path][0]
            events.append({"at": f"{gone_s:g} s", "link": link, "set": {"down": True}})
            if back_s:
                events.append({"at": f"{back_s:g} s", "link": link, "set": {"down": False}})
        if self.varying:
            events += [
                {**event, "link": prefix + event["link"]}
                for event in networks.variation(made, self.varying, self.seconds)
                if prefix + event["link"] in links
            ]
        return {
            "link": links,
            "path": paths,
            "medium": media,
            "connection": {f"{prefix}m": connection},
            "event": {str(at): event for at, event in enumerate(events)},
        }

    def _application(self, real: bool) -> Any:  # noqa: ANN401 - TOML
        if self.application == "bulk":
            # A path that goes away is timed from the scenario's clock, which a program's start-up would shift.
            if not real or self.unplugged is not None:
                return "bulk"
            reverse = "--reverse " if self.direction == "down" else ""
            return {
                "kind": "program",
                "server": "iperf3 --server --one-off",
                "client": f"iperf3 --client {{server}} {reverse}--time {self.seconds:g} --json",
            }
        if self.application == "ping":
            if not real:
                return {"kind": "rate", "rate": "20 kbit/s"}
            probe = "{python} -m mptcplab.programs.latency"
            return {
                "kind": "program",
                "server": f"{probe} server {{server}}",
                "client": f"{probe} client {{server}} --count 25 --interval 0.1",
            }
        size = f"{round(float(self.application))} B"
        if not real:
            return {"kind": "file", "size": size}
        way = "--upload-file data" if self.direction == "up" else "--output data"
        return {
            "kind": "program",
            "server": "{python} -m mptcplab.programs.ftp_server {server}",
            "client": f"curl --silent --show-error {way} ftp://{{server}}:2121/data",
            "files": {"data": size},
        }

    def scenario(self) -> dict[str, Any]:
        """For the simulator."""
        return _scenario([self.parts("", real=False)], self.seconds, self.sample_ms)


def _rate_mbps(link: Mapping[str, Any], direction: str) -> float:
    text = link["rate"] if "rate" in link else link[direction]["rate"]
    return float(str(text).split()[0]) / 1e6


def _scenario(parts: Sequence[Mapping[str, Mapping[str, Any]]], seconds: float, sample_ms: int) -> dict[str, Any]:
    whole: dict[str, Any] = {
        name: {key: each for part in parts for key, each in part[name].items()}
        for name in ("link", "path", "medium", "connection")
    }
    events = [event for part in parts for event in part["event"].values()]
    return {
        "duration": f"{round(seconds * 1000)} ms",
        **{name: table for name, table in whole.items() if table},
        **({"event": events} if events else {}),
        "measure": {"sample": f"{sample_ms} ms" if sample_ms else "never"},
    }


@dataclass
class Found:
    """What the runs of a cell came to, a value per seed."""

    goodput_mbps: list[float] = field(default_factory=list)
    completion_s: list[float] = field(default_factory=list)
    shares: list[dict[str, float]] = field(default_factory=list)
    rates_mbps: list[dict[str, float]] = field(default_factory=list)
    sent: list[dict[str, float]] = field(default_factory=list)
    rtts_ms: list[dict[str, float]] = field(default_factory=list)
    airtime: list[float | None] = field(default_factory=list)
    """Part of the time in which the shared air was in use; none where there is no such air."""
    silences_s: list[float] = field(default_factory=list)
    """The longest time without a byte in order."""
    samples: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    @property
    def mbps(self) -> Mean:
        """The mean goodput."""
        return mean_of(self.goodput_mbps)

    @property
    def seconds(self) -> Mean:
        """The mean completion; not a number where a run did not complete."""
        return mean_of(self.completion_s)

    def share(self, path: str) -> Mean:
        """The mean share of a path, percent."""
        return mean_of(100 * each.get(path, 0.0) for each in self.shares)

    def sent_share(self, path: str) -> Mean:
        """The mean share of a path of what was sent, percent."""
        return mean_of(100 * each.get(path, 0.0) / max(sum(each.values()), 1) for each in self.sent)

    def rtt_ms(self, path: str) -> Mean:
        """The mean RTT by a path."""
        return mean_of(each.get(path, float("nan")) for each in self.rtts_ms)


Cells = Mapping[str, Cell]
Results = dict[str, Found]


class Lab:
    """Runs cells for one item."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.quick = context.quick

    def on_sim(self, cells: Cells) -> Results:
        """Each with several seeds."""
        seeds = range(1, 3 if self.quick else 6)
        found: Results = {}
        for sampled in (False, True):
            chosen = {name: cell for name, cell in cells.items() if bool(cell.sample_ms) == sampled}
            if not chosen:
                continue
            scenarios = {name: cell.scenario() for name, cell in chosen.items()}
            wanted = [({"cell": name}, scenarios[name], seed) for name in chosen for seed in seeds]
            runs = self.context.run_many(wanted, samples=sampled)
            for name, cell in chosen.items():
                mine = pl.col("cell") == name
                for seed in seeds:
                    pick = mine & (pl.col("seed") == seed)
                    samples = None if runs.samples is None else runs.samples.filter(pick)
                    _take(
                        found.setdefault(name, Found()),
                        cell,
                        "",
                        runs.connections.filter(pick),
                        runs.subflows.filter(pick),
                        samples,
                    )
                    links = runs.links.filter(pick)
                    found[name].airtime.append(_airtime(cell, "", links))
        return {name: found[name] for name in cells}

    def in_real_time(self, cells: Cells, engine: str) -> Results:
        """Once, several networks side by side."""
        found: Results = {}
        for names in _bundles(cells):
            bundle = [cells[name] for name in names]
            prefixes = [f"n{at} " for at in range(len(names))]
            real = engine == "linux"
            parts = [cell.parts(prefix, real=real) for cell, prefix in zip(bundle, prefixes, strict=True)]
            seconds = max(cell.seconds for cell in bundle) + _MARGIN_S
            samples = max(cell.sample_ms for cell in bundle)
            scenario = _scenario(parts, seconds, samples)
            runs = self.context.run_many([({}, scenario, 1)], engine=engine, samples=bool(samples))
            invalid = [note for notes in runs.notes.values() for note in notes if note.startswith("INVALID")]
            for name, cell, prefix in zip(names, bundle, prefixes, strict=True):
                connections = runs.connections.filter(pl.col("name") == f"{prefix}m")
                subflows = runs.subflows.filter(pl.col("connection") == f"{prefix}m")
                series = None if runs.samples is None else runs.samples.filter(pl.col("connection") == f"{prefix}m")
                each = found[name] = Found(invalid=invalid)
                _take(each, cell, prefix, connections, subflows, series)
                each.airtime.append(_airtime(cell, prefix, runs.links))
                if cell.application == "ping" and real:
                    each.rtts_ms = [{cell.paths[0]: _round_trip_ms(runs, f"{prefix}m")}]
        return {name: found[name] for name in cells}


def _take(
    found: Found,
    cell: Cell,
    prefix: str,
    connections: pl.DataFrame,
    subflows: pl.DataFrame,
    samples: pl.DataFrame | None,
) -> None:
    row = connections.row(0, named=True)
    found.goodput_mbps.append((row["goodput_bps"] or 0.0) / 1e6)
    if row["completion_s"] is not None:
        found.completion_s.append(row["completion_s"])
    if row["longest_silence_s"] is not None:
        found.silences_s.append(row["longest_silence_s"])
    by_path = {each["path"].removeprefix(f"{prefix}by "): each for each in subflows.to_dicts()}
    found.shares.append({path: each["share"] or 0.0 for path, each in by_path.items()})
    found.rates_mbps.append({path: (each["goodput_bps"] or 0.0) / 1e6 for path, each in by_path.items()})
    found.sent.append({path: float(each["segments_sent"] or 0) for path, each in by_path.items()})
    found.rtts_ms.append(
        {path: each["rtt_mean_s"] * 1e3 for path, each in by_path.items() if each["rtt_mean_s"] is not None}
    )
    if samples is not None and cell.sample_ms:
        found.samples.append(
            samples.filter(pl.col("kind") == "subflow").with_columns(pl.col("path").str.strip_prefix(f"{prefix}by "))
        )


def _round_trip_ms(runs: Runs, connection: str) -> float:
    """The least that the probe's client saw: the others have the machine's own waiting in them."""
    for live in runs.live.values():
        for program in live["programs"]:
            if program["connection"] == connection and program["host"] == "client":
                return float(json.loads(program["stdout"])["min_ms"])
    return float("nan")


def _airtime(cell: Cell, prefix: str, links: pl.DataFrame) -> float | None:
    """Sum over the links on the medium, both directions: each sends at its rate while it has the air."""
    on_air = [f"{prefix}{name}" for name, each in cell.network().link.items() if "medium" in each]
    if not on_air:
        return None
    return float(links.filter(pl.col("name").is_in(on_air))["utilization"].sum())


def _bundles(cells: Cells) -> list[list[str]]:
    """Names of cells that are run together: of one scenario, direction, length and sampling, within what the emulator
    carries. Items that share cells so share runs.
    """
    groups: dict[tuple[object, ...], list[list[str]]] = {}
    loads: dict[int, float] = {}
    for name, cell in sorted(cells.items(), key=lambda item: -item[1].expected_mbps):
        bundles = groups.setdefault((cell.scene, cell.direction, cell.seconds, cell.sample_ms), [])
        for bundle in bundles:
            if len(bundle) < _SIDE_BY_SIDE and loads[id(bundle)] + cell.expected_mbps <= _TOTAL_MBPS:
                break
        else:
            bundle = []
            bundles.append(bundle)
            loads[id(bundle)] = 0.0
        bundle.append(name)
        loads[id(bundle)] += cell.expected_mbps
    return [bundle for bundles in groups.values() for bundle in bundles]
