"""Tables VII to IX and figures 16 to 18: MPPERT among PERT and MPTCP (LIA) among Reno, on drop-tail and on RED."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.models.pert import Response, settled_delay_s
from mptcplab.reproduce import (
    Claim,
    Context,
    Equality,
    Found,
    Outcome,
    Share,
    below,
    bistable,
    causes,
    every,
    mean_of,
)
from mptcplab.sweeps.frames import Runs

from . import networks, variants
from .numbers import (
    Asked,
    Estimate,
    across,
    by_seed,
    drops,
    less,
    machine_of,
    number,
    queue,
    rate,
    run,
    share,
    subflow,
    truth,
    utilization,
)

_BUFFER: Final = 50
"""Packets: one bandwidth-delay product of 10 Mbit/s and 40 ms."""
_SIDES: Final[Mapping[str, tuple[str, str | dict[str, Any]]]] = {
    "mptcp": ("reno", "lia"),
    "mppert": ("pert", networks.mppert(0.0)),
}
_SEEDS: Final = 6
_SHORT: Final = "chance: windows of a few packets each; the thesis prints one run."


def _span(context: Context) -> networks.Times:
    return networks.spans(machine_of(context), "long", quick=context.quick)


def _pair(context: Context, discipline: str) -> dict[str, Runs]:
    span = _span(context)
    return {
        name: run(
            context,
            [
                (
                    {"side": name},
                    networks.two_paths(
                        (10, 10), control, span, rates=(10, 10), kind=kind, queue=discipline, sample="1 s"
                    ),
                    seed,
                )
                for seed in networks.seeds(context.quick, _SEEDS)
            ],
            samples=True,
        )
        for name, (kind, control) in _SIDES.items()
    }


def _values(runs: Runs) -> dict[str, Estimate]:
    return {
        "background-1": rate(runs.connections, "one"),
        "background-2": rate(runs.connections, "two"),
        "subflow-1": subflow(runs.subflows, "multi", 0),
        "subflow-2": subflow(runs.subflows, "multi", 1),
        "total": rate(runs.connections, "multi"),
        "queue-1": queue(runs.links, "one"),
        "queue-2": queue(runs.links, "two"),
        "system": rate(runs.connections, "", total=True),
    }


_VARIANTS: Final[Mapping[str, tuple[variants.Variant, ...]]] = {
    "mptcp": (variants.WINDOWS, variants.HALF, variants.DOUBLE),
    "mppert": (variants.WINDOWS, variants.SMOOTHED, variants.HALF, variants.DOUBLE),
}


def _try(
    context: Context,
    side: str,
    discipline: str,
    counts: tuple[int, int],
    base: Mapping[str, float],
    prefix: str,
) -> variants.Tried:
    """A side of table VII, VIII or IX under variants: three seeds, without samples."""
    kind, control = _SIDES[side]
    scenario = networks.two_paths(counts, control, _span(context), rates=(10, 10), kind=kind, queue=discipline)
    scenario = networks.as_ran(machine_of(context), scenario)
    scale = {key: 1 if key.startswith("queue") else 1e6 for key in base}
    printed = {key: context.published[f"{prefix}.{key}"] / scale[key] for key in base}

    def carried_out(variant: variants.Variant) -> dict[str, float]:
        changed = variant.of(scenario)
        wanted = [({"variant": variant.text}, changed, seed) for seed in networks.seeds(context.quick)]
        values = _values(run(context, wanted))
        return {key: values[key].mean for key in base}

    chosen = () if context.machine.by_text else _VARIANTS[side]
    return variants.tried(printed, base, chosen, carried_out)


def _means(values: Mapping[str, Estimate]) -> dict[str, float]:
    return {key: each.mean for key, each in values.items()}


def _tables(tries: Mapping[str, variants.Tried]) -> list[tuple[str, pl.DataFrame]]:
    return [(f"Variants of {name.upper()}", each.table()) for name, each in tries.items()]


def _stuck(runs: Runs) -> str:
    """Queues of which flows stay in compete mode, and what the others are like."""
    down = runs.links.filter(pl.col("direction") == "down")
    full = down.filter(pl.col("queue_packets") > _BUFFER / 2)
    rest = down.filter(pl.col("queue_packets") <= _BUFFER / 2)
    usual = rest["queue_packets"].to_numpy().mean() if rest.height else float("nan")
    return (
        f"algorithm: in {full.height} of {down.height} queues all PERT flows went into compete mode at the start and "
        f"stay there, "
        f"with a full buffer and losses; in the others the mean queue is {usual:.1f} packets and "
        f"{rest['drops'].sum()} are lost. PERT has two stable states (docs/algorithms/pert.md)."
    )


def _claims(
    context: Context,
    found: dict[str, dict[str, Estimate]],
    tries: Mapping[str, variants.Tried],
    seen: Mapping[str, str],
) -> list[Claim]:
    """A claim for each printed number; `seen` is what is known of a side besides."""
    claims = []
    for name, got in found.items():
        for key, each in got.items():
            claims.append(
                number(
                    context.published,
                    f"{name}.{key}",
                    each,
                    f"{key.replace('-', ' ')}, {name.upper()}, {'packets' if key.startswith('queue') else 'Mbit/s'}",
                    scale=1 if key.startswith("queue") else 1e6,
                    cause=f"{tries[name].cause(key)} {seen.get(name, '')}".strip(),
                )
            )
    return claims


def _frame(found: dict[str, dict[str, Estimate]]) -> pl.DataFrame:
    keys = next(iter(found.values()))
    return pl.DataFrame([{"": key, **{name: got[key].text() for name, got in found.items()}} for key in keys])


_BREAKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "one RTT for all, as in the thesis": {},
    "the multipath flow's is 2 ms longer": {"longer_ms": 2},
    "8 ms longer": {"longer_ms": 8},
    "2 ms of jitter at the bottlenecks": {"jitter_ms": 2},
}


def _phases(context: Context) -> tuple[pl.DataFrame, str]:
    """Table VII's MPTCP, and what a few milliseconds change: rates over a background flow's."""
    span = _span(context)
    rows: list[dict[str, object]] = []
    ratios: list[float] = []
    for name, breaks in _BREAKS.items():
        scenario = networks.two_paths((10, 10), "lia", span, rates=(10, 10), kind="reno", **breaks)
        runs = run(context, [({"phases": name}, scenario, seed) for seed in networks.seeds(context.quick)])
        got = _values(runs)
        mean = (got["background-1"].mean + got["background-2"].mean) / 2
        ratio = got["total"].mean / mean
        rows.append({"": name, "MPTCP, Mbit/s": got["total"].text(2), "over a background flow's": ratio})
        ratios.append(ratio)
    told = (
        f"algorithm: phase effects (Floyd and Jacobson): the multipath flow gets {ratios[0]:.2f} of a "
        f"background flow's rate here, {ratios[1]:.2f} and {ratios[2]:.2f} if its RTT is 2 and 8 ms longer, "
        f"{ratios[3]:.2f} with 2 ms of jitter (published: 0.33). Who is hit by an overflow is a matter of "
        "milliseconds, not of the control."
    )
    return pl.DataFrame(rows), told


def table_7(context: Context) -> Outcome:
    """Drop-tail."""
    runs = _pair(context, "drop-tail")
    found = {name: _values(each) for name, each in runs.items()}
    mptcp, mppert = found["mptcp"], found["mppert"]
    part = {
        name: across(lambda one, two: 100 * (one + two) / 2 / _BUFFER, got["queue-1"], got["queue-2"])
        for name, got in found.items()
    }
    theory = 100 * settled_delay_s(Response(0.040), 1250, 0.040, 10.55) / 0.040
    behind, close = (
        across(lambda total, *backs: total / max(backs), got["total"], got["background-1"], got["background-2"]).found
        for got in (mptcp, mppert)
    )
    stuck = _stuck(runs["mppert"])
    phases, told = _phases(context)
    tries = {name: _try(context, name, "drop-tail", (10, 10), _means(got), name) for name, got in found.items()}
    claims = _claims(context, found, tries, {"mptcp": causes.text_of(told), "mppert": causes.text_of(stuck)})
    claims += [
        number(context.published, "mptcp.queue-part", part["mptcp"], "Queue, MPTCP, % of the buffer",
               scale=1, percent=True,
               cause=tries["mptcp"].cause("queue-part")),
        number(context.published, "mppert.queue-part", part["mppert"],
               f"Queue, MPPERT, % of the buffer (fixed point: {theory:.0f})", scale=1, percent=True, cause=stuck),
        truth(
            "mptcp-below",
            "The MPTCP flow gets considerably less than its background flows",
            f"{behind:.2f} of the best background flow's",
            below(behind, Found(1.0), far=True),
            cause=told,
        ),
        truth(
            "mppert-near-best",
            "The MPPERT flow is close to its best background flow",
            f"{close:.2f} of it",
            Equality(close, Found(1.0)),
            cause=_SHORT,
        ),
        truth(
            "system-higher",
            "The total of all flows is higher with MPPERT",
            f"{mppert['system'].text(2)} against {mptcp['system'].text(2)} Mbit/s",
            less(mptcp["system"], mppert["system"]),
            cause="algorithm: both fill the links all the time.",
        ),
    ]  # fmt: skip
    return Outcome(
        claims,
        tables=[
            ("Mbit/s of packets; queues in packets", _frame(found)),
            ("MPTCP where phases are broken", phases),
            *_tables(tries),
        ],
    )


def _capped_gain(context: Context) -> str:
    """What RED is worth for MPTCP where windows are capped, which makes it collapse on drop-tail."""
    totals = {}
    for discipline in ("drop-tail", "red"):
        scenario = networks.two_paths((10, 10), "lia", _span(context), rates=(10, 10), kind="reno", queue=discipline)
        changed = variants.WINDOWS.of(networks.as_ran(machine_of(context), scenario))
        wanted = [({"discipline": discipline}, changed, seed) for seed in networks.seeds(context.quick)]
        totals[discipline] = rate(run(context, wanted).connections, "multi").mean
    return (
        f"setting: here MPTCP does not collapse on drop-tail (table VII). With {variants.WINDOWS.text}, it does: it "
        f"gets "
        f"{totals['drop-tail']:.2f} Mbit/s there and {totals['red']:.2f} with RED, "
        f"{totals['red'] / totals['drop-tail']:.1f} times as much."
    )


def table_8(context: Context) -> Outcome:
    """RED."""
    runs = _pair(context, "red")
    found = {name: _values(each) for name, each in runs.items()}
    tail = _values(_pair(context, "drop-tail")["mptcp"])
    tries = {name: _try(context, name, "red", (10, 10), _means(got), name) for name, got in found.items()}
    claims = _claims(context, found, tries, {})
    gain = found["mptcp"]["total"].found / tail["total"].found
    lower = found["mppert"]["system"].found / found["mptcp"]["system"].found
    claims += [
        truth(
            "mptcp-better",
            "MPTCP gets far more with RED than with drop-tail (published: 3.1 times)",
            f"{gain:.2f} times as much",
            below(Found(1.0), gain, far=True),
            cause=_capped_gain(context),
        ),
        truth(
            "pert-compete",
            "With RED the total of all PERT flows is lower than that of Reno flows",
            f"{lower:.3f} of it",
            below(lower, Found(1.0)),
            cause="algorithm: early drops keep the queue so short that PERT stays below its lower threshold and fills "
            "the link.",
        ),
    ]
    return Outcome(claims, tables=[("Mbit/s of packets; queues in packets", _frame(found)), *_tables(tries)])


def figure_16(context: Context) -> Outcome:
    """Losses over time."""
    runs = _pair(context, "drop-tail")
    start = _span(context)[0]
    lost = {
        name: across(lambda one, two: one + two, drops(each.links, "one"), drops(each.links, "two"))
        for name, each in runs.items()
    }
    rows = []
    for name, each in runs.items():
        assert each.samples is not None, "asked for"
        down = each.samples.filter(
            (pl.col("kind") == "link") & (pl.col("direction") == "down") & (pl.col("seed") == 1)
        ).sort("link", "time_s")
        rows.append(
            down.select(
                "time_s", bottleneck="link", lost=pl.col("drops").cum_sum().over("link"), control=pl.lit(name.upper())
            )
        )
    frame = pl.concat(rows)
    mptcp = frame.filter(pl.col("control") == "MPTCP").group_by("bottleneck").agg(
        seconds=(pl.col("lost").diff().fill_null(0) > 0).filter(pl.col("time_s") > start).mean()
    )  # fmt: skip
    often = mean_of(mptcp["seconds"].to_list())
    chart = (
        alt.Chart(frame)
        .mark_line()
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("lost:Q", title="packets lost until then"),
            color=alt.Color("control:N", title=None),
            strokeDash=alt.StrokeDash("bottleneck:N", title="bottleneck"),
        )
        .properties(width=480, height=240)
    )
    return Outcome(
        [
            truth(
                "pert-none",
                f"Among PERT flows nothing is lost after {start} s",
                f"{lost['mppert'].mean:.1f} packets a run, none in {sum(each == 0 for each in lost['mppert'].values)} "
                f"of "
                f"{len(lost['mppert'].values)} runs",
                bistable(0.0, [float(each > 0) for each in lost["mppert"].values], whole=1.0),
                cause=_stuck(runs["mppert"]),
            ),
            truth(
                "tcp-always",
                "With TCP packets are lost all the time",
                f"{lost['mptcp'].mean:.0f} packets a run, in {100 * often:.0f} % of the seconds",
                Share(1.0, often),
                cause="algorithm: losses come in bursts, when the buffer overflows.",
            ),
        ],
        figures=[("Packets lost at both bottlenecks, one seed", chart)],
    )


def table_9(context: Context) -> Outcome:
    """Three loads on path 2: MPTCP with RED, MPPERT with drop-tail."""
    span, published = _span(context), context.published
    wanted: list[Asked] = []
    for name, (kind, control) in _SIDES.items():
        discipline = "red" if name == "mptcp" else "drop-tail"
        for count in (10, 5, 2):
            scenario = networks.two_paths(
                (10, count), control, span, rates=(10, 10), kind=kind, queue=discipline, sample="1 s"
            )
            wanted += [
                ({"side": name, "count": count}, scenario, seed) for seed in networks.seeds(context.quick, _SEEDS)
            ]
    runs = run(context, wanted)
    claims: list[Claim] = []
    near: dict[tuple[str, int], Found] = {}
    system: dict[tuple[str, int], Found] = {}
    shares: dict[tuple[str, int], Found] = {}
    tries: dict[str, variants.Tried] = {}
    rows = []
    for name in _SIDES:
        for count in (10, 5, 2):
            mine = (pl.col("side") == name) & (pl.col("count") == count)
            connections, subflows = runs.connections.filter(mine), runs.subflows.filter(mine)
            found = {
                "background-1": rate(connections, "one"),
                "background-2": rate(connections, "two"),
                "subflow-1": subflow(subflows, "multi", 0),
                "subflow-2": subflow(subflows, "multi", 1),
                "total": rate(connections, "multi"),
                "system": rate(connections, "", total=True),
            }
            second = share(subflows, "multi", 1)
            best = across(max, found["background-1"], found["background-2"])
            near[name, count] = abs(found["total"].found / best.found - 1)
            system[name, count] = found["system"].found
            shares[name, count] = second.found
            rows.append({"control": name, "case": f"10(10)+10({count})", **{k: v.text() for k, v in found.items()}})
            case = f"10-{count}.{name}"
            discipline = "red" if name == "mptcp" else "drop-tail"
            tried = tries[case] = _try(context, name, discipline, (10, count), _means(found), case)
            for key, each in found.items():
                text = f"{key.replace('-', ' ')}, {name.upper()}, 10(10)+10({count}), Mbit/s"
                claims.append(number(published, f"{case}.{key}", each, text, cause=tried.cause(key)))
            # At 10(10)+10(10) the thesis prints the smaller part.
            printed = published[f"{case}.distribution"]
            larger = max(printed, 1 - printed)
            found_share = across(lambda part: max(part, 100 - part) / 100, second)
            claims.append(
                Claim(
                    f"{case}.distribution",
                    f"The larger subflow's part, {name.upper()}, 10(10)+10({count})",
                    larger,
                    found_share.text(),
                    bistable(larger, found_share.values, whole=1.0),
                    tried.cause("distribution"),
                )
            )
    closer = [below(near["mppert", count], near["mptcp", count], whole=1.0) for count in (10, 5, 2)]
    higher = [below(system["mptcp", count], system["mppert", count]) for count in (10, 5, 2)]
    apart = [abs(shares["mppert", count] - shares["mptcp", count]) for count in (10, 5, 2)]
    claims += [
        truth(
            "closer-to-best",
            "MPPERT's total is closer to its best background flow's than MPTCP's",
            "; ".join(
                f"10({count}): {100 * near['mppert', count]:.0f} against {100 * near['mptcp', count]:.0f} % off"
                for count in (10, 5, 2)
            ),
            every(closer),
            cause=_SHORT,
        ),
        truth(
            "system-higher",
            "The total of all flows is higher with MPPERT in all three cases",
            "; ".join(f"{system['mppert', c]:.2f} against {system['mptcp', c]:.2f}" for c in (10, 5, 2)) + " Mbit/s",
            every(higher),
            cause="algorithm: RED with a buffer of one product keeps these links busy too.",
        ),
        truth(
            "distribution-alike",
            "Both distribute the traffic alike",
            ", ".join(f"{each:.0f}" for each in apart) + " points apart",
            every(Equality(shares["mppert", c], shares["mptcp", c], whole=100) for c in (10, 5, 2)),
            cause=_SHORT,
        ),
    ]
    return Outcome(claims, tables=[("Mbit/s of packets", pl.DataFrame(rows)), *_tables(tries)])


def _alpha(context: Context, scenario: Mapping[str, Any]) -> str:
    """Whether MPPERT is behind for want of a larger α: the thesis names 16 for mixed loads and 32 elsewhere."""
    found = {}
    for cap in (32.0, 64.0, 128.0):
        control = networks.mppert(-0.5, alpha_compete=cap, alpha_max=max(32.0, cap))
        multi = {**scenario["connection"]["multi"], "congestion": control}
        changed = {**scenario, "connection": {**scenario["connection"], "multi": multi}}
        runs = run(context, [({"cap": cap}, changed, seed) for seed in networks.seeds(context.quick)])
        found[cap] = rate(runs.connections, "multi").mean, rate(runs.connections, "lia").mean
    told = ", ".join(f"{mine:.2f} against {other:.2f} with {cap:g}" for cap, (mine, other) in found.items())
    enough = [cap for cap, (mine, other) in found.items() if mine > other]
    ending = f"α of {enough[0]:g} makes it so." if enough else "So α is not the cause, which is not known."
    return f"unknown: α has a bound between Reno flows. In Mbit/s, MPPERT against MPTCP, it is {told}. {ending}"


def figure_17(context: Context) -> Outcome:
    """Both multipath flows among PERT and Reno. Counts are not printed: 40(40)+40(20)."""
    span = networks.times(context.quick)
    scenario = networks.two_paths((40, 20), networks.mppert(-0.5), span, kind="mix", rtt_ms=160)
    mptcp = networks.multi(("one", "two"), "lia")
    scenario["connection"] = {**scenario["connection"], "lia": mptcp}
    runs = run(context, [({}, scenario, seed) for seed in networks.seeds(context.quick)])
    got = {name: rate(runs.connections, name) for name in ("multi", "lia")}
    shares = {name: share(runs.subflows, name, 1) for name in ("multi", "lia")}
    backs = {name: rate(runs.connections, name) for name in ("one pert", "one reno", "two pert", "two reno")}
    return Outcome(
        [
            truth(
                "mppert-higher",
                "The MPPERT flow gets more than the MPTCP flow",
                f"{got['multi'].text(2)} against {got['lia'].text(2)} Mbit/s",
                less(got["lia"], got["multi"]),
                cause=_alpha(context, scenario),
            ),
            truth(
                "both-shift",
                "Both move traffic to the less congested path 2",
                f"{shares['multi'].text(1)} and {shares['lia'].text(1)} % there",
                every(below(Found(50.0), each.found, whole=100) for each in shares.values()),
                cause="setting: the figure's loads are not printed. Between Reno flows that fill the queues PERT's "
                "windows are "
                "near one packet on both paths, and chance decides where there is more.",
            ),
        ],
        tables=[
            (
                "Mbit/s of packets",
                pl.DataFrame([{"flow": name, "rate": each.text()} for name, each in {**got, **backs}.items()]),
            )
        ],
        notes=["The figure does not name its loads: 40(40)+40(20), half PERT, half Reno; k = -1/2."],
    )


def figure_18(context: Context) -> Outcome:
    """Use of links with few flows, scaled."""
    span = networks.times(context.quick)
    scales = (1, 2) if context.quick else (1, 2, 4)
    wanted: list[Asked] = []
    for low in (15, 10):
        for scale in scales:
            for name, (kind, control) in _SIDES.items():
                scenario = networks.two_paths((scale, scale), control, span, rates=(low * scale, 20 * scale), kind=kind)
                label = {"low": low, "scale": scale, "side": name}
                wanted += [(label, scenario, seed) for seed in networks.seeds(context.quick, 5)]
    runs = run(context, wanted)
    weights = pl.when(pl.col("name") == "one").then(pl.col("low")).otherwise(20)
    rows = []
    each_used: list[dict[str, Estimate]] = []
    for low in (15, 10):
        for scale in scales:
            here = runs.links.filter(
                (pl.col("low") == low) & (pl.col("scale") == scale) & (pl.col("direction") == "down")
            )
            used = {
                side: by_seed(
                    here.filter(pl.col("side") == side), 100 * (pl.col("utilization") * weights).sum() / weights.sum()
                )
                for side in ("mppert", "mptcp")
            }
            each_used.append(used)
            rows.append({"case": f"{low}(1)+20(1)", "scale": scale, **{side: used[side].text(1) for side in used}})
    frame = pl.DataFrame(rows)
    mean = {
        side: across(lambda *each: sum(each) / len(each), *(used[side] for used in each_used))
        for side in ("mppert", "mptcp")
    }
    published = context.published
    return Outcome(
        [
            number(
                published,
                "mppert",
                mean["mppert"],
                "Use of the links with MPPERT, %",
                scale=1,
                percent=True,
                cause=_BUSY,
            ),
            number(
                published,
                "mptcp",
                mean["mptcp"],
                "Use of the links with MPTCP, %",
                scale=1,
                percent=True,
                cause=_BUSY,
            ),
            truth(
                "higher",
                "The links are used far better with MPPERT",
                f"{mean['mppert'].mean:.1f} against {mean['mptcp'].mean:.1f} %",
                less(mean["mptcp"], mean["mppert"], whole=100, far=True),
                cause=_BUSY,
            ),
        ],
        tables=[("Use of the links, %", frame)],
    )


_BUSY: Final = (
    "unknown: with a buffer of one bandwidth-delay product a Reno window that halves still fills the link, so that "
    "MPTCP "
    "uses nearly all of it. The thesis's 80 % need windows that fall below a half."
)

__all__ = ["figure_16", "figure_17", "figure_18", "table_7", "table_8", "table_9", "utilization"]
