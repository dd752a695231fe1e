"""What could be the cause of a difference: one thing changed at a time that the text leaves open, and how far it moves.

The list was made before any of it was run: §6 ran the authors' kernel modules, names no queue of WANem's and no receive
buffer, on which BLEST's decisions depend, and its background flows fill the queues. Linux 3.14 had no RACK, which came
later; two routers run WANem for "a two-way bottleneck link", so that acknowledgments may be lost as well; and no real
link delivers at exact times, as the simulator does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mptcplab.reproduce import Check, Context, Exact
from mptcplab.reproduce.judge import VERDICTS

from .measure import TESTBED, Found, scheduler

Changes = Mapping[str, Any]
OPEN: Final[Mapping[str, Changes]] = {
    "as set": {},
    "kernel forms": {"linux": True},
    "queues of 20 packets": {"queue": "20 packets"},
    "queues of 1,000 packets": {"queue": "1000 packets"},
    "receive buffers of 128 kB": {"buffer": "128 kB"},
    "loss recovery without RACK": {"tcp": {"loss_detection": "sack"}},
    "0.1 ms of jitter": {"jitter": "100 us"},
}
_NEAR: Final = VERDICTS[1]
LOSSY: Final[Mapping[str, Changes]] = {"losses both ways": {"both_ways": True}}
ALONE: Final[Mapping[str, Changes]] = {"without other flows": {"background": 0}}


def form(name: str | None, *, linux: bool) -> Any:  # noqa: ANN401 - what the format takes
    """A scheduler, in its kernel form where it has one."""
    return {"name": name, "variant": "linux"} if linux and name in ("daps", "otias") else scheduler(name)


def tried(
    context: Context,
    make: Callable[..., dict[str, Any]],
    point: Changes,
    value: Callable[[Found, str], float],
    reached: Callable[[float], Check],
    now: Check,
    *,
    seeds: Sequence[int],
    keep: Callable[[Found], Found] = lambda found: found,
    more: Mapping[str, Changes] | None = None,
) -> str:
    """The cause of a claim that does not hold at `point`, or that it is not known: `value` under each change.

    A change is the cause if the claim, `now` different, then holds in part, or if, holding in part, it then holds.
    """
    lossy = any(way.get("loss") for way in point["ways"])
    changes = {**OPEN, **(LOSSY if lossy else {}), **(more or {})}
    cases = [
        (
            {"scheme": name, "variant": variant},
            lambda _, name=name, given={**point, **changed}: make(name, **given),
        )
        for variant, changed in changes.items()
        for name in TESTBED
    ]
    found = keep(Found(context, cases, seeds))
    return told({variant: value(found, variant) for variant in changes}, reached, now)


NS3: Final[Mapping[str, Changes]] = {
    "as set": {},
    "selective acknowledgments": {"tcp": {"loss_detection": "sack"}},
    "timeouts of 200 ms without backoff": {"tcp": {"rto_min": "200 ms", "rto_max": "200 ms", "rto_backoff": False}},
    "queues of 100 packets": {"queue": "100 packets"},
    "joins as in RFC 8684": {"at_once": False},
}
"""Of §5: nothing is said of how MPTCP's code for ns-3 repairs losses, traces show the timeouts, 100 packets are ns-3's
default queue, and that all subflows open at once, as in §4.2.2, is no property of the protocol.
"""
ONE_WAY: Final[Mapping[str, Changes]] = {"times read one way": {"one_way": True}}
_WINDOWS: Final[Changes] = {"max_window": 46, "initial_ssthresh": 46}
"""65,535 bytes in segments of 1,400 (machine.toml, ns3-windows)."""
SUBFLOWS: Final[Mapping[str, Changes]] = {
    **NS3,
    **ONE_WAY,
    "windows and first thresholds of 65,535 bytes": {"tcp": _WINDOWS},
    "windows, times and opening as machine.toml has them": {"tcp": _WINDOWS, "one_way": True, "at_once": False},
}
"""Table 3: besides, what machine.toml lists of mptcp-ns3 and the study does not have. Chosen before the runs."""
SENDER: Final = "to the sender's last acknowledgment"


def tried_bursts(
    context: Context,
    make: Callable[..., Mapping[str, Any]],
    schemes: Sequence[str],
    value: Callable[[Found, str, str], float],
    reached: Callable[[float], Check],
    now: Check,
    *,
    seeds: Sequence[int],
    shared: bool = False,
) -> str:
    """The same for the bursts of §5: `make(scheme, seed, **changed)`, `value(found, variant, column of the time)`."""
    if now.holds:
        return ""
    # The common link's printed times are round trips of the subflows; only disjoint paths are read either way.
    changes = {**NS3, **({} if shared else ONE_WAY)}
    cases = [
        (
            {"scheme": scheme, "variant": variant},
            lambda seed, scheme=scheme, changed=changed: make(scheme, seed, **changed),
        )
        for variant, changed in changes.items()
        for scheme in schemes
    ]
    found = Found(context, cases, seeds)
    values = {variant: value(found, variant, "completion_s") for variant in changes}
    values[SENDER] = value(found, "as set", "sender_completion_s")
    return told(values, reached, now)


def told(values: Mapping[str, float], reached: Callable[[float], Check], now: Check) -> str:
    """The cause, from the value under each change; the first is as the study has it."""
    listed = ", ".join(f"{variant} {each:.4g}" for variant, each in values.items())
    whole = now.verdict != "differs"

    def enough(variant: str) -> bool:
        check = reached(values[variant])
        # A count that is off by one is no cause: where nobody sends anything, one packet is nearly found.
        near = check.verdict == _NEAR and not isinstance(check, Exact)
        return check.holds or (near and not whole)

    first, *others = values
    good = [variant for variant in others if enough(variant)]
    if enough(first):
        ending = (
            "As set it is as the claim has it: the difference lies in the claim's other parts; its cause is not known."
        )
    elif good:
        ending = f"With {' or '.join(good)} the claim holds{'' if whole else ' at least in part'}."
    else:
        ending = "None of these is the cause, which is not known."
    kind = "setting" if good and not enough(first) else "unknown"
    return f"{kind}: one thing changed at a time, it is: {listed}. {ending}"
