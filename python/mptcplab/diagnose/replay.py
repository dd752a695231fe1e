"""A scenario of the connection that carried the most, and whether it gives the same goodput when it is simulated.

Links are estimated from what ss says of the sender's subflows: half of the least RTT is the delay of each direction;
what the RTT rose to above it is the queue; the rate is what was delivered where a path was full, and what its
congestion window would carry where it was not. What was not seen (other traffic, the other direction) is not in it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mptcplab import files
from mptcplab.diagnose.connections import Connection, Flow, View
from mptcplab.diagnose.diagnosis import Diagnosis
from mptcplab.diagnose.rules.paths import active
from mptcplab.errors import Error

HEADER: Final = "# Written by mptcplab diagnose"
"""What such a file begins with."""
_TOLERANCE: Final = 0.15
_HEADERS: Final = {"mptcp": 80, "tcp": 52}
"""Of IP, TCP, time stamps and, of Multipath TCP, the mapping: beside `mss`, which counts the latter two as data."""
_CONTROLS: Final = {"cubic": '{ name = "cubic", variant = "linux" }', "reno": '"reno"', "bbr": '"bbr"'}
_ROOM: Final = 4
_BUDGET: Final = 0.2
_DURATION_S: Final = 15
_WARMUP_S: Final = 5


class ReplayError(Error, ValueError):
    """The outputs do not tell enough for a scenario."""


@dataclass(frozen=True)
class Estimate:
    """One path."""

    rate_bps: int
    delay_ms: float
    queue_ms: float
    loss: float
    known: bool
    """Whether the path was full: otherwise its rate is at least this."""


def replay(found: Diagnosis, out: Path) -> list[str]:
    """Write the scenario to `out`, simulate it, and say how it compares. Raises ReplayError, OSError."""
    connection, view = _busiest(found)
    text, observed_bps, notes = scenario(found, connection, view)
    files.write_text(out, text)
    import mptcplab  # loads the core

    result = mptcplab.run(mptcplab.Scenario.load(out))
    simulated_bps = result.connections["goodput_bps"].to_list()[0]
    off = simulated_bps / observed_bps - 1
    verdict = "the same within 15 %" if abs(off) <= _TOLERANCE else "NOT the same within 15 %: do not rely on it"
    told = [
        f"wrote {out}: {simulated_bps / 1e6:.2f} Mbit/s when simulated, {observed_bps / 1e6:.2f} Mbit/s observed "
        f"({off:+.0%}): {verdict}"
    ]
    told += [f"note: {note}" for note in notes]
    if abs(off) <= _TOLERANCE and len(result.subflows) > 1:
        told += _advice(out)
    return [*told, f"next: mptcplab advise {out} --for linux"]


def _advice(out: Path) -> list[str]:
    """What a stock kernel would do best on it, with the first reason: a fifth of the work of `mptcplab advise`."""
    import mptcplab

    try:
        advice = mptcplab.advise(out, purpose="linux", budget=_BUDGET)
    except mptcplab.AdviceError as error:
        return [f"note: no advice: {error}"]
    best = advice.best
    return [f"advised for Linux: {best.label}", *(f"  {reason}" for reason in best.reasons[:1])]


def scenario(found: Diagnosis, connection: Connection, view: View) -> tuple[str, float, list[str]]:
    """The scenario as TOML, the goodput that was observed in bit/s, and what is doubtful. Raises ReplayError."""
    causes = {each.cause for each in found.findings if each.connection == connection.name}
    flows = _first_first(active(view.flows))
    observed_bps = sum(flow.rate_bps("bytes_acked") or 0 for flow in flows)
    if observed_bps <= 0:
        raise ReplayError("no rate: it takes two outputs of ss some seconds apart, with their times, of the sender")
    notes = (
        [f"{len(view.flows) - len(flows)} paths that carry nothing are left out"]
        if len(flows) < len(view.flows)
        else []
    )
    links = []
    for number, flow in enumerate(flows, start=1):
        path = _estimate(flow, connection.protocol, found)
        if path is None:
            raise ReplayError(f"{flow.last.local}: no RTT; ss needs -i")
        if not path.known:
            notes.append(f"path{number} was not full: its rate is at least {path.rate_bps / 1e6:.2f} Mbit/s")
        loss = f'loss = "{100 * path.loss:.3f} %"\n' if path.loss else ""
        links.append(
            f'[link.path{number}]\nrate = "{path.rate_bps} bit/s"\ndelay = "{path.delay_ms:.3f} ms"\n'
            f'queue = {{ limit = "{path.queue_ms:.1f} ms", at_least = "10 packets" }}\n{loss}'
        )
    return (
        "\n".join([_head(connection), *links, _connection(connection, view, flows, causes, observed_bps)]),
        observed_bps,
        notes,
    )


def _busiest(found: Diagnosis) -> tuple[Connection, View]:
    views = [(each, view) for each in found.connections if (view := each.sender) is not None and active(view.flows)]
    if not views:
        raise ReplayError("no sender: run the script of --collect on the host that sends, during a transfer")
    return max(views, key=lambda pair: pair[1].sent())


def _first_first(flows: list[Flow]) -> list[Flow]:
    return sorted(flows, key=lambda flow: flow.joined)


def _estimate(flow: Flow, protocol: str, found: Diagnosis) -> Estimate | None:
    least, highest = flow.min_rtt_ms, max((each.number("rtt") or 0 for each in flow.looks), default=0)
    mss = flow.last.number("mss")
    if not least or not mss:
        return None
    full = {
        line.where for each in found.findings if each.cause in ("link", "loss") and each.sure for line in each.evidence
    }
    lossy = {line.where for each in found.findings if each.cause == "loss" for line in each.evidence}
    here = flow.last.evidence.where
    on_wire = 1500 / (1500 - _HEADERS[protocol])
    rate = (flow.rate_bps("bytes_acked") or 0) * on_wire
    window_bps = (flow.mean("cwnd") or 0) * mss * 8 / (least / 1e3)
    if here in lossy:
        # What the losses left of it says little about the link: so much that they limit the replay too.
        rate = _ROOM * max(rate, window_bps)
    elif here not in full:
        rate = max(rate, _bps(flow, "delivery_rate") * on_wire or window_bps)
    return Estimate(
        max(1000, round(rate)),
        max(least / 2, 0.01),
        max(highest - least, 1.0),
        (flow.last.number("bytes_retrans") or 0) / (flow.last.number("bytes_sent") or 1) if here in lossy else 0.0,
        here in full and here not in lossy,
    )


def _bps(flow: Flow, name: str) -> float:
    return max((_rate(each.fields.get(name, "")) for each in flow.looks), default=0.0)


def _rate(text: str) -> float:
    """In bit/s: `5717388bps`, and `5.7Mbps` of `ss -h`."""
    digits = text.removesuffix("bps")
    scale = {"K": 1e3, "M": 1e6, "G": 1e9}.get(digits[-1:], 1.0)
    try:
        return scale * float(digits.rstrip("KMG"))
    except ValueError:
        return 0.0


def _head(connection: Connection) -> str:
    return (
        f"{HEADER} from what ss said of one connection. Estimates: see docs/diagnose.md.\n"
        f'title = "Replay of a connection ({connection.protocol})"\nduration = "{_DURATION_S} s"\n'
    )


def _connection(connection: Connection, view: View, flows: list[Flow], causes: set[str], observed_bps: float) -> str:
    tcp = connection.protocol == "tcp" or any(each.fallback for each in connection.views) or len(flows) == 0
    names = ", ".join(f'"path{number}"' for number in range(1, len(flows) + 1))
    control = _CONTROLS.get(flows[0].last.congestion or "", _CONTROLS["cubic"])
    keys: dict[str, Any] = {
        "paths": f"[{names}]",
        "protocol": '"tcp"' if tcp else '"mptcp"',
        "congestion": control,
        "direction": '"up"' if connection.client is view else '"down"',
    }
    if not tcp:
        keys |= {"scheduler": '"linux"', "path_manager": '"fullmesh"'}
    window = max((flow.last.number("snd_wnd") or 0 for flow in flows), default=0)
    if causes & {"receive-window", "head-of-line", "application-reads"} and window >= 4096:
        keys["receive_buffer"] = f'"{round(window)} B"'
    if causes & {"application", "cpu", "send-buffer", "starved", "application-reads"}:
        # What held the sender back is not of the network: it is replayed as a program that sends no more.
        keys["application"] = f'{{ kind = "rate", rate = "{round(observed_bps)} bit/s" }}'
    lines = "\n".join(f"{key} = {value}" for key, value in keys.items())
    return f'[connection.observed]\n{lines}\n\n[measure]\nwarmup = "{_WARMUP_S} s"\n'
