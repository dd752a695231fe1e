"""The runs of sections 5.3 and 5.4: one shared bottleneck, and three bottlenecks that three clients share."""

from collections.abc import Sequence
from typing import Final

import polars as pl
from mptcplab import metrics
from mptcplab.reproduce import Context

from . import scenarios
from .data import PAYLOAD_BYTES, keep
from .networks import LEAST_QUEUE_PACKETS, MACHINE, queue_packets
from .scenarios import CONTROLS

DELAY_MS: Final[int] = MACHINE["bottleneck-delay"]
QUEUEING_MS: Final[int] = MACHINE["bottleneck-queueing"]
SEEDS: Final = 10
FORMS: Final = ("paper", "linux")
_HEADERS: Final = {"mptcp": 1500 / PAYLOAD_BYTES, "tcp": 1500 / 1448}
"""Bytes of packets per byte of payload; plain TCP has no mappings."""
_SECONDS: Final = 300
_SHARED_MBPS: Final = 15
_THREE_MBPS: Final = 10
_PHASES: Final = (40, 80, 120)


def _seeds(context: Context) -> range:
    return range(1, 3 if context.quick else SEEDS + 1)


def _seconds(context: Context) -> int:
    return 60 if context.quick else _SECONDS


def own(context: Context, table: pl.DataFrame, control: str) -> pl.DataFrame:
    """The rows of one control in the form that is judged."""
    return table.filter((pl.col("control") == control) & (pl.col("form") == context.machine["form"]))


def headers(context: Context) -> pl.Expr:
    """What a printed throughput counts for a byte of a connection's payload."""
    factors = _HEADERS if context.machine["throughput"] == "packets" else dict.fromkeys(_HEADERS, 1.0)
    return pl.col("protocol").replace_strict(factors, return_dtype=pl.Float64)


def fairness(context: Context) -> pl.DataFrame:
    """Table 5.3: a row per control, form and seed, throughputs in kbit/s as the thesis counts them."""
    settings = [(DELAY_MS, queue_packets(_SHARED_MBPS, QUEUEING_MS))]
    return keep(context, "fairness", lambda: _contests(context, settings, FORMS, _seeds(context), _seconds(context)))


def every_segment(context: Context) -> pl.DataFrame:
    """The same in the form that is judged, where a receiver acknowledges every segment."""
    settings = [(DELAY_MS, queue_packets(_SHARED_MBPS, QUEUEING_MS))]
    forms = (context.machine["form"],)
    return keep(
        context,
        "every segment",
        lambda: _contests(context, settings, forms, _seeds(context), _seconds(context), {"segments_per_ack": 1}),
    )


def other_bottlenecks(context: Context) -> pl.DataFrame:
    """The same for other delays and queues."""
    queues = (LEAST_QUEUE_PACKETS, 20, 31, 62, 125)
    delays = (DELAY_MS,) if context.quick else (1, DELAY_MS, 25)
    settings = [(delay, queue) for delay in delays for queue in queues]
    seconds = 60 if context.quick else 120
    return keep(
        context,
        "other bottlenecks",
        lambda: _contests(context, settings, (context.machine["form"],), range(1, 3), seconds),
    )


def _contests(
    context: Context,
    settings: Sequence[tuple[int, int]],
    forms: Sequence[str],
    seeds: range,
    seconds: int,
    tcp: scenarios.Table | None = None,
) -> pl.DataFrame:
    wanted = [
        (
            {"control": control, "form": form, "delay_ms": delay, "queue": queue, "number": seed},
            scenarios.with_tcp(
                scenarios.shared_bottleneck(
                    scenarios.control(control, form),
                    delay_ms=delay,
                    queue=queue,
                    seconds=seconds,
                    machine_wide=context.machine["machine-wide"],
                ),
                tcp or {},
            ),
            seed,
        )
        for delay, queue in settings
        for control in CONTROLS
        for form in forms
        for seed in seeds
    ]
    runs = context.run_many(wanted)
    by = ["control", "form", "delay_ms", "queue", "number"]
    counted = runs.connections.with_columns(kbps=pl.col("goodput_bps") / 1e3 * headers(context))
    table = counted.pivot(on="name", index=by, values="kbps").rename({"multi": "mptcp", "single": "tcp"})
    used = runs.links.filter((pl.col("name") == "shared") & (pl.col("direction") == "down")).select(*by, "utilization")
    return (
        table.join(used, on=by, how="left", maintain_order="left", validate="1:1")
        .with_columns(jain=pl.Series([metrics.jain_index([a, b]) for a, b in table.select("mptcp", "tcp").iter_rows()]))
        .with_columns(uneven=_uneven)
    )


_uneven: Final = (1 / pl.col("jain") - 1).clip(lower_bound=0).sqrt()
"""The coefficient of variation that Jain's index stands for (mptcplab.reproduce.judge.unevenness)."""


def responsiveness(context: Context) -> pl.DataFrame:
    """Table 5.4: a row per control, form and seed; throughputs in the three phases in kbit/s."""
    settings = [(DELAY_MS, queue_packets(_SHARED_MBPS, QUEUEING_MS))]
    return keep(context, "responsiveness", lambda: _phases(context, settings, _seeds(context)))


def other_responsiveness(context: Context) -> pl.DataFrame:
    """The same for other delays and queues."""
    settings = [(25, LEAST_QUEUE_PACKETS), (50, LEAST_QUEUE_PACKETS), (100, queue_packets(_SHARED_MBPS, QUEUEING_MS))]
    settings = settings[1:2] if context.quick else settings
    return keep(
        context, "other responsiveness", lambda: _phases(context, settings, range(1, 2 if context.quick else 3))
    )


def _phases(context: Context, settings: Sequence[tuple[int, int]], seeds: range) -> pl.DataFrame:
    # The same run cut off at three times: a phase is the difference of what had been delivered.
    wanted = [
        (
            {"control": control, "form": form, "delay_ms": delay, "queue": queue, "number": seed, "until": until},
            scenarios.shared_bottleneck(
                scenarios.control(control, form),
                delay_ms=delay,
                queue=queue,
                seconds=until,
                tcp_from_to=(40, 80),
                machine_wide=context.machine["machine-wide"],
            ),
            seed,
        )
        for delay, queue in settings
        for control in CONTROLS
        for form in FORMS
        for seed in seeds
        for until in _PHASES
    ]
    connections = context.run_many(wanted).connections
    by = ["control", "form", "delay_ms", "queue", "number"]
    cut = connections.with_columns(column=pl.col("name") + "_" + pl.col("until").cast(pl.String))
    cut = cut.with_columns(counted=pl.col("bytes_delivered").cast(pl.Float64) * headers(context))
    wide = cut.pivot(on="column", index=by, values="counted")
    kbps = 8e-3 / (_PHASES[1] - _PHASES[0])
    return (
        wide.select(
            *by,
            phase_1=pl.col("multi_40") * kbps,
            phase_2=(pl.col("multi_80") - pl.col("multi_40")) * kbps,
            phase_2_tcp=pl.col("single_80") * kbps,
            phase_3=(pl.col("multi_120") - pl.col("multi_80")) * kbps,
        )
        .with_columns(
            jain=pl.struct("phase_2", "phase_2_tcp").map_elements(
                lambda row: metrics.jain_index([row["phase_2"], row["phase_2_tcp"]]), return_dtype=pl.Float64
            )
        )
        .with_columns(uneven=_uneven)
    )


def choices(context: Context) -> pl.DataFrame:
    """Table 5.5 and figure 5.5: a row per control, form, seed and client; throughputs in kbit/s."""
    return keep(context, "choices", lambda: _choices(context))


def _choices(context: Context) -> pl.DataFrame:
    wanted = [
        (
            {"control": control, "form": form, "number": seed},
            scenarios.three_bottlenecks(
                scenarios.control(control, form),
                delay_ms=DELAY_MS,
                queue=queue_packets(_THREE_MBPS, QUEUEING_MS),
                seconds=_seconds(context),
            ),
            seed,
        )
        for control in CONTROLS
        for form in FORMS
        for seed in _seeds(context)
    ]
    subflows = context.run_many(wanted).subflows
    by = ["control", "form", "number", "connection"]
    rates = subflows.with_columns(which=pl.col("path").str.slice(2)).pivot(on="which", index=by, values="goodput_bps")
    counted = (_HEADERS["mptcp"] if context.machine["throughput"] == "packets" else 1.0) / 1e3
    return rates.with_columns(first=pl.col("one") * counted, second=pl.col("two") * counted).with_columns(
        total=pl.col("first") + pl.col("second"), share=pl.col("first") / (pl.col("first") + pl.col("second"))
    )
