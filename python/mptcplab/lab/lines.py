"""The time series of a run as the page draws them: a line for each subflow and each direction of a link."""

from typing import TYPE_CHECKING, Any

from mptcplab.lab.limits import Limits

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.results.result import Run

_SUBFLOW = ("goodput_bps", "cwnd_segments", "srtt_s")
_LINK = ("queue_packets", "utilization", "drops")


def of_run(run: "Run", limits: Limits) -> dict[str, Any]:
    """The lines by kind; `cut` says how many more there are."""
    samples = run.samples
    subflows, more_subflows = _of_kind(samples, "subflow", ("connection", "index", "subflow", "path"), _SUBFLOW, limits)
    links, more_links = _of_kind(samples, "link", ("link", "direction"), _LINK, limits)
    return {"subflows": subflows, "links": links, "cut": more_subflows + more_links}


def _of_kind(
    samples: "pl.DataFrame", kind: str, names: tuple[str, ...], values: tuple[str, ...], limits: Limits
) -> tuple[list[dict[str, Any]], int]:
    import polars as pl

    rows = samples.filter(pl.col("kind") == kind).select(*names, "time_s", *values)
    groups = rows.partition_by(*names, maintain_order=True)
    lines = []
    for group in groups[: limits.lines]:
        step = -(-group.height // limits.points)
        if step > 1:
            number = pl.int_range(pl.len()) // step
            means = [pl.col(value).mean() for value in values]
            first = [pl.col(name).first() for name in names]
            group = group.group_by(number.alias("point"), maintain_order=True).agg(
                *first, pl.col("time_s").last(), *means
            )
        line: dict[str, Any] = {name: group[name][0] for name in names}
        line |= {value: group[value].to_list() for value in ("time_s", *values)}
        lines.append(line)
    return lines, max(0, len(groups) - limits.lines)
