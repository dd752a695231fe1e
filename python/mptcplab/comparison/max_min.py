"""Goodputs beside what max-min fairness would give: a result's table, and a column to compare settings by."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mptcplab.comparison.metric import MetricError, column_of
from mptcplab.results.columns import MAX_MIN_SHARE

if TYPE_CHECKING:
    import polars as pl

    from mptcplab.render.text_tables import Table
    from mptcplab.results.result import Result
    from mptcplab.sweeps.file import Sweep

_KEYS: Final = ("point", "variant", "name")

Shares = list[tuple[int, str, str, float]]
"""Number of the point, name of the variant, name of the connection, its max-min fair goodput in bit/s."""


def rows(result: "Result") -> list[dict[str, Any]]:
    """`name`, `index`, `goodput_bps` (mean of the runs), `max_min_bps` and `max_min_share` of each connection.

    Raises UnsupportedError as `mptcplab.engines.model.max_min.max_min_bps`.
    """
    from mptcplab.engines.model.max_min import max_min_bps

    fair = max_min_bps(result.scenario)
    goodputs: dict[tuple[str, int], list[float]] = {}
    for row in result.rows("connections"):
        if row["goodput_bps"] is not None:
            goodputs.setdefault((row["name"], row["index"]), []).append(row["goodput_bps"])
    return [
        {
            "name": name,
            "index": index,
            "goodput_bps": (mean := sum(values) / len(values)),
            "max_min_bps": fair[name],
            MAX_MIN_SHARE.name: mean / fair[name],
        }
        for (name, index), values in goodputs.items()
    ]


def table(found: list[dict[str, Any]]) -> "Table":
    """The same for people."""
    from mptcplab.render.text_tables import Field, Table, decimals, formatter, numbered_names

    numbered = numbered_names(found)
    names = tuple(f"{row['name']} {row['index']}" if row["name"] in numbered else row["name"] for row in found)
    fields = [Field("connection", "", names, "text")]
    for column, header, unit, scale in (
        ("goodput_bps", "goodput", "Mbit/s", 1e-6),
        ("max_min_bps", "max-min fair", "Mbit/s", 1e-6),
        (MAX_MIN_SHARE.name, "share of it", "%", 100.0),
    ):
        values = [row[column] * scale for row in found]
        fields.append(Field(header, unit, tuple(map(formatter(decimals(values)), values)), "number"))
    return Table("Max-min fairness", tuple(fields))


def shares_of(sweep: "Sweep", metric: str | None) -> Shares:
    """The max-min fair goodputs at every point and variant; none where `metric` does not ask for shares of them.

    Raises UnsupportedError for a scenario that has none.
    """
    if metric is None or column_of(metric) != MAX_MIN_SHARE.name:
        return []
    from mptcplab.engines.model.max_min import max_min_bps

    keys = [factor.key for factor in sweep.factors]
    found: Shares = []
    for number, point in enumerate(sweep.points()):
        values = [factor.at(float(x)) for factor, x in zip(sweep.factors, point, strict=True)]
        for variant in sweep.crossed():
            fair = max_min_bps(sweep.at({**dict(zip(keys, values, strict=True)), **variant}))
            found += [(number, sweep.name_of(variant), name, fair_bps) for name, fair_bps in fair.items()]
    return found


def with_shares(frames: "Mapping[str, pl.DataFrame]", shares: Shares) -> "Mapping[str, pl.DataFrame]":
    """The frames of a dataset with the column `max_min_share` of connections, where there are shares."""
    if not shares:
        return frames
    import polars as pl

    connections = frames["connections"]
    schema = {key: connections.schema[key] for key in _KEYS} | {"max_min_bps": pl.Float64()}
    fair = pl.DataFrame(shares, schema=schema, orient="row")
    joined = connections.join(fair, on=list(_KEYS), how="left", maintain_order="left")
    share = (pl.col("goodput_bps") / pl.col("max_min_bps")).alias(MAX_MIN_SHARE.name)
    return {**frames, "connections": joined.with_columns(share).drop("max_min_bps")}


def sweep_of(scenario: str, data: Mapping[str, Any]) -> "Sweep":
    """The sweep of a dataset again, from its files' contents. Raises MetricError for one of several scenarios."""
    from mptcplab.scenario import Scenario
    from mptcplab.sweeps.file import Sweep

    if not isinstance(data["scenario"], str):
        raise MetricError("shares of max-min fairness are compared in sweeps of one scenario; this one has several")
    if data.get("design", {}).get("kind") == "adaptive":
        raise MetricError("shares of max-min fairness are compared in sweeps whose points do not depend on results")
    base = Scenario.from_toml(scenario)
    return Sweep.build(base, data.get("variant"), factors=data.get("factor"), design=data.get("design"))
