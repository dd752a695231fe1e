"""The thesis's networks as scenarios, and what its machine makes of them (`as_ran`).

Rates count packets with their headers over capacity, as the thesis's tables do, where totals reach the capacity.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from mptcplab.reproduce import machine
from mptcplab.reproduce.machine import Reading

MACHINE: Final = machine.read(Path(__file__).parents[1] / machine.FILE)
_HEADERS_BYTES: Final = 40
_MSS: Final = "960 B"
_OPTIONS_BYTES: Final = {"timestamps": 12, "mptcp": 28}
"""Within the MSS: timestamps, and the DSS of Multipath TCP."""

NS2: Final[dict[str, Any]] = {"segments_per_ack": 1, "initial_window": 2}
"""As ns-2's agents: each segment is acknowledged, transfers begin with two segments."""
NS2_RENO: Final[dict[str, Any]] = {**NS2, "loss_detection": "newreno", "timestamps": False}
"""Its Reno besides has no selective acknowledgments and no timestamps."""
LOSS_BASED: Final = ("reno", "lia")
START: Final = ["0 s", "20 s"]

Times = tuple[int, int]
"""Warm-up and what is measured after it, in seconds."""


def times(quick: bool) -> Times:
    """Of figures, whose durations the thesis does not print."""
    return (30, 30) if quick else (60, 60)


def spans(read: Reading, which: str, *, quick: bool) -> Times:
    """Of tables: `long` or `short` in machine.toml."""
    return times(True) if quick else (read["warmup"], read[which])


def seeds(quick: bool, full: int = 3) -> range:
    """Nor its seeds: three, or one for a quick run."""
    return range(1, 2 if quick else full + 1)


def mppert(k: float, **parameters: float | str) -> dict[str, Any]:
    """MPPERT with this k."""
    return {"name": "mppert", "k": k, **parameters}


def products(rate_mbps: float, rtt_ms: float, number: float = 1) -> str:
    """So many bandwidth-delay products, in packets."""
    return f"{round(number * rate_mbps * 1e6 * rtt_ms * 1e-3 / (8 * MACHINE['buffer-bytes']))} packets"


def red(rate_mbps: float, rtt_ms: float) -> dict[str, Any]:
    """ns-2's defaults before 2004: thresholds of 5 and 15 packets, 1/10 at the upper, a weight of 0.002, gentle."""
    limit = products(rate_mbps, rtt_ms)
    return {"kind": "red", "min": "5 packets", "max": "15 packets", "max_probability": 0.1, "limit": limit}


def as_ran(read: Reading, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with packets, RED and Reno as the machine has them, in either reading."""
    changed = deepcopy(dict(scenario))
    for link in changed.get("link", {}).values():
        if isinstance(link["queue"], dict) and read["red"] == "automatic":
            link["queue"] = {"kind": "red-ns2", "limit": link["queue"]["limit"]}
    for flow in changed.get("connection", {}).values():
        if "mss" in flow:
            flow["mss"] = f"{read['payload']} B"
        if flow["congestion"] in LOSS_BASED:
            flow["tcp"] = dict(NS2_RENO)
    return changed


def payload_bytes(mss: int, protocol: str, *, timestamps: bool) -> int:
    """What a full packet carries."""
    options = (timestamps, _OPTIONS_BYTES["timestamps"]), (protocol == "mptcp", _OPTIONS_BYTES["mptcp"])
    return mss - sum(size for there, size in options if there)


def in_packets(read: Reading, protocol: str, congestion: str) -> float:
    """Bytes of packets per byte of payload."""
    timestamps = congestion not in LOSS_BASED
    payload: int = read["payload"]
    return (payload + _HEADERS_BYTES) / payload_bytes(payload, protocol, timestamps=timestamps)


def link(rate_mbps: float, rtt_ms: float, queue: str | dict[str, Any] | None = None) -> dict[str, Any]:
    """A bottleneck of one bandwidth-delay product."""
    return {
        "rate": f"{rate_mbps:g} Mbit/s",
        "delay": f"{rtt_ms / 2:g} ms",
        "queue": products(rate_mbps, rtt_ms) if queue is None else queue,
    }


def single(path: str, congestion: str, count: int, **more: object) -> dict[str, Any]:
    """So many flows of one path."""
    flow = {"paths": [path], "protocol": "tcp", "congestion": congestion, "count": count, "start": START}
    return {**flow, "mss": _MSS, "tcp": NS2, **more}


def multi(paths: Sequence[str], congestion: str | dict[str, Any], **more: object) -> dict[str, Any]:
    """A multipath flow."""
    return {"paths": list(paths), "congestion": congestion, "start": START, "mss": _MSS, "tcp": NS2, **more}


def scenario(
    links: Mapping[str, Any], connections: Mapping[str, Any], span: Times, sample: str = "never", **more: object
) -> dict[str, Any]:
    """Links, connections and times together."""
    return {
        "duration": f"{sum(span)} s",
        "link": dict(links),
        **more,
        "connection": dict(connections),
        "measure": {"warmup": f"{span[0]} s", "sample": sample},
    }


def background(path: str, count: int, kind: str, tcp: Mapping[str, Any] = NS2) -> dict[str, Any]:
    """`pert`, `reno`, or `mix`: half of each."""
    if kind == "mix":
        return {
            f"{path} {congestion}": single(path, congestion, count // 2, tcp=dict(tcp))
            for congestion in ("pert", "reno")
        }
    return {f"{path} {kind}": single(path, kind, count, tcp=dict(tcp))}


def two_paths(
    counts: tuple[int, int],
    congestion: str | dict[str, Any],
    span: Times,
    *,
    rates: tuple[float, float] = (40, 40),
    kind: str = "pert",
    rtt_ms: float = 40,
    queue: str = "drop-tail",
    tcp: Mapping[str, Any] = NS2,
    sample: str = "never",
    longer_ms: float = 0,
    jitter_ms: float = 0,
) -> dict[str, Any]:
    """Figure 3: a multipath flow over two bottlenecks, background flows on each: `rates[0]`(`counts[0]`)+…

    What breaks phases: `longer_ms` of RTT that the multipath flow has besides, `jitter_ms` of the bottlenecks.
    """
    links: dict[str, Any] = {}
    connections: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for name, rate, count in zip(("one", "two"), rates, counts, strict=True):
        links[name] = link(rate, rtt_ms, red(rate, rtt_ms) if queue == "red" else None)
        if jitter_ms:
            links[name]["jitter"] = f"{jitter_ms:g} ms"
        connections |= background(name, count, kind, tcp)
        paths |= {name: {"links": [name]}, f"multi {name}": {"links": [f"before {name}", name]}}
    own = ("one", "two")
    if longer_ms:
        own = ("multi one", "multi two")
        before = {"rate": "1 Gbit/s", "delay": f"{longer_ms / 2:g} ms", "queue": "1000 packets"}
        links |= {f"before {name}": dict(before) for name in ("one", "two")}
    more = {"path": paths} if longer_ms else {}
    return scenario(links, {**connections, "multi": multi(own, congestion, tcp=dict(tcp))}, span, sample, **more)


def cascade(congestion: str | dict[str, Any], span: Times) -> dict[str, Any]:
    """Figure 8: four links of 5 Mbit/s; flow A over links 1 and 2, B over 2 and 3, C over 3 and 4. RTT 80 ms."""
    names = ("1", "2", "3", "4")
    flows = {"a": ("1", "2"), "b": ("2", "3"), "c": ("3", "4")}
    return scenario(
        {name: link(5, 80) for name in names}, {flow: multi(paths, congestion) for flow, paths in flows.items()}, span
    )


def three_users(
    congestion: str | dict[str, Any], span: Times, *, others: str = "pert", tcp: Mapping[str, Any] = NS2
) -> dict[str, Any]:
    """Figures 9 and 19: S1 on a link of 12 Mbit/s, S3 on one of 18, S2 on both; RTT 40 ms."""
    return scenario(
        {"one": link(12, 40), "two": link(18, 40)},
        {
            "s1": single("one", others, 1, tcp=dict(tcp)),
            "s2": multi(("one", "two"), congestion, tcp=dict(tcp)),
            "s3": single("two", others, 1, tcp=dict(tcp)),
        },
        span,
    )


def six_subflows(disjoint: int, shared: str, span: Times, rtt_ms: float = 40, k: float = 0.0) -> dict[str, Any]:
    """Tables III to VI: six subflows of which the first 7 − `disjoint` share link 1; 20(10) PERT flows a link."""
    links = {str(number): link(20, rtt_ms) for number in range(1, disjoint + 1)}
    sharers = 7 - disjoint
    paths = {f"p{n}": {"links": ["1" if n <= sharers else str(n - sharers + 1)]} for n in range(1, 7)}
    connections: dict[str, Any] = {}
    for name in links:
        paths[f"only {name}"] = {"links": [name]}
        connections[f"background {name}"] = single(f"only {name}", "pert", 10)
    connections["multi"] = multi([f"p{n}" for n in range(1, 7)], mppert(k, shared=shared))
    return scenario(links, connections, span, path=paths)


def three_subflows(
    kind: str, span: Times, *, shared: str = "none", count: int = 40, sample: str = "100 ms"
) -> dict[str, Any]:
    """Figure 10: subflows 1 and 3 over one bottleneck, 2 over another; 40 Mbit/s with 40 flows each, RTT 80 ms."""
    links = {"one": link(40, 80), "two": link(40, 80)}
    paths = {"p1": {"links": ["one"]}, "p2": {"links": ["two"]}, "p3": {"links": ["one"]}}
    connections: dict[str, Any] = {}
    for name in links:
        paths[f"only {name}"] = {"links": [name]}
        connections |= background(f"only {name}", count, kind)
    connections["multi"] = multi(("p1", "p2", "p3"), mppert(0.0, shared=shared))
    return scenario(links, connections, span, sample, path=paths)


def stepped(before: tuple[int, int], after: tuple[int, int], k: float, step_s: int, seconds: int) -> dict[str, Any]:
    """Figures 20 to 23: numbers of PERT flows on both links of 40 Mbit/s that change at `step_s`."""
    links = {"one": link(40, 40), "two": link(40, 40)}
    connections: dict[str, Any] = {}
    for name, first, then in zip(links, before, after, strict=True):
        stay = min(first, then)
        connections[f"{name} stay"] = single(name, "pert", stay)
        if then > first:
            connections[f"{name} come"] = single(name, "pert", then - stay, start=f"{step_s} s")
        if first > then:
            connections[f"{name} go"] = single(name, "pert", first - stay, stop=f"{step_s} s")
    connections["multi"] = multi(("one", "two"), mppert(k))
    return scenario(links, connections, (30, seconds - 30), "1 s")
