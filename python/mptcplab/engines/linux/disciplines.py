"""What the kernel's own queueing disciplines are told to be a direction of a link (`links = "tc"`), in tc(8)'s words.

Two stages, each a device: the queue with the rate, then netem with the delay and the loss, so that what the wire loses
has taken its time on the link. What there are no words for is refused by mptcplab.engines.linux_virtual.tc_refusals.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

PACKET_BYTES: Final = 1500
"""What a packet counts where a length in packets becomes bytes."""
_ROOM_PACKETS: Final = 1_000_000
"""What netem may hold: as much as is under way."""
_LARGEST_WLOG: Final = 31


def queue(direction: Mapping[str, Any], mtu: int) -> list[str]:
    """The commands for queue and rate, on a device `out` without link headers, which would count against the rate."""
    kind = direction["queue"]["kind"]
    limit = direction["queue"]["limit"]
    rate = f"{direction['rate_bps']}bit"
    if kind == "cake":
        # Its own shaper; `raw` counts packets as they are.
        room = f"memlimit {_bytes(limit, mtu)}"
        return [f"qdisc add dev out root handle 1: cake bandwidth {rate} besteffort raw no-split-gso {room}"]
    # A bucket of one packet: what follows another leaves at the rate, and only what finds the link idle goes at once.
    shaper = f"qdisc add dev out root handle 1: tbf rate {rate} burst {mtu} limit {_bytes(limit, mtu)}"
    if kind == "drop-tail" and "bytes" in limit:
        return [shaper]
    return [shaper, f"qdisc add dev out parent 1:1 handle 10: {_inner(direction['queue'], direction['rate_bps'], mtu)}"]


def wire(direction: Mapping[str, Any]) -> list[str]:
    """The command for what is behind the transmitter; nothing where packets arrive at once and all of them."""
    loss = direction["loss"]
    disorder = direction.get("disorder") or {}
    words = []
    if direction["delay_ns"]:
        words.append(f"delay {direction['delay_ns'] // 1000}us")
    if loss["kind"] == "bernoulli":
        words.append(f"loss random {_percent(loss['probability'])}")
    elif loss["kind"] == "gilbert-elliott":
        # netem's p, r, 1 - h and 1 - k: it draws the loss, then the transition; the chain is the same.
        chain = (loss["good_to_bad"], loss["bad_to_good"], loss["loss_bad"], loss["loss_good"])
        words.append("loss gemodel " + " ".join(map(_percent, chain)))
    if disorder.get("duplicate"):
        words.append(f"duplicate {_percent(disorder['duplicate'])}")
    return [f"qdisc add dev out root handle 1: netem limit {_ROOM_PACKETS} {' '.join(words)}"] if words else []


def _inner(queue: Mapping[str, Any], rate_bps: int, mtu: int) -> str:
    """The queue inside of the shaper."""
    limit = queue["limit"]
    match queue["kind"]:
        case "drop-tail":
            return f"pfifo limit {limit['packets']}"
        case "red":
            lengths = (
                f"limit {_bytes(limit, mtu)} min {_length(queue['min_packets'])} max {_length(queue['max_packets'])}"
            )
            average = f"avpkt {PACKET_BYTES} burst {red_burst(queue)} bandwidth {rate_bps}bit"
            return f"red {lengths} {average} probability {queue['max_probability']}{' ecn' if queue['ecn'] else ''}"
        case "codel" | "fq-codel":
            times = f"target {queue['target_ns'] // 1000}us interval {queue['interval_ns'] // 1000}us"
            flows = f" flows {queue['queues']} quantum {queue['quantum_bytes']}" if "queues" in queue else ""
            name = queue["kind"].replace("-", "_")
            return f"{name} limit {_packets(limit, mtu)} {times}{flows} {'ecn' if queue['ecn'] else 'noecn'}"
        case "pie":
            times = f"target {queue['target_ns'] // 1000}us tupdate {queue['update_ns'] // 1000}us"
            gains = f"alpha {round(16 * queue['alpha_per_s'])} beta {round(16 * queue['beta_per_s'])}"
            return f"pie limit {_packets(limit, mtu)} {times} {gains} {'ecn' if queue['ecn'] else 'noecn'}"
        case kind:
            raise AssertionError(f"refused before: {kind}")


def red_wlog(weight: float) -> int:
    """The power of one half that the kernel's RED takes for a weight."""
    return max(1, min(_LARGEST_WLOG, round(-math.log2(weight))))


def red_burst(queue: Mapping[str, Any]) -> int | None:
    """The `burst` from which tc computes the weight that is asked for, as it takes none itself. None: no such one."""
    wlog = red_wlog(queue["weight"])
    least = _length(queue["min_packets"]) / PACKET_BYTES
    # Of the weights from 1/2 down, tc takes the first with which such a burst leaves the average below min.
    for burst in range(max(1, math.ceil(least)), 100_000):
        found = _tc_wlog(least, burst)
        if found == wlog:
            return burst
        if found is not None and found > wlog:
            return None
    return None


def _tc_wlog(least_packets: float, burst: int) -> int | None:
    """The formula of tc-red(8), after Floyd and Jacobson 1993, section 6."""
    room = burst + 1 - least_packets
    if room < 1:
        return None
    weights = range(1, _LARGEST_WLOG + 1)
    return next((wlog for wlog in weights if room <= (1 - (1 - 0.5**wlog) ** burst) * 2**wlog), None)


def _length(packets: float) -> int:
    return round(packets * PACKET_BYTES)


def _bytes(limit: Mapping[str, int], mtu: int) -> int:
    """An empty queue accepts any packet."""
    return max(limit["bytes"] if "bytes" in limit else limit["packets"] * mtu, mtu)


def _packets(limit: Mapping[str, int], mtu: int) -> int:
    return limit["packets"] if "packets" in limit else max(limit["bytes"] // mtu, 1)


def _percent(probability: float) -> str:
    return f"{100 * probability:.9f}%"
