"""The runs of sections 5.3 and 5.4: one shared bottleneck, and three bottlenecks that three clients share."""

from collections.abc import Sequence
from typing import Final

import polars as pl
from mptcplab import metrics
from mptcplab.reproduce import Context

from . import scenarios
from .data import keep
from .networks import LEAST_QUEUE_PACKETS, queue_packets
from .scenarios import CONTROLS

DELAY_MS: Final = 13
QUEUEING_MS: Final = 50
"""The middle of the domain of low BDP: the thesis names neither delay nor queue of these bottlenecks."""
SEEDS: Final = 5
FORMS: Final = ("paper", "linux")
_SECONDS: Final = 300
_SHARED_MBPS: Final = 15
_THREE_MBPS: Final = 10
_PHASES: Final = (40, 80, 120)


def _seeds(context: Context) -> range:
    return range(1, 3 if context.quick else SEEDS + 1)


def _seconds(context: Context) -> int:
    return 60 if context.quick else _SECONDS


def own(table: pl.DataFrame, control: str, form: str = scenarios.JUDGED_FORM) -> pl.DataFrame:
    """The rows of one control in the form that is judged."""
    return table.filter((pl.col("control") == control) & (pl.col("form") == form))


def fairness(context: Context) -> pl.DataFrame:
    """Table 5.3: a row per control, form and seed, throughputs in kbit/s of payload."""
    settings = [(DELAY_MS, queue_packets(_SHARED_MBPS, QUEUEING_MS))]
    return keep(context, "fairness", lambda: _contests(context, settings, FORMS, _seeds(context), _seconds(context)))


def other_bottlenecks(context: Context) -> pl.DataFrame:
    """The same for other delays and queues."""
    queues = (LEAST_QUEUE_PACKETS, 20, 31, 62, 125)
    delays = (DELAY_MS,) if context.quick else (1, DELAY_MS, 25)
    settings = [(delay, queue) for delay in delays for queue in queues]
    seconds = 60 if context.quick else 120
    return keep(
        context,
        "other bottlenecks",
        lambda: _contests(context, settings, (scenarios.JUDGED_FORM,), range(1, 3), seconds),
    )


def _contests(
    context: Context, settings: Sequence[tuple[int, int]], forms: Sequence[str], seeds: range, seconds: int
) -> pl.DataFrame:
    wanted = [
        (
            {"control": control, "form": form, "delay_ms": delay, "queue": queue, "number": seed},
            scenarios.shared_bottleneck(scenarios.control(control, form), delay_ms=delay, queue=queue, seconds=seconds),
            seed,
        )
        for delay, queue in settings
        for control in CONTROLS
        for form in forms
        for seed in seeds
    ]
    runs = context.run_many(wanted)
    by = ["control", "form", "delay_ms", "queue", "number"]
    table = runs.connections.pivot(on="name", index=by, values="goodput_bps").with_columns(
        mptcp=pl.col("multi") / 1e3, tcp=pl.col("single") / 1e3
    )
    used = runs.links.filter((pl.col("name") == "shared") & (pl.col("direction") == "down")).select(*by, "utilization")
    return table.join(used, on=by, how="left", maintain_order="left", validate="1:1").with_columns(
        jain=pl.Series([metrics.jain_index([a, b]) for a, b in table.select("mptcp", "tcp").iter_rows()])
    )


def responsiveness(context: Context) -> pl.DataFrame:
    """Table 5.4: a row per control, form and seed; throughputs in the three phases in kbit/s of payload."""
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
                scenarios.control(control, form), delay_ms=delay, queue=queue, seconds=until, tcp_from_to=(40, 80)
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
    wide = cut.pivot(on="column", index=by, values="bytes_delivered").with_columns(pl.exclude(by).cast(pl.Float64))
    kbps = 8e-3 / (_PHASES[1] - _PHASES[0])
    return wide.select(
        *by,
        phase_1=pl.col("multi_40") * kbps,
        phase_2=(pl.col("multi_80") - pl.col("multi_40")) * kbps,
        phase_2_tcp=pl.col("single_80") * kbps,
        phase_3=(pl.col("multi_120") - pl.col("multi_80")) * kbps,
    ).with_columns(
        jain=pl.struct("phase_2", "phase_2_tcp").map_elements(
            lambda row: metrics.jain_index([row["phase_2"], row["phase_2_tcp"]]), return_dtype=pl.Float64
        )
    )


def choices(context: Context) -> pl.DataFrame:
    """Table 5.5 and figure 5.5: a row per control, form, seed and client; throughputs in kbit/s of payload."""
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
    return rates.with_columns(first=pl.col("one") / 1e3, second=pl.col("two") / 1e3).with_columns(
        total=pl.col("first") + pl.col("second"), share=pl.col("first") / (pl.col("first") + pl.col("second"))
    )
