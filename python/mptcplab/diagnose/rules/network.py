"""Paths that are full: of what the link takes, or of what losses leave."""

from collections.abc import Iterator
from statistics import median
from typing import Final

from mptcplab.diagnose.connections import Flow, View
from mptcplab.diagnose.rules.finding import Case, Finding, rate
from mptcplab.diagnose.rules.paths import active
from mptcplab.diagnose.rules.rate import judged
from mptcplab.diagnose.rules.sending import look

_LOSS: Final = 0.005
_NO_QUEUE: Final = 1.2
"""Times the least RTT below which losses are not those of a queue that is full."""


def _network(case: Case) -> Iterator[tuple[View, Flow, str]]:
    """Paths whose congestion windows are full, each with `loss`, `link` or `growing`."""
    for view, _, _ in judged(case):
        for flow in active(view.flows):
            if not flow.looks or sum(look([(flow, each)], None).verdict == "network" for each in flow.looks) * 2 <= len(
                flow.looks
            ):
                continue
            # The median: a host that is busy answers late once in a while.
            usual = median(each.number("rtt") or 0 for each in flow.looks)
            queue = usual >= _NO_QUEUE * (flow.min_rtt_ms or 0)
            if (flow.loss or 0) >= _LOSS and not queue:
                yield view, flow, "loss"
            elif queue or (flow.last.number("bytes_retrans") or 0) > 0:
                yield view, flow, "link"
            else:
                yield view, flow, "growing"


def loss(case: Case) -> Iterator[Finding]:
    """The congestion window is full, half a percent or more is sent again, and the RTT is near its least."""
    for _, flow, kind in _network(case):
        if kind == "loss":
            yield Finding(
                "loss",
                case.name,
                f"{flow.last.local} → {flow.last.remote}: {flow.loss or 0:.1%} of the "
                f"bytes were sent again at an RTT of {flow.mean('rtt') or 0:.0f} ms, whose least is "
                f"{flow.min_rtt_ms or 0:.0f} ms: no queue loses them",
                [flow.last.evidence],
                f"ping -I {flow.last.local.address} -c 200 -i 0.05 {flow.last.remote.address}; a congestion control "
                "that does not take every loss for congestion (bbr)",
            )


def link(case: Case) -> Iterator[Finding]:
    """The congestion window is full, and there is a queue, or what it lost."""
    full = [(view, flow) for view, flow, kind in _network(case) if kind == "link"]
    if full:
        view = full[0][0]
        flows = [flow for _, flow in full]
        which = (
            "all paths are"
            if len(flows) == len(active(view.flows))
            else f"{flows[0].last.local} → {flows[0].last.remote} is"
        )
        told = [value for flow in flows if (value := flow.rate_bps("bytes_acked")) is not None]
        yield Finding(
            "link",
            case.name,
            f"{which} full" + (f", {rate(sum(told))} together" if told else ""),
            [flow.last.evidence for flow in flows],
            "nothing: the connection uses what its paths carry",
        )


def window_growing(case: Case) -> Iterator[Finding]:
    """The congestion window is full, without a queue and without a loss so far."""
    for _, flow, kind in _network(case):
        if kind == "growing":
            yield Finding(
                "window-growing",
                case.name,
                f"{flow.last.local} → {flow.last.remote}: the congestion window of "
                f"{flow.last.number('cwnd') or 0:.0f} segments is full, and no queue has been met yet",
                [flow.last.evidence],
                "look again later in the transfer",
            )
