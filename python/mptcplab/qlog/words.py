"""Says events in words."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mptcplab.qlog.reading import Event, Trace

_Data = Mapping[str, Any]

_SENT: Final = {
    "new": "new data",
    "retransmission": "again, it counts as lost",
    "timeout": "again, the retransmission timer expired",
    "reinjection": "data of another subflow",
    "probe": "again, as a tail loss probe",
}
_RULES: Final = {
    "rack_time": "one sent later arrived long enough ago (RACK)",
    "duplicate_acks": "enough arrived beyond it",
    "timeout": "the retransmission timer expired",
    "tail_loss_probe": "the tail loss probe filled the hole",
}
_SPURIOUS: Final = {
    "timestamps": "the timestamp echoed is from before the retransmission (Eifel)",
    "duplicate_sacks": "every retransmission arrived twice (D-SACK)",
    "f_rto": "what was sent only once is acknowledged (F-RTO)",
}
_WINDOWS: Final = {
    "acknowledgment": "acknowledgment",
    "loss": "loss",
    "recovery": "recovery",
    "recovered": "recovery is over",
    "timeout": "retransmission timer",
    "undo": "the loss was none",
    "ecn": "congestion mark",
    "validation": "it was not used for long",
    "idle_restart": "nothing was sent for long",
    "penalty": "the scheduler halves it",
    "tail_loss_probe": "the tail loss probe repaired a loss",
    "begin": "initial window",
}
_REASONS: Final = {
    "only_one": "no other can take it",
    "shortest_rtt": "shortest RTT of those that can",
    "burst": "its burst goes on",
    "rule": "the scheduler's own rule",
    "none_could": "no subflow can",
}
_VERDICTS: Final = {
    "chosen": "chosen",
    "not_established": "not established",
    "suspected": "does not answer",
    "window_full": "window full",
    "peer_window": "peer's window closed",
    "paced": "paced",
    "carried_it": "carried it before",
    "backup": "backup",
    "slower": "longer RTT",
    "passed_over": "passed over",
}
_DECISIONS: Final = {
    "bind": "binds",
    "repeat": "repeats",
    "pass": "leaves it for later",
    "wait": "waits",
    "blocked": "sends nothing",
}
_PAUSES: Final = {
    "no_data": "all is sent",
    "connection_window": "the peer's window is closed",
    "short_segment": "the window would cut a segment short",
    "blocked": "no subflow can take any",
    "waits": "the scheduler, or Nagle's rule, waits",
}
_REINJECTIONS: Final = {
    "subflow_timeout": "its retransmission timer expired",
    "subflow_failed": "the subflow is gone",
    "address_removed": "the peer withdrew its address",
    "data_timeout": "the data level's timer expired",
    "resumed": "a subflow is there again",
    "checksum_failed": "its checksum failed",
    "stale": "the subflow was silent for long",
    "given_back": "it still waited there",
    "scheduler": "the scheduler's rule",
}
_FALLBACKS: Final = {
    "not_capable": "the answer has no MP_CAPABLE",
    "no_answer": "SYNs with MP_CAPABLE are not answered",
    "simultaneous_open": "both ends opened at once",
    "options_lost": "options are missing",
    "checksum_failed": "a checksum failed",
    "infinite_mapping": "the peer sent an infinite mapping",
}
_OPTIONS: Final = {
    "add_addr": "ADD_ADDR",
    "add_addr_echo": "ADD_ADDR echo",
    "remove_addr": "REMOVE_ADDR",
    "mp_prio": "MP_PRIO",
}
_CHANGES: Final = {"set": "set", "expired": "expires", "cancelled": "cancelled"}


def words(table: Mapping[str, str], key: object) -> str:
    """What a word of the file means; a word of a later version as it stands."""
    return table.get(str(key), str(key).replace("_", " "))


def name(trace: Trace, subflow: object) -> str:
    """What a subflow is called."""
    return trace.names.get(subflow, f"subflow {subflow}") if isinstance(subflow, int) else "no subflow"


def window(data: _Data) -> str:
    """Congestion window and threshold."""
    threshold = data.get("ssthresh_segments")
    return f"{data['cwnd_segments']:.2f} segments" + ("" if threshold is None else f", ssthresh {threshold:.2f}")


def candidate(trace: Trace, data: _Data) -> str:
    """A subflow as the scheduler saw it, with what stood against it."""
    rtt = f"RTT {data['srtt_ns'] / 1e6:.1f} ms" if data["srtt_ns"] else "RTT unknown"
    used = f"{data['in_flight_segments']} of {data['cwnd_segments']:.1f} in flight"
    backup = ", backup" if data["backup"] and data["verdict"] != "backup" else ""
    return f"{name(trace, data['subflow'])}: {words(_VERDICTS, data['verdict'])} ({rtt}, {used}{backup})"


def _bytes_at(data: _Data) -> str:
    return f"{data['bytes']} bytes at {data['data_offset']}"


def choice(trace: Trace, data: _Data) -> str:
    """What the scheduler answered."""
    what = "new data" if data["carried_by"] is None else "data sent before"
    by = data["carried_by"]
    if by:
        what += " on " + ", ".join(name(trace, subflow) for subflow in by)
    if data["chosen"]:
        chosen = ", ".join(name(trace, subflow) for subflow in data["chosen"])
        verb = "" if data["decision"] == "send" else f" ({data['decision']})"
        return f"{data['scheduler']} chooses {chosen}{verb} for {what}: {words(_REASONS, data['reason'])}"
    return f"{data['scheduler']} {words(_DECISIONS, data['decision'])} of {what}: {words(_REASONS, data['reason'])}"


def _timer(trace: Trace, data: _Data) -> str:  # noqa: ARG001 - one of several
    at = "" if data["change"] == "expired" or data["at_ns"] is None else f", for {data['at_ns'] / 1e9:.6f} s"
    return f"timer {words({}, data['timer'])} {words(_CHANGES, data['change'])}{at}"


def _address(trace: Trace, data: _Data) -> str:  # noqa: ARG001
    told = words(_OPTIONS, data["option"])
    if data["address_id"] is not None:
        told += f" of address {data['address_id']}"
    if data["address"] is not None:
        told += f" ({data['address']})"
    if data["backup"] is not None:
        told += ": backup" if data["backup"] else ": no backup"
    return f"{data['direction']}: {told}"


def _path_state(trace: Trace, data: _Data) -> str:  # noqa: ARG001
    state = "may carry data" if data["active"] else "carries no new data"
    return "path " + state + (", does not answer" if data["suspected"] else "") + (", backup" if data["backup"] else "")


_SAYS: Final[Mapping[str, Callable[[Trace, _Data], str]]] = {
    "tcp:segment_sent": lambda _, d: (
        f"sends {_bytes_at(d)}{' and FIN' if d['fin'] else ''}: {words(_SENT, d['why'])} "
        f"({d['in_flight_segments']} of {d['cwnd_segments']:.1f} in flight)"
    ),
    "tcp:segment_lost": lambda _, d: f"lost: {_bytes_at(d)}: {words(_RULES, d['rule'])}",
    "tcp:loss_spurious": lambda _, d: f"nothing was lost: {words(_SPURIOUS, d['shown_by'])}",
    "tcp:recovery_entered": lambda _, d: f"recovery begins after a {d['after']}",
    "tcp:recovery_left": lambda _, d: "recovery ends",  # noqa: ARG005
    "tcp:window_changed": lambda _, d: f"window {window(d)}: {words(_WINDOWS, d['why'])}",
    "tcp:state_changed": lambda _, d: f"{d['state']} (from {d['local']} to {d['remote']})",
    "tcp:timer_updated": _timer,
    "mptcp:scheduled": choice,
    "mptcp:paused": lambda _, d: f"pauses: {words(_PAUSES, d['why'])}",
    "mptcp:reinjection_queued": lambda _, d: f"others are to carry {_bytes_at(d)}: {words(_REINJECTIONS, d['why'])}",
    "mptcp:reinjected": lambda t, d: (
        f"carries {_bytes_at(d)} of {', '.join(name(t, each) for each in d['from']) or 'no subflow'}: "
        f"{words(_REINJECTIONS, d['why'])}"
    ),
    "mptcp:penalised": lambda _, d: f"penalised: window {window(d)}",
    "mptcp:mapping": lambda _, d: (
        f"mapping of {d['bytes']} bytes: DSN {d['dsn']} at SSN {d['ssn']}{', DATA_FIN' if d['data_fin'] else ''}"
    ),
    "mptcp:data_ack": lambda _, d: f"DATA_ACK {d['data_offset']}, window {d['window_bytes']} bytes",
    "mptcp:address": _address,
    "mptcp:path_state": _path_state,
    "mptcp:fallback": lambda _, d: f"TCP from now on: {words(_FALLBACKS, d['why'])}",
}


KINDS: Final = frozenset(_SAYS)
"""The events that have words."""


def say(trace: Trace, event: Event) -> str:
    """An event in a few words; one of a later version by its name and data."""
    says = _SAYS.get(event.name)
    if says is None:
        return f"{event.name} {dict(event.data)}"
    try:
        return says(trace, event.data)
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{event.name} {dict(event.data)}"
