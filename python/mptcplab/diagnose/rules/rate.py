"""What limits the rate of a connection: verdicts of most outputs of the sender, with what the receiver says."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from mptcplab.diagnose.connections import Flow, View
from mptcplab.diagnose.facts import Host, Line, Socket
from mptcplab.diagnose.rules.finding import Case, Finding, rate, size
from mptcplab.diagnose.rules.paths import active
from mptcplab.diagnose.rules.sending import Look, look

_BUSY: Final = 0.85
_READ_LATE: Final = 0.8


def judged(case: Case) -> Iterator[tuple[View, str, list[Look]]]:
    """The sender, what most of its outputs say, and all that they say."""
    connection = case.connection
    view = connection.sender if connection is not None else None
    if view is None:
        return
    if view.unacknowledged:
        return
    if any(other.fallback for other in case.views) and not view.fallback and view.looks:
        return  # the sender has not noticed: its windows are of a connection that is none any more
    looks = _looks(view)
    told = Counter(each.verdict for each in looks if each.verdict)
    if told:
        verdict, times = told.most_common(1)[0]
        if 2 * times > len(looks):
            yield view, verdict, [each for each in looks if each.verdict == verdict]


def _looks(view: View) -> list[Look]:
    flows = active(view.flows)
    found = []
    for place in range(max((len(flow.looks) for flow in flows), default=0)):
        present = [(flow, flow.looks[place]) for flow in flows if place < len(flow.looks)]
        # A connection that fell back has a socket of Multipath TCP, whose numbers mean nothing then.
        master = view.looks[place] if place < len(view.looks) and not view.fallback else None
        found.append(look(present, master))
    return found


def _lines(view: View) -> list[Line]:
    return [flow.last.evidence for flow in active(view.flows)]


def _blamed(looks: list[Look]) -> Flow | None:
    """The slow path, if most say that it is one."""
    named = [each.by for each in looks if each.by is not None]
    return named[-1] if 2 * len(named) > len(looks) else None


def _held_up(flow: Flow, case: Case) -> str:
    others = [each for each in active(_sender(case).flows) if each is not flow]
    fast = min((each.last.number("rtt") or 0 for each in others), default=0)
    return (
        f"{flow.last.local} → {flow.last.remote} (RTT {flow.last.number('rtt') or 0:.0f} ms) makes the other path "
        f"(RTT {fast:.0f} ms) wait"
    )


def _sender(case: Case) -> View:
    assert case.connection is not None
    assert case.connection.sender is not None
    return case.connection.sender


def _receiver(case: Case) -> View | None:
    return None if case.connection is None else case.connection.receiver


def _reads_late(view: View | None) -> list[Line]:
    """Lines that show a receive buffer full of data that the program could read, in all outputs."""
    if view is None:
        return []
    sockets: list[Socket] = (
        list(view.looks) if view.looks and not view.fallback else [s for f in view.flows for s in f.looks]
    )
    held = [
        each
        for each in sockets
        if (each.memory("rb") or 0) > 0 and (each.memory("r") or 0) >= _READ_LATE * (each.memory("rb") or 0)
    ]
    return [held[-1].evidence] if held and 2 * len(held) > len(sockets) else []


def _parameter(host: Host, name: str) -> list[Line]:
    found = host.sysctls.get(name)
    return [found.line] if found is not None else []


def _cpu(view: View | None) -> tuple[float, list[Line]]:
    """The largest share of the time that a program of the connection ran or waited for a CPU."""
    best: tuple[float, list[Line]] = (0.0, [])
    if view is None:
        return best
    users = " ".join(each.fields.get("users", "") for each in [*view.looks, *(s for f in view.flows for s in f.looks)])
    for pid, times in view.host.cpu.items():
        first, last = times[0], times[-1]
        if f"pid={pid}," not in users or first.time_s is None or last.time_s is None or last.time_s <= first.time_s:
            continue
        used = (last.ran_ns + last.waited_ns - first.ran_ns - first.waited_ns) / 1e9
        best = max(best, (used / (last.time_s - first.time_s), [first.line, last.line]), key=lambda each: each[0])
    return best


def cpu(case: Case) -> Iterator[Finding]:
    """Where a program is what the connection waits for, it ran or waited for a CPU nearly all of the time."""
    for view, verdict, _ in judged(case):
        at = (
            view
            if verdict == "program"
            else _receiver(case)
            if verdict == "window" and _reads_late(_receiver(case))
            else None
        )
        share, lines = _cpu(at)
        if at is not None and share >= _BUSY:
            yield Finding(
                "cpu",
                case.name,
                f"the program on {at.host.name} ran or waited for a CPU {min(share, 1):.0%} of the time, and the "
                "connection waits for it",
                [*lines, at.evidence],
                "perf top -p PID; several processes or threads, or less work for each byte",
            )


def application(case: Case) -> Iterator[Finding]:
    """Nothing waits to be sent, no window is full, and the send buffer has room."""
    for view, verdict, _ in judged(case):
        if verdict == "program" and _cpu(view)[0] < _BUSY:
            rates = [value for flow in view.flows if (value := flow.rate_bps("bytes_acked")) is not None]
            told = f", {rate(sum(rates))} in these outputs" if rates else ""
            yield Finding(
                "application",
                case.name,
                f"the program on {view.host.name} writes less than the paths carry{told}",
                [view.evidence, *_lines(view)],
                "nothing, if that is what it has to send",
            )


def application_reads(case: Case) -> Iterator[Finding]:
    """The window is full and the receive buffer has data that the program could read."""
    for _, verdict, looks in judged(case):
        receiver = _receiver(case)
        lines = _reads_late(receiver)
        if (
            verdict == "window"
            and lines
            and receiver is not None
            and _blamed(looks) is None
            and _cpu(receiver)[0] < _BUSY
        ):
            yield Finding(
                "application-reads",
                case.name,
                f"the program on {receiver.host.name} leaves data in its receive buffer, which is full",
                [*lines, *_lines(_sender(case))],
                "strace -p PID -e trace=network, on the receiver: what it does instead of reading",
            )


def receive_window(case: Case) -> Iterator[Finding]:
    """Data wait, congestion windows have room, and what is outstanding fills the window that the peer announces."""
    for view, verdict, looks in judged(case):
        if verdict != "window" or _blamed(looks) is not None or _reads_late(_receiver(case)):
            continue
        windows = [value for flow in active(view.flows) if (value := flow.last.number("snd_wnd")) is not None]
        need = sum((flow.mean("cwnd") or 0) * (flow.mean("mss") or 0) for flow in active(view.flows))
        receiver = _receiver(case)
        own = [receiver.evidence, *_parameter(receiver.host, "net.ipv4.tcp_rmem")] if receiver is not None else []
        told = f"a window of {size(max(windows))}" if windows else "the window"
        yield Finding(
            "receive-window",
            case.name,
            f"{told} is full while the congestion windows of the paths take {size(need)}",
            [*_lines(view), *own],
            "on the receiver: sysctl net.ipv4.tcp_rmem='4096 131072 16777216', and no SO_RCVBUF in the program"
            if receiver is not None
            else "on the receiver: ss -ntMiem and sysctl net.ipv4.tcp_rmem (a buffer full of data has a slow reader)",
            sure=bool(windows),
        )


def send_buffer(case: Case) -> Iterator[Finding]:
    """Congestion windows and the receive window have room, and the send buffer is full."""
    for view, verdict, looks in judged(case):
        if verdict == "buffer" and _blamed(looks) is None:
            socket = view.looks[-1] if view.looks else view.flows[0].last
            yield Finding(
                "send-buffer",
                case.name,
                f"{size(socket.memory('w') or 0)} of a send buffer of {size(socket.memory('tb') or 0)} are taken, and "
                "the paths have room",
                [socket.evidence, *_lines(view), *_parameter(view.host, "net.ipv4.tcp_wmem")],
                "sysctl net.ipv4.tcp_wmem='4096 16384 16777216', and no SO_SNDBUF in the program",
            )


def head_of_line(case: Case) -> Iterator[Finding]:
    """The receive window is full, a path has room, and another with a much longer RTT has the data that are missing."""
    for view, verdict, looks in judged(case):
        slow = _blamed(looks)
        if verdict == "window" and slow is not None:
            receiver = _receiver(case)
            own = _parameter(receiver.host, "net.ipv4.tcp_rmem") if receiver is not None else []
            yield Finding(
                "head-of-line",
                case.name,
                f"{_held_up(slow, case)}: the receive window is full of data that come after its own",
                [view.evidence, *_lines(view), *own],
                "make it a backup (ip mptcp endpoint change id N backup), shorten its queue, or raise tcp_rmem; "
                "mptcplab diagnose … --scenario FILE, then mptcplab advise FILE",
            )


def starved(case: Case) -> Iterator[Finding]:
    """The send buffer is full, a path has room, and another with a much longer RTT has the data that are missing."""
    for view, verdict, looks in judged(case):
        slow = _blamed(looks)
        if verdict == "buffer" and slow is not None:
            yield Finding(
                "starved",
                case.name,
                f"{_held_up(slow, case)}: the send buffer is full until its data are acknowledged",
                [view.evidence, *_lines(view), *_parameter(view.host, "net.ipv4.tcp_wmem")],
                "raise tcp_wmem, or make the slow path a backup (ip mptcp endpoint change id N backup)",
            )
