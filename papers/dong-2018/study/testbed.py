"""The Linux testbed of §6, on `sim`: five schedulers over two wired paths, ten repetitions there, more here."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import polars as pl
from mptcplab.reproduce import Claim, Context, Exact, Outcome, below, every
from mptcplab.reproduce import Found as Mean

from . import rules
from .downloads import NAMES, again_of, by_name, cases, explain, ratio, retransmitted, second_share
from .measure import ONE, TESTBED, Found, average, by_seed, chart, least, table
from .short import K, seeds

_FIRST: Final[dict[str, Any]] = {"kb": 256, "ways": ({"rate": 8, "rtt": 20}, {"rate": 8, "rtt": 100})}
"""Where min-RTT is late, by figure 27."""


def _doubled(ways: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple({**way, "rtt": 2 * way["rtt"]} for way in ways)


def _segments(found: Found, **labels: object) -> float:
    """On the second subflow, a run."""
    rows = found.rows("subflows", **labels).filter(pl.col("path") == "p1")
    return float(rows["segments_sent"].sum()) / found.rows(**labels).height


def figure_27(context: Context) -> Outcome:
    """16 and 256 KB at 8 Mbit/s."""
    points: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"kb": kb, "rtt_ms": rtt}, {"kb": kb, "ways": ({"rate": 8, "rtt": 20}, {"rate": 8, "rtt": rtt})})
        for kb in (16, 256)
        for rtt in (20, 40, 60, 80, 100)
    ]
    found = Found(context, cases(points, tcp=True), [1])
    printed = context.published
    small = {name: found.mean_ms(scheme=name, kb=16, rtt_ms=100) for name in TESTBED}
    large = {name: found.mean_ms(scheme=name, kb=256, rtt_ms=100) for name in TESTBED}
    spread = max(small.values()) - min(small.values())
    verdict_small = rules.number(printed["small"], average(list(small.values())) / 1e3)
    others = min(value for name, value in large.items() if name != "min-rtt")
    late = large["min-rtt"] - others
    verdict_late = rules.number(printed["late"], late)
    rows = found.rows("subflows", kb=256, rtt_ms=100).filter(pl.col("path") == "p1")
    stray = {name: float(rows.filter(pl.col("scheme") == name)["segments_sent"].sum()) for name in TESTBED}
    verdict_stray = every(Exact(1 if name == "min-rtt" else 0, value) for name, value in stray.items())
    rows_all = table(found, ["scheme", "kb", "rtt_ms"])
    return Outcome(
        [
            Claim(
                "small",
                "16 KB take 0.216 s with any scheduler",
                printed["small"],
                f"{by_name(small)} ms; all within {spread:.1f} ms",
                verdict_small,
                explain(
                    context,
                    verdict_small,
                    _FIRST | {"kb": 16},
                    lambda found, variant: found.mean_ms(scheme="min-rtt", variant=variant) / 1e3,
                    lambda value: rules.number(printed["small"], value),
                    {
                        "windows from 1": {"tcp": {"initial_window": 1}},
                        "times read one way": {"ways": _doubled(_FIRST["ways"])},
                        "both": {"ways": _doubled(_FIRST["ways"]), "tcp": {"initial_window": 1}},
                    },
                ),
            ),
            Claim(
                "late",
                "With 256 KB and 100 ms min-RTT ends 230 ms after the others",
                printed["late"],
                f"{late:.0f} ms after the first ({by_name(large)} ms)",
                verdict_late,
                explain(
                    context,
                    verdict_late,
                    _FIRST,
                    lambda found, variant: (
                        found.mean_ms(scheme="min-rtt", variant=variant)
                        - min(found.mean_ms(scheme=each, variant=variant) for each in TESTBED if each != "min-rtt")
                    ),
                    lambda value: rules.number(printed["late"], value),
                    {"all lost on the slow path": {"ways": (_FIRST["ways"][0], {**_FIRST["ways"][1], "loss": 0.99})}},
                ),
            ),
            Claim(
                "stray-packets",
                "There min-RTT alone sends a single packet on the slow path",
                printed["stray-packets"],
                f"segments: {by_name(stray)}",
                verdict_stray,
                explain(
                    context,
                    verdict_stray,
                    _FIRST,
                    lambda found, variant: _segments(found, scheme="min-rtt", variant=variant),
                    lambda value: Exact(1, value),
                ),
            ),
        ],
        tables=[("Completion, ms", rows_all)],
        figures=[("256 KB", chart(rows_all.filter(pl.col("kb") == 256), "rtt_ms", "RTT of the second path, ms"))],
    )


_WAYS: Final = ({"rate": 8, "rtt": 20}, {"rate": 8, "rtt": 100})


def lossy(loss: float, rate: float = 8) -> tuple[dict[str, Any], ...]:
    """The paths of figures 28 to 30."""
    return tuple({**way, "rate": rate, "loss": loss} for way in _WAYS)


def _figure_28(context: Context) -> tuple[Found, tuple[float, ...]]:
    losses = (0.001, 0.01, 0.03) if context.quick else (0.001, 0.005, 0.01, 0.02, 0.03, 0.05)
    points: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"loss": loss}, {"kb": 256, "ways": lossy(loss)}) for loss in losses
    ]
    return Found(context, cases(points, tcp=True), seeds(context, 200, 20)), losses


def figure_28(context: Context) -> Outcome:
    """256 KB with loss."""
    found, losses = _figure_28(context)
    printed = context.published
    claims = []
    for name in TESTBED:
        key = f"retransmitted-{name}"
        value = retransmitted(found, scheme=name, loss=0.03)
        verdict = rules.points(printed[key], value)
        claims.append(
            Claim(
                key,
                f"{NAMES[name]} retransmits so much at 3 % loss, %",
                printed[key],
                value,
                verdict,
                explain(
                    context,
                    verdict,
                    _at(0.03),
                    partial(again_of, name),
                    partial(rules.points, printed[key]),
                    full=50,
                ),
            )
        )
    ms = {loss: {name: found.mean_ms(scheme=name, loss=loss) for name in TESTBED} for loss in losses}
    low = ms[losses[0]]
    verdict_low = rules.alike(max(low.values()), min(low.values()))
    high = {name: average([ms[loss][name] for loss in losses[1:]]) for name in TESTBED}
    slower = [name for name in ("daps", "min-rtt") if name in high]
    better = [name for name in high if name not in slower]
    verdict_worse = every([below(high[fast], high[slow]) for fast in better for slow in slower])
    verdict_blest = below(high["dmptcp"], high["blest"])
    rows = table(found, ["scheme", "loss"])
    return Outcome(
        [
            *claims,
            Claim(
                "low-loss",
                f"At {100 * losses[0]:g} % the schedulers differ little",
                None,
                f"ms: {by_name(low)}",
                verdict_low,
                explain(
                    context,
                    verdict_low,
                    _at(losses[0]),
                    partial(ratio, TESTBED, TESTBED),
                    lambda value: rules.alike(value, ONE),
                    full=50,
                ),
            ),
            Claim(
                "worse",
                "With more loss DAPS and min-RTT are slower than the others",
                None,
                f"ms, mean of the other losses: {by_name(high)}",
                verdict_worse,
                explain(
                    context,
                    verdict_worse,
                    _at(0.03),
                    partial(ratio, slower, better, least=True),
                    lambda value: below(ONE, value),
                    full=50,
                ),
            ),
            Claim(
                "better-than-blest",
                "DMPTCP is sooner than BLEST",
                None,
                f"{high['dmptcp']:.0f} to {high['blest']:.0f} ms",
                verdict_blest,
                explain(
                    context,
                    verdict_blest,
                    _at(0.03),
                    partial(ratio, ["blest"], ["dmptcp"]),
                    lambda value: below(ONE, value),
                    full=50,
                ),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[("256 KB over the loss rate", chart(rows, "loss", "loss"))],
    )


def _at(loss: float) -> dict[str, Any]:
    """A point of figure 28."""
    return {"kb": 256, "ways": lossy(loss)}


def _sent(name: str, path: str, found: Found, variant: str) -> Mean:
    """Segments of a run on a path."""
    return _on(found.rows("subflows", scheme=name, variant=variant), path)


def _on(rows: pl.DataFrame, path: str) -> Mean:
    return by_seed(rows, pl.col("segments_sent").filter(pl.col("path") == path).sum())


def _lost_goodput(name: str, found: Found, variant: str) -> Mean:
    """% below min-RTT's."""
    return 100 * (1 - found.mean_ms(scheme="min-rtt", variant=variant) / found.mean_ms(scheme=name, variant=variant))


def table_4(context: Context) -> Outcome:
    """Packets by subflow at 3 %."""
    found, _ = _figure_28(context)
    printed = context.published
    claims = []
    for name in TESTBED:
        rows = found.rows("subflows", scheme=name, loss=0.03)
        for subflow in (0, 1):
            key = f"{name}-{subflow}"
            value = _on(rows, f"p{subflow}")
            verdict = rules.number(printed[key], value)
            claims.append(
                Claim(
                    key,
                    f"{NAMES[name]} sends so many packets on subflow {subflow}",
                    printed[key],
                    value,
                    verdict,
                    explain(
                        context,
                        verdict,
                        {"kb": 256, "ways": lossy(0.03)},
                        partial(_sent, name, f"p{subflow}"),
                        partial(rules.number, printed[key]),
                        full=50,
                    ),
                )
            )
    return Outcome(
        claims,
        not_covered=dict.fromkeys(("rounds-dmptcp", "rounds-blest"), "Results do not count rounds of a subflow."),
    )


def _figure_29(context: Context) -> tuple[Found, tuple[int, ...]]:
    rates = (2, 20) if context.quick else (2, 8, 20, 50, 100)
    points: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"rate": rate}, {"kb": 8192, "ways": lossy(0.03, rate)}) for rate in rates
    ]
    return Found(context, cases(points), seeds(context, 20, 3)), rates


def figure_29(context: Context) -> Outcome:
    """Goodput of 8 MB."""
    found, rates = _figure_29(context)
    printed = context.published
    ms = {rate: {name: found.mean_ms(scheme=name, rate=rate) for name in TESTBED} for rate in rates}
    claims = []
    for name in ("daps", "otias"):
        losses = [100 * (1 - ms[rate]["min-rtt"] / ms[rate][name]) for rate in rates]
        for key, value in ((f"{name}-least", min(losses)), (f"{name}-most", max(losses))):
            verdict = rules.points(printed[key], value)
            text = f"{NAMES[name]}'s goodput is {key.split('-')[1]} so many % below min-RTT's"
            worst = max(ms[rate][name] / ms[rate]["min-rtt"] for rate in rates)
            rate = next(rate for rate in rates if ms[rate][name] / ms[rate]["min-rtt"] == worst)
            why = explain(
                context,
                verdict,
                {"kb": 8192, "ways": lossy(0.03, rate)},
                partial(_lost_goodput, name),
                partial(rules.points, printed[key]),
                full=5,
            )
            claims.append(Claim(key, text, printed[key], value, verdict, why))
    worse = ["daps", "otias"]
    good = [name for name in TESTBED if name not in worse]
    three = every([below(ms[rate][a], ms[rate][b]) for rate in rates for a in good for b in worse])
    blest = every([below(ms[rate]["dmptcp"], ms[rate]["blest"]) for rate in rates])
    goodput = {name: average([8 * 8192 * K / ms[rate][name] / 1e3 / rate for rate in rates]) for name in TESTBED}
    claims.append(
        Claim(
            "better-three",
            "BLEST, min-RTT and DMPTCP have more goodput than DAPS and OTIAS",
            None,
            f"of a link's capacity: {by_name(goodput, 3)}",
            three,
            explain(
                context,
                three,
                _BULK,
                partial(ratio, worse, good, least=True),
                lambda value: below(ONE, value),
                full=5,
            ),
        )
    )
    claims.append(
        Claim(
            "better-than-blest",
            "DMPTCP has more goodput than BLEST",
            None,
            f"of a link's capacity: {by_name(goodput, 3)}",
            blest,
            explain(
                context,
                blest,
                _BULK,
                partial(ratio, ["blest"], ["dmptcp"]),
                lambda value: below(ONE, value),
                full=5,
            ),
        )
    )
    rows = table(found, ["scheme", "rate"])
    return Outcome(
        claims,
        tables=[("Completion, ms", rows)],
    )


_BULK: Final[dict[str, Any]] = {"kb": 8192, "ways": lossy(0.03, 20)}


def figure_30(context: Context) -> Outcome:
    """Retransmissions and shares in the same transfers."""
    found, rates = _figure_29(context)
    printed = context.published
    again = {name: retransmitted(found, scheme=name) for name in TESTBED}
    share = {name: second_share(found, scheme=name) for name in TESTBED}
    claims = []
    ratios = [
        100 * (retransmitted(found, scheme="daps", rate=r) / retransmitted(found, scheme="min-rtt", rate=r) - 1)
        for r in rates
    ]
    verdict = rules.points(printed["daps-retransmissions"], max(ratios))
    text = "DAPS retransmits up to so many % more than min-RTT"
    claims.append(
        Claim(
            "daps-retransmissions",
            text,
            printed["daps-retransmissions"],
            max(ratios),
            verdict,
            explain(
                context,
                verdict,
                _BULK,
                lambda found, variant: (
                    100
                    * (
                        retransmitted(found, scheme="daps", variant=variant)
                        / retransmitted(found, scheme="min-rtt", variant=variant)
                        - 1
                    )
                ),
                lambda value: rules.points(printed["daps-retransmissions"], value),
                full=5,
            ),
        )
    )
    fewest = least(again, "otias")
    claims.append(
        Claim(
            "otias-fewest",
            "OTIAS retransmits least",
            None,
            f"%: {by_name(again, 2)}",
            fewest,
            explain(
                context,
                fewest,
                _BULK,
                lambda found, variant: (
                    again_of("otias", found, variant)
                    / min(again_of(name, found, variant) for name in TESTBED if name != "otias")
                ),
                lambda value: below(value, ONE),
                full=5,
            ),
        )
    )
    fewer = least(share, "blest")
    claims.append(
        Claim(
            "blest-least-share",
            "BLEST sends the least on the second subflow",
            None,
            f"%: {by_name(share, 1)}",
            fewer,
            explain(
                context,
                fewer,
                _BULK,
                lambda found, variant: (
                    second_share(found, scheme="blest", variant=variant)
                    - min(second_share(found, scheme=name, variant=variant) for name in TESTBED if name != "blest")
                ),
                lambda value: below(value, Mean(0.0), whole=100),
                full=5,
            ),
        )
    )
    return Outcome(claims)
