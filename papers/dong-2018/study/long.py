"""Long flows in ns-3, alone and beside TCP: §5.3 to §5.5."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from mptcplab.metrics import jain_index
from mptcplab.reproduce import Claim, Context, Outcome, below, every, jain, mean_of
from mptcplab.reproduce import Found as Mean

from . import rules
from .measure import SCHEMES, Case, Found, burst, cause, chart, table
from .networks import NSL_RTTS_MS, SL_RTTS_MS, pareto_sizes
from .short import FLOWS, seeds

LONG = 15_000_000


def _long(context: Context, counts: tuple[int, ...], *, shared: bool) -> Found:
    size = 5_000_000 if context.quick else LONG
    rtts = SL_RTTS_MS if shared else NSL_RTTS_MS
    cases = [
        _case(scheme, rtts, [size] * count, {"flows": count, "recovery": recovery}, shared=shared)
        for scheme in SCHEMES
        for count in counts
        for recovery in ("newreno", "sack")
    ]
    return Found(context, cases, seeds(context, 3, 2))


def _case(scheme: str, rtts: Sequence[float], sizes: Sequence[int], labels: dict[str, Any], *, shared: bool) -> Case:
    tcp = {"loss_detection": labels["recovery"]}
    return {"scheme": scheme, **labels}, lambda _: burst(scheme, rtts, sizes, shared=shared, seconds=600, tcp=tcp)


def _with_sack(found: Found, counts: Sequence[int]) -> str:
    """The experiment behind the causes: the same with selective acknowledgments."""
    told = "; ".join(
        f"{count}: "
        + ", ".join(
            f"{scheme} {found.mean_ms(scheme=scheme, flows=count, recovery='sack') / 1e3:.2f}" for scheme in SCHEMES
        )
        for count in counts
    )
    return (
        "NewReno repairs one segment a round trip, and a first slow start that overflows a queue loses many, most of "
        f"all on the slow paths. With selective acknowledgments it takes, in s by flows, {told}."
    )


def figure_20(context: Context) -> Outcome:
    """Disjoint paths."""
    counts = (1, 15) if context.quick else (1, 2, 4, 8, 15)
    found = _long(context, counts, shared=False)

    def ms(scheme: str, count: int) -> Mean:
        return found.mean_ms(scheme=scheme, flows=count, recovery="newreno")

    told = "; ".join(f"{n}: " + ", ".join(f"{scheme} {ms(scheme, n) / 1e3:.2f}" for scheme in SCHEMES) for n in counts)
    like = every([rules.alike(ms("DMPTCP", n), ms("MPTCP", n)) for n in counts])
    sooner = every([below(ms(scheme, n), ms("TCP", n)) for n in counts for scheme in ("MPTCP", "DMPTCP")])
    rows = table(found, ["scheme", "flows", "recovery"])
    return Outcome(
        [
            Claim(
                "like-mptcp",
                "DMPTCP takes as long as MPTCP",
                None,
                f"s by flows, {told}",
                like,
                cause(like, _with_sack(found, counts)),
            ),
            Claim(
                "sooner-than-tcp",
                "Both take less time than TCP",
                None,
                f"s by flows, {told}",
                sooner,
                cause(sooner, _with_sack(found, counts)),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[("Long flows, disjoint paths", chart(rows.filter(pl.col("recovery") == "newreno"), "flows", "flows"))],
    )


def figure_23(context: Context) -> Outcome:
    """One common link."""
    counts = (2, 4, 15)
    found = _long(context, counts, shared=True)

    def ms(scheme: str, count: int) -> Mean:
        return found.mean_ms(scheme=scheme, flows=count, recovery="newreno")

    told = "; ".join(f"{n}: " + ", ".join(f"{scheme} {ms(scheme, n) / 1e3:.2f}" for scheme in SCHEMES) for n in counts)
    same = every([rules.alike(ms(scheme, 15), ms("TCP", 15)) for scheme in ("MPTCP", "DMPTCP")])
    few = every([below(ms(scheme, n), ms("TCP", n)) for n in (2, 4) for scheme in ("MPTCP", "DMPTCP")])
    rows = table(found, ["scheme", "flows", "recovery"])
    return Outcome(
        [
            Claim(
                "alike-at-15",
                "With 15 flows all three take nearly the same time",
                None,
                f"s by flows, {told}",
                same,
                cause(same, _with_sack(found, counts)),
            ),
            Claim(
                "sooner-when-few",
                "With 2 and 4 flows MPTCP and DMPTCP take less time than TCP",
                None,
                f"s by flows, {told}",
                few,
                cause(few, _with_sack(found, counts)),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[
            ("Long flows, one common link", chart(rows.filter(pl.col("recovery") == "newreno"), "flows", "flows"))
        ],
    )


def figure_25(context: Context) -> Outcome:
    """Multipath and TCP on one link."""
    size = 5_000_000 if context.quick else LONG
    short = [
        (
            {"scheme": scheme, "length": "short"},
            lambda seed, scheme=scheme: burst(
                scheme,
                SL_RTTS_MS,
                pareto_sizes(FLOWS, seed),
                shared=True,
                rivals=pareto_sizes(FLOWS, 1000 + seed),
            ),
        )
        for scheme in ("MPTCP", "DMPTCP")
    ]
    long = [
        (
            {"scheme": scheme, "length": "long"},
            lambda _, scheme=scheme: burst(
                scheme, SL_RTTS_MS, [size] * 10, shared=True, rivals=[size] * 10, seconds=900
            ),
        )
        for scheme in ("MPTCP", "DMPTCP")
    ]
    first = Found(context, short, seeds(context, 20, 3))
    second = Found(context, long, seeds(context, 3, 2))

    def ms(scheme: str, protocol: str) -> Mean:
        return first.mean_ms(scheme=scheme, protocol=protocol)

    wins = every([below(ms(scheme, "mptcp"), ms(scheme, "tcp")) for scheme in ("MPTCP", "DMPTCP")])
    gentle = below(ms("DMPTCP", "tcp"), ms("MPTCP", "tcp"))
    told = ", ".join(
        f"{scheme} {ms(scheme, 'mptcp'):.0f}, TCP beside it {ms(scheme, 'tcp'):.0f}" for scheme in ("MPTCP", "DMPTCP")
    )
    indices = {
        scheme: jain_index((size / second.rows(scheme=scheme)["completion_s"].to_numpy()).tolist())
        for scheme in ("MPTCP", "DMPTCP")
    }
    repaired = [
        (
            {"scheme": scheme, "length": "long"},
            lambda _, scheme=scheme: burst(
                scheme,
                SL_RTTS_MS,
                [size] * 10,
                shared=True,
                rivals=[size] * 10,
                seconds=900,
                tcp={"loss_detection": "sack"},
            ),
        )
        for scheme in ("MPTCP", "DMPTCP")
    ]
    sack = Found(context, repaired, seeds(context, 3, 2))
    with_sack = ", ".join(
        f"{scheme} {jain_index((size / sack.rows(scheme=scheme)['completion_s'].to_numpy()).tolist()):.4f}"
        for scheme in indices
    )
    published = context.published["jain"]
    fair = every(
        jain(
            published, mean_of([jain_index((size / run["completion_s"].to_numpy()).tolist()) for run in runs]), count=20
        )
        for runs in (second.rows(scheme=scheme).partition_by("seed") for scheme in indices)
    )
    rows = first.connections.group_by("scheme", "protocol", maintain_order=True).agg(
        completion_ms=1e3 * pl.col("completion_s").mean()
    )
    return Outcome(
        [
            Claim(
                "multipath-wins",
                "Short multipath flows are sooner than the TCP flows beside them",
                None,
                f"ms: {told}",
                wins,
                cause(
                    wins,
                    "Further subflows join after 40 ms and more and have longer round trips; of a 57 KB flow little is "
                    "left for them, and a second slow start on the same full queue gains nothing.",
                ),
            ),
            Claim(
                "gentler",
                "TCP is sooner beside DMPTCP than beside MPTCP",
                None,
                f"ms: {told}",
                gentle,
                cause(
                    gentle, "So few subflows are ready in time that the two hardly differ for the flows beside them."
                ),
            ),
            Claim(
                "jain",
                "Ten long multipath flows and ten of TCP share the link fairly",
                published,
                ", ".join(f"{scheme} {float(each):.4f}" for scheme, each in indices.items()),
                fair,
                f"With selective acknowledgments in place of NewReno: {with_sack}.",
            ),
        ],
        tables=[("Short flows, completion in ms", rows)],
        notes=[f"Long flows of {size / 1e6:g} MB."],
    )
