"""What section VII leaves for future work: bad paths discarded, and stability where round trips are unequal."""

from typing import Any, Final

import polars as pl
from mptcplab.reproduce import Claim, Context, Outcome, at_least, every
from mptcplab.reproduce.context import Wanted

from . import networks, scenario_c
from .charts import OPTIMUM
from .grid import seeds
from .numbers import Estimate, estimate, less, rate
from .traces import Trace, trace

_LITTLE: Final = 0.1
"""A path that brings less of its connection's data is discarded for a minute: half of an even share, halved again and
rounded, set before any run."""
_FORMS: Final = ("LIA", "OLIA", "OLIA, bad paths discarded")
_RTTS_MS: Final = (60, 120, 240, 480)
"""Of the second path; the first has 120."""


def _control(name: str, context: Context) -> str | dict[str, Any]:
    if name == "LIA":
        return "lia"
    least = {} if context.machine["form"] == "equations" else {"min_ssthresh": 1}
    if name == "OLIA":
        return {"name": "olia", **least}
    return {"name": "olia", **least, "suppress_below": _LITTLE}


def future_discarding(context: Context) -> Outcome:
    """Scenario C: OLIA that leaves a bad path altogether, in place of a segment a round trip."""
    users, rates = scenario_c.places(context.quick)
    wanted: list[Wanted] = []
    for form in _FORMS:
        for c1 in rates:
            for n1 in users:
                scenario = networks.scenario_c(_control(form, context), n1, c1, quick=context.quick)
                scenario = networks.as_ran(scenario, context)
                wanted += [({"form": form, "n1": n1, "c1": c1}, scenario, seed) for seed in seeds(context.quick)]
    runs = context.run_many(wanted)
    rows, single, multi = [], {}, {}
    for form in _FORMS:
        for c1 in rates:
            for n1 in users:
                own = runs.connections.filter((pl.col("form") == form) & (pl.col("n1") == n1) & (pl.col("c1") == c1))
                key = (form, n1, c1)
                single[key], multi[key] = rate(own, "single"), rate(own, "multi")
                probing = scenario_c.law(OPTIMUM, n1 / networks.N2, c1)
                rows.append(
                    {
                        "control": form,
                        "N1/N2": n1 / networks.N2,
                        "C1/C2": c1,
                        "TCP users, of C2": single[key].text(),
                        "optimum with probing": probing[1],
                        "optimum without": 1.0,
                        "multipath users, of C1": multi[key].text(3, 1 / c1),
                    }
                )
    places = [(n1, c1) for c1 in rates for n1 in users]
    gains = [single[_FORMS[2], *place].mean / single["OLIA", *place].mean for place in places]
    costs = [multi[_FORMS[2], *place].mean / multi["OLIA", *place].mean for place in places]
    return Outcome(
        [
            Claim(
                "discarding",
                "Without bad paths TCP users have more than beside OLIA's probing, and multipath users lose nothing",
                None,
                f"TCP users have {min(gains):.2f} to {max(gains):.2f} times as much, multipath "
                f"users {min(costs):.2f} to {max(costs):.2f} times",
                every(
                    [less(single["OLIA", *place], single[_FORMS[2], *place]) for place in places],
                    [at_least(multi[_FORMS[2], *place].mean / multi["OLIA", *place].mean, 1.0) for place in places],
                ),
                "algorithm: what OLIA takes of the second access point is more than the probing traffic (figure 11), "
                "so that without it multipath users have less.",
            )
        ],
        tables=[
            (
                f"Scenario C; a path with less than {_LITTLE:.0%} of a connection's data rests for a minute",
                pl.DataFrame(rows),
            )
        ],
    )


_FACTORS: Final[dict[str, dict[str, Any]]] = {
    "as in the paper": {},
    "background: flows of 70 kB fill a fifth of the second access point": {"background": True},
    "multipath users send files of 1 MB, one after another": {"size": "1 MB"},
    "multipath users have a receive window of 20 kB": {"window": "20 kB"},
}
"""Set before any run."""


def _with_factor(scenario: dict[str, Any], factor: dict[str, Any]) -> dict[str, Any]:
    connections = {name: dict(each) for name, each in scenario["connection"].items()}
    if "background" in factor:
        # A fifth of 10 Mbit/s in files of 70 kB.
        arrivals = {"distribution": "poisson", "rate": "3.6 /s"}
        flows = {"kind": "flows", "size": "70 kB", "arrivals": arrivals}
        connections["background"] = {"paths": ["ap2"], "protocol": "tcp", "application": flows}
    if "size" in factor:
        connections["multi"]["application"] = {"kind": "requests", "size": factor["size"]}
    if "window" in factor:
        connections["multi"]["receive_buffer"] = factor["window"]
    return {**scenario, "connection": connections}


def future_factors(context: Context) -> Outcome:
    """Scenario C with background traffic, short flows and small receive windows: LIA and OLIA."""
    wanted: list[Wanted] = []
    for name, factor in _FACTORS.items():
        for form in _FORMS[:2]:
            scenario = networks.scenario_c(_control(form, context), networks.N2, 1.0, quick=context.quick)
            scenario = networks.as_ran(_with_factor(scenario, factor), context)
            wanted += [({"factor": name, "form": form}, scenario, seed) for seed in seeds(context.quick)]
    runs = context.run_many(wanted)
    rows, found = [], {}
    for name in _FACTORS:
        for form in _FORMS[:2]:
            own = runs.connections.filter((pl.col("factor") == name) & (pl.col("form") == form))
            found[name, form] = rate(own, "single")
            rows.append(
                {
                    "factor": name,
                    "control": form,
                    "TCP users, of C2": found[name, form].text(),
                    "multipath users, of C1": rate(own, "multi").text(),
                }
            )
    gains = [found[name, "OLIA"].mean / found[name, "LIA"].mean for name in _FACTORS]
    return Outcome(
        [
            Claim(
                "factors",
                "With each of these factors OLIA leaves TCP users more than LIA does",
                None,
                ", ".join(f"{gain:.2f}" for gain in gains) + " times as much, in the order of the table",
                every(less(found[name, "LIA"], found[name, "OLIA"]) for name in _FACTORS),
                "algorithm: where a window of the receiver or the end of a file bounds what multipath users send, the "
                "control has less to say.",
            )
        ],
        tables=[("Scenario C at N1 = N2, C1 = C2", pl.DataFrame(rows))],
    )


def future_stability(context: Context) -> Outcome:
    """Figure 7's network with unequal round trips: whether the windows settle."""
    numbers = range(1, 4 if context.quick else 8)
    values = _RTTS_MS[::2] if context.quick else _RTTS_MS
    wanted: list[Wanted] = []
    for name in _FORMS[:2]:
        for rtt_ms in values:
            scenario = networks.two_paths("olia" if name == "OLIA" else "lia", 5, seconds=60 if context.quick else 120)
            scenario["link"] = {**scenario["link"], "two": {**scenario["link"]["two"], "delay": f"{rtt_ms / 2:g} ms"}}
            scenario = networks.as_ran(scenario, context)
            wanted += [({"control": name, "rtt": rtt_ms}, scenario, seed) for seed in numbers]
    runs = context.run_many(wanted, samples=True)
    assert runs.samples is not None, "they were asked for"
    samples = runs.samples.filter((pl.col("connection") == "multi") & (pl.col("time_s") > 30))
    found: dict[tuple[str, int], Trace] = {}
    for name in _FORMS[:2]:
        for rtt_ms in values:
            found[name, rtt_ms] = trace(samples.filter((pl.col("control") == name) & (pl.col("rtt") == rtt_ms)))
    table = pl.DataFrame(
        [
            {
                "control": name,
                "round trip of the second path, ms": rtt_ms,
                "share of the first path's window": _shares(each).text(),
                "time with over 80 % on one path, %": each.uneven.text(0, 100),
                "changes of that path a minute": each.turns.text(1),
                "standard deviation of the share over 10 s": each.swing.text(2),
            }
            for (name, rtt_ms), each in found.items()
        ]
    )
    most = {name: max(found[name, rtt_ms].swing.mean for rtt_ms in values) for name in _FORMS[:2]}
    told = ", ".join(f"{name} {value:.2f}" for name, value in most.items())
    return Outcome(
        tables=[("A flow on two bottlenecks with 5 TCP users each; the first path has a round trip of 120 ms", table)],
        notes=[f"The largest standard deviation of the first path's share of the windows over 10 s: {told}."],
        not_covered={"open": "A question, which claims nothing; the table and the note answer it."},
        claims=[],
    )


def _shares(each: Trace) -> Estimate:
    return estimate(each.shares)
