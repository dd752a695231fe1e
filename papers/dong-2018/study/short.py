"""Short flows in ns-3: §2, §5.2 and §5.3."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import polars as pl
from mptcplab.models.rounds import RoundModel, RoundPath, choose_paths, ready_times_s, transfer
from mptcplab.reproduce import Check, Claim, Context, Exact, Outcome, at_least, below, every
from mptcplab.reproduce import Found as Mean

from . import networks, rules, variants
from .measure import ONE, SCHEMES, Case, Found, average, burst, cause, chart, table
from .networks import NSL_RTTS_MS, SLOW_RTTS_MS, pareto_sizes

K: Final = 1024
"""Figure 8's 164K are 120 segments of 1400 bytes only with 1,024, and table 4's 187 packets make 256 KB only so."""
FLOWS: Final = 30
PRINTED: Final = 0.0005
FIVE: Final = 0.05
FIXED_RTO: Final[dict[str, Any]] = {"rto_min": "200 ms", "rto_max": "200 ms", "rto_backoff": False}
"""As figure 17 and table 2 show it."""
_PACKETS: Final = math.ceil(40 * K / networks.PAYLOAD)
"""Of a transfer of 40 KB."""
_FEW: Final = (
    f"work: at the printed loss a transfer of {_PACKETS} packets loses one in {1 / (_PACKETS * PRINTED):.0f} transfers"
)


def seeds(context: Context, full: int, quick: int) -> range:
    """Of a study."""
    return range(1, (quick if context.quick else full) + 1)


def _burst_case(scheme: str, rtts_ms: Sequence[float], labels: dict[str, Any], **more: Any) -> Case:  # noqa: ANN401
    return (
        {"scheme": scheme, **labels},
        lambda seed: burst(scheme, rtts_ms, pareto_sizes(FLOWS, seed), **more),
    )


def _alone(context: Context) -> str:
    """The experiment behind several causes: the same flow by itself, over the same eight paths."""
    cases = [
        _single(scheme, 57_000, NSL_RTTS_MS, {"joins": joins}, at_once=joins == "at once")
        for scheme in SCHEMES
        for joins in ("at once", "RFC 8684")
    ]
    found = Found(context, cases, [1])

    def told(column: str, joins: str) -> str:
        return ", ".join(f"{scheme} {found.mean_ms(column, scheme=scheme, joins=joins):.0f}" for scheme in SCHEMES)

    return (
        f"A flow of the mean size by itself takes {told('completion_s', 'at once')} ms to its last byte and "
        f"{told('sender_completion_s', 'at once')} ms to its last acknowledgment; with joins as in RFC 8684 "
        f"{told('completion_s', 'RFC 8684')} ms to its last byte."
    )


def figure_2(context: Context) -> Outcome:
    """Two paths, 30 short flows."""
    rtts = (10, 20, 50, 100, 200)
    cases = [
        _burst_case(scheme, (10, rtt), {"rtt_ms": rtt, "one_way": one_way}, one_way=one_way)
        for scheme in ("TCP", "MPTCP")
        for rtt in rtts
        for one_way in (False, True)
    ]
    found = Found(context, cases, seeds(context, 10, 2))

    def ms(scheme: str, rtt: int) -> Mean:
        return found.mean_ms(scheme=scheme, rtt_ms=rtt, one_way=False)

    near = every([below(ms("MPTCP", rtt), ms("TCP", rtt)) for rtt in (10, 20)])
    grows = below(ms("MPTCP", 10), ms("MPTCP", 200))
    pairs = ", ".join(f"{rtt} ms: {ms('MPTCP', rtt):.0f} to {ms('TCP', rtt):.0f} ms" for rtt in rtts)
    rows = table(found, ["scheme", "rtt_ms", "one_way"])
    return Outcome(
        [
            Claim(
                "near-equal",
                "With the second path at 10 and 20 ms MPTCP is sooner than TCP on the first",
                None,
                f"MPTCP to TCP, {pairs}",
                near,
                cause(near, f"At 20 ms the two are within a few per cent. {_alone(context)}"),
            ),
            Claim(
                "worsens",
                "MPTCP takes longer the slower the second path is",
                None,
                f"{ms('MPTCP', 10):.0f} ms at 10, {ms('MPTCP', 200):.0f} ms at 200 ms",
                grows,
                cause(grows, _alone(context)),
            ),
        ],
        tables=[("Completion, ms; one_way reads the printed times as those of one direction", rows)],
        figures=[("Mean completion of 30 flows", chart(rows.filter(~pl.col("one_way")), "rtt_ms", "second RTT, ms"))],
    )


def figure_3(context: Context) -> Outcome:
    """MPTCP over one to eight subflows."""
    counts = (1, 2, 4, 8) if context.quick else tuple(range(1, 9))
    cases = [
        _burst_case(scheme, NSL_RTTS_MS[:count], {"subflows": count, "loss": loss}, loss=loss)
        for scheme in ("TCP", "MPTCP")
        for count in (counts if scheme == "MPTCP" else (1,))
        for loss in (0.0, PRINTED, FIVE)
    ]
    found = Found(context, cases, seeds(context, 10, 2))
    ratio = {
        loss: found.mean_ms(scheme="MPTCP", subflows=8, loss=loss) / found.mean_ms(scheme="TCP", subflows=1, loss=loss)
        for loss in (0.0, PRINTED, FIVE)
    }
    worse = below(ONE, ratio[0.0])
    more = below(ratio[0.0], ratio[PRINTED])
    told = ", ".join(f"{100 * loss:g} %: {each:.2f}" for loss, each in ratio.items())
    rows = table(found, ["scheme", "subflows", "loss"])
    return Outcome(
        [
            Claim(
                "worse-than-tcp",
                "MPTCP with eight subflows takes longer than TCP on the best path",
                None,
                f"{ratio[0.0]:.2f} times as long",
                worse,
                cause(
                    worse,
                    f"All flows at once overflow the queue of one path (TCP repeats {_again(found, 'TCP', 1):.1f} "
                    f"segments a flow, MPTCP {_again(found, 'MPTCP', 8):.1f}): eight have more room. "
                    f"{_tried(context, worse, ['MPTCP'], ['TCP'], below)}",
                ),
            ),
            Claim(
                "more-with-loss",
                "With random loss MPTCP falls further behind TCP",
                None,
                f"times TCP's at {told}",
                more,
                cause(more, f"{_FEW}; at 5 % the ratio is {ratio[FIVE]:.2f}."),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[("MPTCP by subflows, without loss", chart(_of(rows, loss=0.0), "subflows", "subflows"))],
    )


def _again(found: Found, scheme: str, subflows: int) -> float:
    """Retransmissions a flow without loss on the wire."""
    rows = found.rows("subflows", scheme=scheme, subflows=subflows, loss=0.0)
    return float(rows["retransmissions"].sum()) / found.rows(scheme=scheme, subflows=subflows, loss=0.0).height


def _of(rows: pl.DataFrame, **labels: object) -> pl.DataFrame:
    for name, value in labels.items():
        rows = rows.filter(pl.col(name) == value)
    return rows


def _single(scheme: str, size: int, rtts: Sequence[float], labels: dict[str, Any], **more: Any) -> Case:  # noqa: ANN401
    return ({"scheme": scheme, **labels}, lambda _: burst(scheme, rtts, [size], **more))


def figure_4(context: Context) -> Outcome:
    """One flow of 36,927 bytes."""
    size = round(context.published["size"])
    found = Found(context, [_single("MPTCP", size, NSL_RTTS_MS, {})], [1])
    sent = found.subflows.filter(pl.col("segments_sent") > 0)["segments_sent"].to_list()
    at_once = _model(size, NSL_RTTS_MS)
    small = [each for each in at_once if 0 < each < 4]
    verdict = at_least(len(small) / len([each for each in at_once if each > 0]), 0.5, 0, whole=1.0)
    return Outcome(
        [
            Claim(
                "small-windows",
                "Most subflows of a flow of 36,927 bytes carry fewer than the four segments a "
                "fast retransmission needs",
                None,
                f"segments by subflow: {_list(sent)} simulated; {_list(at_once)} by the round model, all open at once",
                verdict,
                cause(verdict, "Few subflows carry anything."),
                covers=("size",),
            )
        ]
    )


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{each:g}" for each in values)


def _model(size: int, rtts_ms: Sequence[float], *, select: bool = False, window: int = 1) -> list[float]:
    paths = [RoundPath(rtt / 1e3, 0.0, 1e8) for rtt in rtts_ms]
    model = RoundModel(initial_window=window, restart_window=1, ack_bytes=0)
    ready = ready_times_s([path.rtt_s for path in paths], at_once=True)
    return list(transfer(size, paths, model, ready_s=ready, select=select).segments)


def figure_5(context: Context) -> Outcome:
    """Timeouts of MPTCP's subflows."""
    cases = [_burst_case("MPTCP", NSL_RTTS_MS, {"loss": loss}, loss=loss, tcp=FIXED_RTO) for loss in (PRINTED, FIVE)]
    found = Found(context, cases, seeds(context, 10, 3))
    flows = {loss: found.timeouts(loss=loss) for loss in (PRINTED, FIVE)}
    paths = {
        loss: _of(found.subflows, loss=loss).filter(pl.col("timeouts") > 0)["path"].n_unique()
        for loss in (PRINTED, FIVE)
    }
    verdict = every(at_least(flows[PRINTED], 0.1), at_least(paths[PRINTED], 2, 0))
    times = found.subflows.select("loss", "path", "timeout_times_s").explode("timeout_times_s").drop_nulls().head(300)
    return Outcome(
        [
            Claim(
                "frequent",
                "One flow in ten or more times out, on several subflows",
                None,
                f"{flows[PRINTED]:.3f} timeouts a flow on {paths[PRINTED]} paths; at 5 % {flows[FIVE]:.2f} on "
                f"{paths[FIVE]}",
                verdict,
                cause(verdict, f"{_FEW}. With 5 % the claim holds ({flows[FIVE]:.2f} timeouts a flow)."),
            )
        ],
        tables=[("When subflows timed out", times)],
    )


def figure_8(context: Context) -> Outcome:
    """50 KB over 20 and 80 ms. What the last byte, the sender's last packet and the last ACK say."""
    printed = context.published
    size = 50 * K
    paths, model = [RoundPath(0.02, 0, 1e8), RoundPath(0.08, 0, 1e8)], RoundModel(ack_bytes=0)
    ready = ready_times_s([0.02, 0.08], at_once=True)
    both = transfer(size, paths, model, ready_s=ready)
    one = transfer(size, paths, model, ready_s=ready, select=True)
    found = Found(
        context,
        [_single(scheme, size, (20, 80), {}, tcp={"segments_per_ack": 1}) for scheme in ("MPTCP", "DMPTCP")],
        [1],
    )
    before = 1 + 2 + 4
    segment = networks.PAYLOAD
    left = size - before * segment
    estimate = (8 + 16 + 32 + 64) * segment / K
    chosen = choose_paths(left, paths, model, windows=[8, 1])
    departs = {"dmptcp": 1e3 * one.receiver_s - 10, "mptcp-subflow-0": 1e3 * both.receiver_s - 10}
    gain = 1e3 * (both.sender_s - one.sender_s)
    joins = found.mean_ms("sender_completion_s", scheme="MPTCP")
    values = {
        "window": (8.0, "Subflow 0's window at 80 ms: rounds at 20, 40, 60 and 80 ms"),
        "sent": (before * segment / K, "KB sent before 80 ms"),
        "left": (left / K, "KB left"),
        "estimate": (estimate, f"K that subflow 0 carries in four rounds; selected: subflow {chosen}"),
        "dmptcp": (departs["dmptcp"], "ms, DMPTCP's last packet leaves"),
        "mptcp-subflow-0": (departs["mptcp-subflow-0"], "ms, MPTCP's last packet leaves on subflow 0"),
        "mptcp": (1e3 * both.sender_s, "ms, MPTCP's last acknowledgment"),
        "gain": (gain, "ms between the last acknowledgments"),
    }
    claims = []
    for key, (value, text) in values.items():
        verdict = rules.number(printed[key], Mean(value))
        claims.append(Claim(key, text, printed[key], value, verdict, cause(verdict, _MIXED)))
    return Outcome(
        claims,
        notes=[
            f"By the last byte's arrival nothing is gained: {1e3 * both.receiver_s:.1f} ms with MPTCP, "
            f"{1e3 * one.receiver_s:.1f} ms with DMPTCP, by the round model with all subflows open at once.",
            f"Simulated, MPTCP's last acknowledgment comes at {joins:.1f} ms. With joins as RFC 8684 has them the slow "
            "subflow is ready at 200 ms, after the end.",
        ],
    )


_MIXED: Final = (
    "The paper compares a packet's departure (121.889 ms) with an acknowledgment's arrival (151.459 ms). By either "
    "alone the difference is another: see the notes."
)


def figure_12(context: Context) -> Outcome:
    """100 KB over 10 ms and another."""
    rtts = (10, 20, 30, 40, 50)
    cases = [
        _single(scheme, 100 * K, (10, rtt), {"rtt_ms": rtt, "one_way": one_way}, one_way=one_way)
        for scheme in SCHEMES
        for rtt in rtts
        for one_way in (False, True)
    ]
    found = Found(context, cases, [1])

    def ms(scheme: str, rtt: int) -> Mean:
        return found.mean_ms(scheme=scheme, rtt_ms=rtt, one_way=False)

    equal = every(
        [
            rules.alike(ms("MPTCP", 10), ms("DMPTCP", 10)),
            below(ms("MPTCP", 10), ms("TCP", 10)),
            below(ms("DMPTCP", 10), ms("TCP", 10)),
        ]
    )
    worst = every([below(max(ms("TCP", rtt), ms("DMPTCP", rtt)), ms("MPTCP", rtt)) for rtt in rtts if rtt > 10])
    used = {rtt: found.used(scheme="DMPTCP", rtt_ms=rtt, one_way=False) for rtt in rtts[1:]}
    best = every(Exact(1, each) for each in used.values())
    model = [sum(each > 0 for each in _model(100 * K, (10, rtt), select=True)) for rtt in used]
    rows = table(found, ["scheme", "rtt_ms", "one_way"])
    late = {scheme: found.mean_ms("sender_completion_s", scheme=scheme, rtt_ms=50, one_way=False) for scheme in SCHEMES}
    told = ", ".join(f"{scheme} {each:.0f}" for scheme, each in late.items())
    return Outcome(
        [
            Claim(
                "equal-paths",
                "At equal RTTs MPTCP and DMPTCP are alike and sooner than TCP",
                None,
                f"MPTCP {ms('MPTCP', 10):.1f}, DMPTCP {ms('DMPTCP', 10):.1f}, TCP {ms('TCP', 10):.1f} ms",
                equal,
                cause(equal, _alone(context)),
            ),
            Claim(
                "mptcp-worst",
                "Beyond that MPTCP is the slowest",
                None,
                ", ".join(f"{rtt} ms: {ms('MPTCP', rtt):.1f} to {ms('TCP', rtt):.1f}" for rtt in rtts[1:]),
                worst,
                cause(
                    worst,
                    f"To the last byte MPTCP loses nothing while the fast path is still sending. To the sender's "
                    f"last acknowledgment, at 50 ms: {told} ms.",
                ),
            ),
            Claim(
                "best-path",
                "DMPTCP uses the best path alone",
                None,
                f"subflows used at {_list(list(used))} ms: {_list(list(used.values()))}",
                best,
                cause(best, f"{_ALG}: {_list(model)} subflows."),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[("100 KB", chart(_of(rows, one_way=False), "rtt_ms", "second RTT, ms"))],
    )


_ALG: Final = (
    "Algorithm 1 asks what the fast paths carry within one round trip of a slow one; when that is ready, windows are "
    "small and much is left, so it joins. The round model selects the same"
)


_FOUR: Final = (10, 50, 100, 200)


def _figure_13(context: Context) -> Found:
    cases = [
        _single(scheme, kb * K, _FOUR, {"kb": kb, "loss": loss}, loss=loss, tcp=FIXED_RTO)
        for scheme in SCHEMES
        for kb in (20, 40)
        for loss in (0.0, PRINTED, FIVE)
    ]
    return Found(context, cases, seeds(context, 200, 20))


def _one_way(context: Context) -> dict[str, float]:
    """Timeouts of 40 KB without any loss, the printed times read one way and the timeout fixed."""
    cases = [_single(scheme, 40 * K, _FOUR, {}, one_way=True, tcp=FIXED_RTO) for scheme in SCHEMES]
    found = Found(context, cases, [1])
    return {scheme: found.timeouts(scheme=scheme) for scheme in SCHEMES}


def figure_13(context: Context) -> Outcome:
    """20 and 40 KB over four paths."""
    found = _figure_13(context)

    def ms(scheme: str, kb: int, loss: float) -> Mean:
        return found.mean_ms(scheme=scheme, kb=kb, loss=loss)

    clean = every(
        [
            verdict
            for kb in (20, 40)
            for verdict in (
                rules.alike(ms("DMPTCP", kb, 0.0), ms("TCP", kb, 0.0)),
                below(ms("TCP", kb, 0.0), ms("MPTCP", kb, 0.0)),
            )
        ]
    )

    def best(loss: float) -> Check:
        return every(
            [below(ms("DMPTCP", kb, loss), ms(other, kb, loss)) for kb in (20, 40) for other in ("TCP", "MPTCP")]
        )

    def told(loss: float) -> str:
        return "; ".join(
            f"{kb} KB: " + ", ".join(f"{scheme} {ms(scheme, kb, loss):.0f}" for scheme in SCHEMES) for kb in (20, 40)
        )

    lossy = best(PRINTED)
    rows = table(found, ["scheme", "kb", "loss"])
    return Outcome(
        [
            Claim(
                "no-loss",
                "Without loss DMPTCP takes as long as TCP, and MPTCP longer",
                None,
                f"ms, {told(0.0)}",
                clean,
                cause(clean, _alone(context)),
            ),
            Claim(
                "with-loss",
                "With loss DMPTCP is sooner than TCP and MPTCP",
                None,
                f"ms at 0.05 %, {told(PRINTED)}; at 5 %, {told(FIVE)}",
                lossy,
                cause(lossy, f"{_FEW}. At 5 % the claim {best(FIVE).verdict}."),
            ),
        ],
        tables=[("Completion, ms", rows)],
    )


def table_2(context: Context) -> Outcome:
    """Timeouts of 40 KB."""
    found = _figure_13(context)
    spurious = _one_way(context)
    printed = context.published
    claims = []
    for scheme in SCHEMES:
        count, five = (found.timeouts(scheme=scheme, kb=40, loss=loss) for loss in (PRINTED, FIVE))
        key = f"{scheme.lower()}-timeouts"
        verdict = rules.number(printed[key], count)
        claims.append(
            Claim(
                key,
                f"{scheme}'s 40 KB transfer times out so often",
                printed[key],
                f"{count:.2f} at 0.05 %; {five:.2f} at 5 %",
                verdict,
                cause(
                    verdict,
                    f"{_FEW}; at 5 % a mean transfer has {five:.2f} timeouts. With the printed times read one way and "
                    f"the fixed timeout of 200 ms, {scheme} has {spurious[scheme]:.0f} without any loss.",
                ),
            )
        )
    times = _of(found.subflows, loss=FIVE)["timeout_times_s"].to_list()
    gaps = [round(b - a, 6) for each in times if each for a, b in pairwise(each)]
    typical = min(gaps, default=float("nan"))
    verdict = rules.number(printed["rto"], Mean(typical))
    claims.append(
        Claim(
            "rto",
            "Timeouts that follow one another are a fixed 200 ms apart: the shortest time between two",
            printed["rto"],
            typical,
            verdict,
            cause(verdict, "Timeouts of a transfer are of different losses here, with answers between them."),
        )
    )
    return Outcome(claims, notes=["`rto_min` = `rto_max` = 200 ms without backoff, as the printed times show."])


def figure_14(context: Context) -> Outcome:
    """MPTCP and DMPTCP over one to eight subflows, two networks."""
    counts = (1, 2, 4, 8) if context.quick else tuple(range(1, 9))
    networks_: dict[str, tuple[Sequence[float], float]] = {
        "100 Mbit/s": (NSL_RTTS_MS, 100),
        "10 Mbit/s": (SLOW_RTTS_MS, 10),
    }
    cases = [
        _burst_case(scheme, rtts[:count], {"network": name, "subflows": count}, rate_mbps=rate)
        for scheme in ("MPTCP", "DMPTCP")
        for name, (rtts, rate) in networks_.items()
        for count in counts
    ]
    found = Found(context, cases, seeds(context, 10, 2))

    def ms(scheme: str, name: str, count: int) -> Mean:
        return found.mean_ms(scheme=scheme, network=name, subflows=count)

    worsens = every([below(ms("MPTCP", name, 2), ms("MPTCP", name, 8)) for name in networks_])
    same = every(
        [rules.alike(ms("MPTCP", name, count), ms("DMPTCP", name, count)) for name in networks_ for count in (1, 2)]
    )
    told = "; ".join(
        f"{name}: " + ", ".join(f"{count}: {ms('MPTCP', name, count):.0f}" for count in counts) for name in networks_
    )
    rows = table(found, ["scheme", "network", "subflows"])
    return Outcome(
        [
            Claim(
                "worsens",
                "MPTCP takes longer with eight subflows than with two",
                None,
                f"ms by subflows, {told}",
                worsens,
                cause(worsens, f"Flows at once gain by the capacity of more paths. {_alone(context)}"),
            ),
            Claim(
                "same-at-two",
                "With one and two subflows MPTCP and DMPTCP take the same time",
                None,
                "; ".join(
                    f"{name}, {count}: {ms('MPTCP', name, count):.0f} and {ms('DMPTCP', name, count):.0f} ms"
                    for name in networks_
                    for count in (1, 2)
                ),
                same,
                cause(same, f"{_ALG} paths."),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=[(f"At {name}", chart(_of(rows, network=name), "subflows", "subflows")) for name in networks_],
    )


_SIZES: Final = {
    "10K": 10, "20K": 20, "50K": 50, "100K": 100, "200K": 200, "400K": 400,
    "600K": 600, "800K": 800, "1M": 1024, "2M": 2048, "5M": 5120, "10M": 10240,
}  # fmt: skip


def table_3(context: Context) -> Outcome:
    """Subflows used by size."""
    printed = context.published
    cases = [
        _single(scheme, kb * K, NSL_RTTS_MS, {"size": name, "variant": variant}, **changed)
        for variant, changed in variants.SUBFLOWS.items()
        for scheme in ("MPTCP", "DMPTCP")
        for name, kb in _SIZES.items()
    ]
    found = Found(context, cases, [1])
    claims, rows, tries = [], [], []
    for scheme in ("MPTCP", "DMPTCP"):
        for name, kb in _SIZES.items():
            key = f"{scheme.lower()}-{name}"
            used = {
                variant: round(found.used(scheme=scheme, size=name, variant=variant)) for variant in variants.SUBFLOWS
            }
            at_once = sum(each > 0 for each in _model(kb * K, NSL_RTTS_MS, select=scheme == "DMPTCP"))
            verdict = Exact(printed[key], used["as set"])
            chosen = [_selected(kb * K, window) for window in (1, 2, 4, 10)]
            ten = sum(each > 0 for each in _model(kb * K, NSL_RTTS_MS, select=scheme == "DMPTCP", window=10))
            rows.append((name, scheme, printed[key], used["as set"], at_once, ten, *chosen))
            tries.append({"scheme": scheme, "size": name, "published": printed[key], **used})
            why = variants.told(used, partial(Exact, printed[key]), verdict)
            if why.startswith("unknown") and at_once != printed[key]:
                why = (
                    f"algorithm: the paper's own round model gives {at_once}; one thing changed at a time, it is "
                    f"{' or '.join(map(str, sorted(set(used.values()))))}, never the printed number."
                )
            claims.append(
                Claim(
                    key,
                    f"{scheme} uses {printed[key]:g} of eight subflows for {name}",
                    printed[key],
                    f"{used['as set']}; {at_once} by the round model",
                    verdict,
                    cause(verdict, why),
                )
            )
    columns = (
        *("size", "scheme", "published", "simulated", "round model", "round model, windows of 10 at first"),
        *(f"algorithm 1 for all of it, windows of {window}" for window in (1, 2, 4, 10)),
    )
    tried = pl.DataFrame(tries)
    agree = (
        tried.group_by("scheme", maintain_order=True)
        .agg((pl.col(list(variants.SUBFLOWS)) == pl.col("published")).sum())
        .with_columns(size=pl.lit("as printed, of 12"), published=pl.lit(None, pl.Float64))
    )
    return Outcome(
        claims,
        tables=[
            ("Subflows used", pl.DataFrame(rows, schema=columns, orient="row")),
            (
                "Subflows used with one thing changed at a time, and how many are as printed",
                pl.concat([tried, agree], how="diagonal_relaxed"),
            ),
        ],
    )


def _selected(size: int, window: int) -> int:
    paths = [RoundPath(rtt / 1e3) for rtt in NSL_RTTS_MS]
    return len(choose_paths(size, paths, RoundModel(restart_window=1), windows=[window] * len(paths)))


def figure_15(context: Context) -> Outcome:
    """Short flows over the loss rate, disjoint paths."""
    return _over_loss(context, "figure-15")


def _over_loss(context: Context, item: str, *, shared: bool = False) -> Outcome:
    losses = (0.0, PRINTED, 0.005, 0.02, FIVE) if context.quick else (0.0, PRINTED, 0.001, 0.005, 0.01, 0.02, FIVE)
    rtts = networks.SL_RTTS_MS if shared else NSL_RTTS_MS
    cases = [
        _burst_case(scheme, rtts, {"loss": loss}, loss=loss, shared=shared) for scheme in SCHEMES for loss in losses
    ]
    found = Found(context, cases, seeds(context, 10, 2))

    def ms(scheme: str, loss: float) -> Mean:
        return found.mean_ms(scheme=scheme, loss=loss)

    lossy = [loss for loss in losses if loss > 0]
    told = "; ".join(
        f"{100 * loss:g} %: " + ", ".join(f"{scheme} {ms(scheme, loss):.0f}" for scheme in SCHEMES) for loss in losses
    )
    best = every([below(ms("DMPTCP", loss), ms(other, loss)) for loss in lossy for other in ("TCP", "MPTCP")])
    # Causes are tried at the loss at which a claim is furthest from what the paper has.
    beaten = min(lossy, key=lambda loss: ms("MPTCP", loss) / ms("TCP", loss))
    bad = min(lossy, key=lambda loss: min(ms("TCP", loss), ms("MPTCP", loss)) / ms("DMPTCP", loss))
    rows = table(found, ["scheme", "loss"])
    figures = [("Completion over the loss rate", chart(rows, "loss", "loss", log=True))]
    if item == "figure-15":
        worst = every([below(ms("TCP", loss), ms("MPTCP", loss)) for loss in lossy])
        claims = [
            Claim(
                "mptcp-worst",
                "MPTCP is slower than TCP",
                None,
                f"ms, {told}",
                worst,
                cause(worst, _repair(found, beaten) + _tried(context, worst, ["MPTCP"], ["TCP"], below, loss=beaten)),
            ),
            Claim(
                "dmptcp-best",
                "DMPTCP is sooner than both",
                None,
                f"ms, {told}",
                best,
                cause(
                    best,
                    _repair(found, bad) + _tried(context, best, ["TCP", "MPTCP"], ["DMPTCP"], below, loss=bad),
                ),
            ),
        ]
        return Outcome(claims, tables=[("Completion, ms", rows)], figures=figures)
    first = every([below(ms("MPTCP", 0.0), ms(other, 0.0)) for other in ("TCP", "DMPTCP")])
    apart = Found(
        context,
        [_burst_case(scheme, NSL_RTTS_MS, {"loss": loss}, loss=loss) for scheme in SCHEMES for loss in losses],
        seeds(context, 10, 2),
    )
    gains = {
        name: average([1 - each.mean_ms(scheme="DMPTCP", loss=p) / each.mean_ms(scheme="MPTCP", loss=p) for p in lossy])
        for name, each in (("shared", found), ("disjoint", apart))
    }
    smaller = below(gains["shared"], gains["disjoint"], whole=1.0)
    return Outcome(
        [
            Claim(
                "mptcp-best-without-loss",
                "Without loss MPTCP is the soonest",
                None,
                f"ms, {told}",
                first,
                cause(
                    first,
                    f"Without loss on the wire a flow repeats so many segments: {_repeats(found)}. "
                    + _tried(context, first, ["TCP", "DMPTCP"], ["MPTCP"], below, shared=True),
                ),
            ),
            Claim(
                "dmptcp-best-with-loss",
                "With loss DMPTCP is sooner than both",
                None,
                f"ms, {told}",
                best,
                cause(
                    best,
                    _repair(found, bad)
                    + _tried(context, best, ["TCP", "MPTCP"], ["DMPTCP"], below, loss=bad, shared=True),
                ),
            ),
            Claim(
                "smaller-gain",
                "DMPTCP gains less over MPTCP than on disjoint paths",
                None,
                f"{100 * gains['shared']:.1f} % on one link, {100 * gains['disjoint']:.1f} % on disjoint paths",
                smaller,
                cause(
                    smaller,
                    f"Not known. Without loss a flow repeats so many segments on the common link: {_repeats(found)}.",
                ),
            ),
        ],
        tables=[("Completion, ms", rows)],
        figures=figures,
    )


def _tried(
    context: Context,
    now: Check,
    slower: Sequence[str],
    faster: Sequence[str],
    order: Callable[[float, float], Check],
    *,
    loss: float = 0.0,
    shared: bool = False,
) -> str:
    """Under variants: the least time of those that should be slower over the longest of those that should be faster."""
    rtts = networks.SL_RTTS_MS if shared else NSL_RTTS_MS

    def value(found: Found, variant: str, column: str) -> float:
        late = [found.mean_ms(column, scheme=scheme, variant=variant) for scheme in slower]
        soon = [found.mean_ms(column, scheme=scheme, variant=variant) for scheme in faster]
        return min(late) / max(soon)

    return variants.tried_bursts(
        context,
        lambda scheme, seed, **changed: burst(
            scheme, rtts, pareto_sizes(FLOWS, seed), loss=loss, shared=shared, **changed
        ),
        [*slower, *faster],
        value,
        lambda ratio: order(1.0, ratio),
        now,
        seeds=seeds(context, 10, 1),
        shared=shared,
    )


def _repeats(found: Found) -> str:
    rows = {scheme: found.rows("subflows", scheme=scheme, loss=0.0)["retransmissions"].sum() for scheme in SCHEMES}
    runs = {scheme: found.rows(scheme=scheme, loss=0.0).height for scheme in SCHEMES}
    return ", ".join(f"{scheme} {float(rows[scheme]) / runs[scheme]:.1f}" for scheme in SCHEMES)


def figure_22(context: Context) -> Outcome:
    """Short flows over the loss rate, one common link."""
    return _over_loss(context, "figure-22", shared=True)


def _repair(found: Found, loss: float) -> str:
    """What losses cost by scheme, in numbers."""
    told = []
    for scheme in SCHEMES:
        rows, runs = found.rows("subflows", scheme=scheme, loss=loss), found.rows(scheme=scheme, loss=loss).height
        timeouts, moved = float(rows["timeouts"].sum()) / runs, float(rows["reinjections"].sum()) / runs
        told.append(f"{scheme} {timeouts:.2f} and {moved:.2f}")
    return (
        f"At {100 * loss:g} % a flow has so many timeouts, and segments sent again on another: {', '.join(told)}; "
        "what several paths cost in timeouts they gain in repairs. "
    )


def _small(context: Context) -> tuple[Found, int]:
    size = 21_685
    cases = [
        _single(scheme, size, NSL_RTTS_MS, {"loss": loss}, loss=loss)
        for scheme in SCHEMES
        for loss in (0.0, PRINTED, FIVE)
    ]
    return Found(context, cases, seeds(context, 100, 20)), size


def figure_16(context: Context) -> Outcome:
    """Packets by subflow of 21,685 bytes."""
    found, size = _small(context)
    printed = context.published
    at_once = _model(size, NSL_RTTS_MS)
    per = (
        found.rows("subflows", scheme="MPTCP", loss=FIVE)
        .group_by("path", maintain_order=True)
        .agg(pl.col("segments_sent").mean())["segments_sent"]
        .to_list()
    )
    later = [each for each in at_once[1:] if each > 0]
    claims = []
    for key, value in (("least", min(later, default=0.0)), ("most", max(later, default=0.0))):
        verdict = Exact(printed[key], value)
        claims.append(
            Claim(
                key,
                f"Further subflows carry at {key} {printed[key]:g} packets",
                printed[key],
                f"{value:g}, all open at once (round model: {_list(at_once)})",
                verdict,
                cause(verdict, "Slow start doubles a path's window with each of its round trips."),
            )
        )
    return Outcome(
        claims,
        notes=[f"Simulated with 5 % loss, means by path: {', '.join(f'{each:.1f}' for each in per)}."],
    )


def figure_17(context: Context) -> Outcome:
    """The trace of a subflow without luck."""
    printed = context.published
    slow = NSL_RTTS_MS[6] / 1e3
    # A byte by TCP over the path of 90 ms: the SYN/ACK comes half a round trip, or one way, before the byte arrives.
    ways = {"round trip": (False, slow / 2), "one way": (True, slow)}
    handshake = Found(
        context,
        [_single("TCP", 1, [1e3 * slow], {"read": name}, one_way=one_way) for name, (one_way, _) in ways.items()],
        [1],
    )
    read = {name: handshake.mean_ms(read=name) / 1e3 - there for name, (_, there) in ways.items()}
    syn = rules.number(printed["syn-ack"], read["round trip"])
    found = _figure_13(context)
    times = _of(found.subflows, loss=FIVE)["timeout_times_s"].to_list()
    gaps = [b - a for each in times if each for a, b in pairwise(each)]
    interval = min(gaps, default=float("nan"))
    steps = rules.number(printed["interval"], Mean(interval))
    return Outcome(
        [
            Claim(
                "syn-ack",
                "The handshake on a path of at most 100 ms takes 180 ms",
                printed["syn-ack"],
                read["round trip"],
                syn,
                cause(
                    syn,
                    "No path has that round trip. With the printed times read one way the handshake over the path of "
                    f"{1e3 * slow:.0f} ms takes {read['one way']:.4f} s in the simulator.",
                ),
            ),
            Claim(
                "interval",
                "The packet is repeated every 200 ms, without backoff",
                printed["interval"],
                interval,
                steps,
                cause(steps, "Timeouts of a transfer are of different losses here."),
            ),
        ],
        not_covered=dict.fromkeys(
            ("first-retransmission", "retransmissions", "ack"), "A single trace of one unlucky packet: chance."
        ),
    )


def figure_18(context: Context) -> Outcome:
    """DMPTCP's subflows for 21,685 bytes."""
    found, size = _small(context)
    used = average([found.used(scheme="DMPTCP", loss=loss) for loss in (PRINTED, FIVE)])
    at_once = sum(each > 0 for each in _model(size, NSL_RTTS_MS, select=True))
    printed = context.published["subflows"]
    verdict = Exact(printed, used)
    return Outcome(
        [
            Claim(
                "subflows",
                "DMPTCP uses subflows 0 and 1",
                printed,
                f"{used:.2f} with loss; {at_once} by the round model",
                verdict,
                cause(verdict, f"{_ALG}: {at_once}."),
            )
        ]
    )


def figure_19(context: Context) -> Outcome:
    """TCP for 21,685 bytes."""
    found, _ = _small(context)
    one = {loss: found.mean_ms(scheme="TCP", loss=loss) for loss in (PRINTED, FIVE)}
    two = {loss: found.mean_ms(scheme="DMPTCP", loss=loss) for loss in (PRINTED, FIVE)}
    verdict = below(two[PRINTED], one[PRINTED])
    return Outcome(
        [
            Claim(
                "one-path",
                "TCP on one path takes longer than DMPTCP",
                None,
                f"{one[PRINTED]:.1f} to {two[PRINTED]:.1f} ms at 0.05 %, {one[FIVE]:.0f} to {two[FIVE]:.0f} ms at 5 %",
                verdict,
                cause(verdict, f"{_FEW}. At 5 % the difference is that of figure 15."),
            )
        ]
    )
