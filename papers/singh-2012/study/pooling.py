"""Resource pooling: links shared as if they were one."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.link_laws import Capacity
from mptcplab.models.network import Network, Route, User, capacity_segments_per_s
from mptcplab.models.optimum import optimum
from mptcplab.reproduce import Claim, Context, Exact, Found, Number, Outcome, Share, below, every

from . import networks, variants
from .numbers import Estimate, across, less, machine_of, number, rate, run, subflow, truth

_MBPS = (10.0, 12.0, 14.0)
"""Unequal links, 36 Mbit/s in all; the figure's own capacities are not printed."""


def _ring(control: str, k: float) -> Network:
    """Three users over three links, each over two of them."""
    links = {f"link {n}": Capacity(capacity_segments_per_s(rate * 1e6)) for n, rate in enumerate(_MBPS)}
    users = [
        User(
            f"user {n}",
            control,
            (Route((f"link {n}",), 0.04), Route((f"link {(n + 1) % 3}",), 0.04)),
            parameters={"k": k} if control == "mppert" else {},
        )
        for n in range(3)
    ]
    return Network(links, users)


def figure_1(context: Context) -> Outcome:
    """Every user gets a third of the pool."""
    pooled = sum(_MBPS)
    unit = capacity_segments_per_s(1e6)
    best = optimum(_ring("reno", 0.0), floor_segments=0).user_rates / unit
    mppert = {k: equilibrium(_ring("mppert", k)).user_rates / unit for k in (0.0, -0.9)}
    published = context.published
    farthest = max(best, key=lambda rate: abs(rate - published["each"]))
    seen = "; ".join(f"k = {k:g}: {', '.join(f'{rate:.2f}' for rate in rates)}" for k, rates in mppert.items())
    return Outcome(
        [
            Claim(
                "each",
                "With links of 36 Mbit/s in all, each of three users over two links can have 12 Mbit/s",
                published["each"],
                float(farthest),
                Exact(published["each"], float(farthest), digits=1),
                covers=("pooled",),
            )
        ],
        notes=[
            f"The figure illustrates the principle; we take links of 10, 12 and 14 Mbit/s, {pooled:g} in all. "
            f"The law of MPPERT gives the users, in Mbit/s, with {seen}."
        ],
    )


_SEEDS: Final = 6


def _span(context: Context, which: str) -> networks.Times:
    return networks.spans(machine_of(context), which, quick=context.quick)


def _parts(subflows: pl.DataFrame, connections: pl.DataFrame, flows: dict[str, bool]) -> dict[str, Estimate]:
    """Mbit/s by the keys of the tables; `flows`: whether each has two subflows."""
    found: dict[str, Estimate] = {}
    for flow, two in flows.items():
        found[flow] = rate(connections, flow, total=True)
        if two:
            found |= {f"{flow} {n + 1}": subflow(subflows, flow, n) for n in (0, 1)}
    found["all"] = rate(connections, "", total=True)
    return found


def _unfairness(totals: list[Estimate], ideal: float) -> Found:
    """Root of the mean squared distance of the means from the ideal, Mbit/s; the interval is that of single runs'."""

    def away(*each: float) -> float:
        return float(np.sqrt(np.mean([(total - ideal) ** 2 for total in each])))

    return Found(away(*(total.mean for total in totals)), across(away, *totals).half)


def table_1(context: Context) -> Outcome:
    """The cascade: MPPERT with k = 0, and PERT on each subflow by itself."""
    published, span = context.published, _span(context, "long")
    controls: dict[str, str | dict[str, Any]] = {"mppert": networks.mppert(0.0), "independent": "pert"}
    runs = run(
        context,
        [
            ({"control": name}, networks.cascade(control, span), seed)
            for name, control in controls.items()
            for seed in networks.seeds(context.quick, _SEEDS)
        ],
    )
    claims: list[Claim] = []
    found: dict[str, dict[str, Estimate]] = {}
    causes: dict[str, variants.Tried] = {}
    for name, control in controls.items():
        mine = pl.col("control") == name
        got = _parts(runs.subflows.filter(mine), runs.connections.filter(mine), dict.fromkeys("abc", True))
        found[name] = got
        keys = {key: f"{name}.total" if key == "all" else f"{name}.flow-{key.replace(' ', '')}" for key in got}
        causes[name] = _try(context, networks.cascade(control, span), dict.fromkeys("abc", True), keys, got)
        for key, each in got.items():
            flow, _, which = key.partition(" ")
            text = "All flows" if key == "all" else f"Flow {flow.upper()}{f', subflow {which}' if which else ''}"
            cause = causes[name].cause(key)
            claims.append(number(published, keys[key], each, f"{text}, {_CONTROLS[name]}, Mbit/s", cause=cause))
    away = {name: _unfairness([got[flow] for flow in "abc"], 20 / 3) for name, got in found.items()}
    mine_, theirs = found["mppert"], found["independent"]
    outer = across(lambda a, c: (a + c) / 2, theirs["a"], theirs["c"])
    claims += [
        Claim(
            "ideal",
            "Each of the flows comes close to 20/3 Mbit/s with MPPERT",
            published["ideal"],
            ", ".join(mine_[flow].text(2) for flow in "abc"),
            every(Number(20 / 3, mine_[flow].mean, mine_[flow].half) for flow in "abc"),
            causes["mppert"].cause("ideal"),
        ),
        number(
            published,
            "independent-ideal.outer",
            outer,
            "A and C, independent, Mbit/s",
            scale=1,
            cause=causes["independent"].cause("outer"),
        ),
        number(
            published,
            "independent-ideal.inner",
            theirs["b"],
            "B, independent, Mbit/s",
            scale=1,
            cause=causes["independent"].cause("b"),
        ),
        truth(
            "total-higher",
            "The total of all flows is higher with MPPERT",
            f"{mine_['all'].text(2)} against {theirs['all'].text(2)} Mbit/s",
            less(theirs["all"], mine_["all"]),
            cause=_TOTAL,
        ),
        truth(
            "fairer",
            "MPPERT's distribution is closer to 20/3 Mbit/s each (root mean square distance)",
            f"{away['mppert']:.2f} against {away['independent']:.2f} Mbit/s",
            below(away["mppert"], away["independent"]),
        ),
    ]
    return Outcome(claims, tables=[("Mbit/s of packets", _table(found)), *_tables(causes)])


_VARIANTS: Final = (variants.SMOOTHED, variants.LONGER, variants.ONE, variants.HALF, variants.BETA)
_OF_MPTCP: Final = (variants.HALF, variants.TENTH)
_LINKS_MBPS: Final = 12 + 18
"""Both links of figures 9 and 19 together."""


def _try(
    context: Context,
    scenario: Mapping[str, Any],
    flows: dict[str, bool],
    keys: Mapping[str, str],
    base: Mapping[str, Estimate],
    which: tuple[variants.Variant, ...] = _VARIANTS,
) -> variants.Tried:
    """The numbers of a scenario, by their keys here, in the variants; `keys`: what is printed of them."""
    # The longest of them is a third of the work.
    chosen = tuple(each for each in which if each.span is None) if context.quick else which
    if context.machine.by_text:
        chosen = ()
    ran = networks.as_ran(machine_of(context), scenario)

    def carried_out(variant: variants.Variant) -> dict[str, float]:
        changed = variant.of(ran)
        runs = run(context, [({"variant": variant.text}, changed, seed) for seed in networks.seeds(context.quick)])
        return {key: each.mean for key, each in _parts(runs.subflows, runs.connections, flows).items()}

    printed = {key: context.published[name] / 1e6 for key, name in keys.items()}
    return variants.tried(printed, {key: each.mean for key, each in base.items()}, chosen, carried_out)


def _tables(causes: Mapping[str, variants.Tried]) -> list[tuple[str, pl.DataFrame]]:
    return [
        (f"Variants of {_CONTROLS.get(name, name)}, Mbit/s of packets", each.table()) for name, each in causes.items()
    ]


def _table(found: dict[str, dict[str, Estimate]]) -> pl.DataFrame:
    keys = next(iter(found.values()))
    return pl.DataFrame([{"flow": key, **{name: got[key].text() for name, got in found.items()}} for key in keys])


_CONTROLS: Final = {"mppert": "MPPERT", "independent": "independent PERT", "mptcp": "MPTCP"}
_CASCADE: Final = (
    "chance: the thesis prints one run of an unknown length; with one or two flows a link the shares "
    "of ours differ from seed to seed, because β depends on the largest delay that each flow has seen."
)
_TOTAL: Final = (
    "unknown: the links are busy nearly all the time here; why the thesis's are not, its text does not say. Ours "
    "counts packets "
    "with their headers, retransmissions left out."
)


def table_2(context: Context) -> Outcome:
    """Three users: independent PERT, k = -1/2 and k = 0."""
    controls: dict[str, str | dict[str, Any]] = {
        "independent": "pert",
        "k-minus-half": networks.mppert(-0.5),
        "k-zero": networks.mppert(0.0),
    }
    found = _three(context, controls)
    causes = _three_causes(context, controls, found)
    claims = _three_claims(context, found, causes)
    away = _away(found)
    claims += [
        Claim(
            "ideal",
            "Each of the three comes close to 10 Mbit/s with MPPERT, k = -1/2",
            context.published["ideal"],
            ", ".join(found["k-minus-half"][user].text(2) for user in ("s1", "s2", "s3")),
            every(
                Number(10, found["k-minus-half"][user].mean, found["k-minus-half"][user].half)
                for user in ("s1", "s2", "s3")
            ),
            causes["k-minus-half"].cause("ideal"),
        ),
        truth(
            "system-higher",
            "The total of all flows is higher with MPPERT",
            "; ".join(f"{name}: {got['all'].text(2)}" for name, got in found.items()) + " Mbit/s",
            every(less(found["independent"]["all"], found[name]["all"]) for name in ("k-zero", "k-minus-half")),
            cause=_TOTAL,
        ),
        truth(
            "closer-to-ideal",
            "MPPERT's distribution is closer to 10 Mbit/s each (root mean square distance)",
            "; ".join(f"{name}: {each:.2f}" for name, each in away.items()) + " Mbit/s",
            every(below(away[name], away["independent"]) for name in ("k-zero", "k-minus-half")),
        ),
    ]
    return Outcome(
        claims,
        tables=[("Mbit/s of packets", _table(found)), *_tables(causes)],
        notes=[
            "In the printed column of independent flows the parts of S2 sum to the 13388300 that stands in the row of "
            "S3; from the total, S3 had 8700343, and 12967781 fits nothing."
        ],
    )


def table_10(context: Context) -> Outcome:
    """The same network: MPTCP among Reno, MPPERT with k = 0 and -0.9."""
    controls: dict[str, str | dict[str, Any]] = {
        "mptcp": "lia",
        "k-zero": networks.mppert(0.0),
        "k-minus-0.9": networks.mppert(-0.9),
    }
    found = _three(context, controls)
    causes = _three_causes(context, controls, found)
    claims = _three_claims(context, found, causes)
    published = context.published
    for name in ("mptcp", "k-minus-0.9"):
        for user in ("s1", "s2", "s3"):
            claims.append(
                _points(
                    context,
                    f"{name}.part.{user}",
                    across(lambda rate: 10 * rate, found[name][user]),
                    f"{user.upper()}, {name}",
                    causes[name].cause(user),
                )
            )
    gain = 100 * (found["k-minus-0.9"]["all"].found / found["mptcp"]["all"].found - 1)
    tenth = causes["mptcp"].found.get(variants.TENTH.text)
    short = float("nan") if tenth is None else 100 * (found["k-minus-0.9"]["all"].mean / tenth["all"] - 1)
    used = 100 * published["mptcp.system"] / _LINKS_MBPS
    away = _away(found)
    claims += [
        Claim(
            "gain",
            "The total with MPPERT, k = -0.9, exceeds MPTCP's by about 20 %",
            published["gain"],
            f"{gain:.1f} %",
            Share(published["gain"], gain, whole=100),
            "setting: a buffer of one bandwidth-delay product keeps a link with a single Reno flow busy all the time, "
            f"here as in theory; in the thesis the links are {used:.0f} % used. With {variants.TENTH.text} for MPTCP "
            f"it would be {short:.0f} %.",
        ),
        truth(
            "fairer",
            "MPPERT with k = -0.9 is closer to 10 Mbit/s each than MPTCP (root mean square distance)",
            "; ".join(f"{name}: {each:.2f}" for name, each in away.items()) + " Mbit/s",
            below(away["k-minus-0.9"], away["mptcp"]),
            cause=_CASCADE,
        ),
    ]
    return Outcome(
        claims,
        tables=[("Mbit/s of packets", _table(found)), *_tables(causes)],
        notes=[
            "At k = -0.9 the law's exponent is 20: S1 has more than S3 in the thesis, so the law would put 32 % of S2 "
            "on path 2, where 78 % are printed. The distribution over the flows is what can be tested."
        ],
    )


def _points(context: Context, key: str, found: Estimate, text: str, cause: str) -> Claim:
    """A rate in percent of the ideal, which it may exceed: a number."""
    return number(context.published, key, found, f"{text}, % of the ideal 10 Mbit/s", scale=1, cause=cause)


def _three(context: Context, controls: Mapping[str, str | dict[str, Any]]) -> dict[str, dict[str, Estimate]]:
    span = _span(context, "short")
    runs = run(
        context,
        [
            (
                {"control": name},
                networks.three_users(control, span, others="reno" if name == "mptcp" else "pert"),
                seed,
            )
            for name, control in controls.items()
            for seed in networks.seeds(context.quick, _SEEDS)
        ],
    )
    flows = {"s1": False, "s2": True, "s3": False}
    return {
        name: _parts(
            runs.subflows.filter(pl.col("control") == name), runs.connections.filter(pl.col("control") == name), flows
        )
        for name in controls
    }


_PRINTED: Final = {"s1": "s1", "s2 1": "s2-path-1", "s2 2": "s2-path-2", "s2": "s2", "s3": "s3", "all": "system"}


def _three_causes(
    context: Context,
    controls: Mapping[str, str | dict[str, Any]],
    found: Mapping[str, Mapping[str, Estimate]],
) -> dict[str, variants.Tried]:
    span, causes = _span(context, "short"), {}
    for name, control in controls.items():
        mptcp = name == "mptcp"
        scenario = networks.three_users(control, span, others="reno" if mptcp else "pert")
        keys = {key: f"{name}.{printed}" for key, printed in _PRINTED.items()}
        which = _OF_MPTCP if mptcp else _VARIANTS
        causes[name] = _try(context, scenario, {"s1": False, "s2": True, "s3": False}, keys, found[name], which)
    return causes


def _three_claims(
    context: Context, found: dict[str, dict[str, Estimate]], causes: Mapping[str, variants.Tried]
) -> list[Claim]:
    claims = []
    for name, got in found.items():
        for mine, key in list(_PRINTED.items())[:-1]:
            claims.append(
                number(
                    context.published,
                    f"{name}.{key}",
                    got[mine],
                    f"{key.replace('-', ' ').upper()}, {name}, Mbit/s",
                    cause=causes[name].cause(mine),
                )
            )
        claims.append(
            number(
                context.published,
                f"{name}.system",
                got["all"],
                f"All flows, {name}, Mbit/s",
                cause=causes[name].cause("all"),
            )
        )
    return claims


def _away(found: dict[str, dict[str, Estimate]]) -> dict[str, Found]:
    return {name: _unfairness([got[user] for user in ("s1", "s2", "s3")], 10) for name, got in found.items()}
