"""§7, what the paper leaves for later: path selection for flows whose size is not known."""

from typing import Final

import polars as pl
from mptcplab.reproduce import Context, Outcome

from .measure import ONLINE, SCHEMES, Case, Found, burst, chart, table
from .networks import NSL_RTTS_MS
from .short import K, seeds

_NETWORKS: Final = {"two paths, 20 and 100 ms": (20, 100), "eight paths, 10 to 100 ms": NSL_RTTS_MS}
_LOSSES: Final = (0.0, 0.01)
_SIZES_KB: Final = (16, 64, 256, 1024, 4096)
_COMPLETION: Final = "completion_ms"


def size(context: Context) -> Outcome:
    """One flow of each size, with its size known and not, beside TCP and MPTCP."""
    schemes = (*SCHEMES, ONLINE)
    cases = [
        _case(network, loss, kb, scheme)
        for network in _NETWORKS
        for loss in _LOSSES
        for kb in _SIZES_KB
        for scheme in schemes
    ]
    keys = ["network", "loss_percent", "size_kb"]
    rows = table(Found(context, cases, seeds(context, 40, 3)), [*keys, "scheme"])
    wide = rows.pivot(on="scheme", index=keys, values=_COMPLETION)
    over = wide.select(
        known=pl.col(ONLINE) / pl.col("DMPTCP") - 1,
        worse=pl.col(ONLINE) / pl.max_horizontal("DMPTCP", "TCP") - 1,
        mptcp=pl.col(ONLINE) / pl.col("MPTCP") - 1,
    )
    shown = wide.with_columns(pl.col(*schemes).round(1)).rename(
        {"loss_percent": "loss, %", "size_kb": "size, KB"} | {scheme: f"{scheme}, ms" for scheme in schemes}
    )
    lossless = rows.filter((pl.col("loss_percent") == 0) & (pl.col("network") == next(iter(_NETWORKS))))
    ranges = {name: (f"{100 * low:+.0f}", f"{100 * high:+.0f} %") for name, low, high in _ranges(over)}
    return Outcome(
        [],
        tables=[("Completion by scheme", shown)],
        figures=[("Two paths, no loss", chart(lossless, "size_kb", "size, KB", log=True))],
        notes=[
            f"Without its size a flow takes {' to '.join(ranges['known'])} more than with it (DMPTCP), "
            f"{' to '.join(ranges['worse'])} more than the slower one of that and TCP on the fastest path, and "
            f"{' to '.join(ranges['mptcp'])} more than over all paths (MPTCP).",
            "The scheduler is dmptcp-online: algorithm 1 with what was sent in place of what is left.",
        ],
        not_covered={"open": "A question, which claims nothing; the note and the table answer it."},
    )


def _case(network: str, loss: float, kb: int, scheme: str) -> Case:
    labels = {"network": network, "loss_percent": 100 * loss, "size_kb": kb, "scheme": scheme}
    return labels, lambda _: burst(scheme, _NETWORKS[network], [kb * K], loss=loss)


def _ranges(over: pl.DataFrame) -> list[tuple[str, float, float]]:
    """The least and the largest of each column."""
    return [(name, float(over[name].to_numpy().min()), float(over[name].to_numpy().max())) for name in over.columns]
