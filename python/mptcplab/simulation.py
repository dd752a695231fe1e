"""The engine `sim`: hands the complete description to the core and names what comes back."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from mptcplab import _core
from mptcplab.capture.settings import Capture
from mptcplab.result import Run
from mptcplab.schema import FRAMES, RUN_COLUMNS, polars_schema

if TYPE_CHECKING:
    from mptcplab._core import LinkSamples, Outcome, SubflowSamples
    from mptcplab.scenario import Scenario


def simulate(
    scenario: "Scenario",
    *,
    seed: int,
    through_wire: bool = False,
    progress: Callable[[float], None] | None = None,
    capture: Capture | None = None,
) -> Run:
    """Simulate one scenario with one seed; `progress` gets the virtual time in seconds now and then.

    `capture` says where packets are written, as pcapng, a file for each interface of the hosts.

    Raises mptcplab.scenario.UnsupportedError for what the simulator has not learnt, SimulationError when it fails.
    """
    description = scenario.description(seed=seed, through_wire=through_wire)
    if capture is None:
        outcome = _core.simulate(json.dumps(description), progress)
    else:
        outcome = _core.simulate(json.dumps(description), progress, capture.directory, capture.snap_length)
    return run_from_outcome(description, outcome, seed=seed)


Rows = list[dict[str, Any]]


def run_from_outcome(description: Mapping[str, Any], outcome: "Outcome", *, seed: int) -> Run:
    """Give the core's outcome the names of the scenario and the columns of docs/results.md."""
    summary = json.loads(outcome["summary"])
    connections, subflows, links = _named_rows(description, summary)
    path_names = [path["name"] for path in description["paths"]]
    link_names = [row["name"] for row in links]
    directions = [row["direction"] for row in links]
    samples = pl.concat(
        [
            _subflow_samples(outcome["subflow_samples"], connections, path_names),
            _link_samples(outcome["link_samples"], link_names, directions),
        ]
    )
    return Run(
        seed=seed,
        connections=_frame("connections", connections),
        subflows=_frame("subflows", subflows),
        links=_frame("links", links),
        samples=samples,
    )


def summary_rows(
    description: Mapping[str, Any], summary: Mapping[str, Any]
) -> tuple[list[list[object]], list[list[object]], list[list[object]]]:
    """The rows of connections, subflows and links of one run, as lists in the order of the columns."""
    connections, subflows, links = _named_rows(description, summary)
    return _lists("connections", connections), _lists("subflows", subflows), _lists("links", links)


def _named_rows(description: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[Rows, Rows, Rows]:
    kinds = [description["connections"][row["kind"]] for row in summary["connections"]]
    path_names = [path["name"] for path in description["paths"]]
    connections = [
        {
            "name": kind["name"],
            "protocol": kind["protocol"],
            "congestion": kind["congestion"]["name"],
            "scheduler": kind["scheduler"]["name"] if kind["protocol"] == "mptcp" else None,
            "paths": [path_names[path] for path in kind["paths"]],
            **row,
            **_transfers(row["transfers"]),
        }
        for kind, row in zip(kinds, summary["connections"], strict=True)
    ]
    subflows = [
        {**subflow, "connection": connection["name"], "index": connection["index"], "subflow": number}
        | {"path": path_names[subflow["path"]]}
        for connection in connections
        for number, subflow in enumerate(connection["subflows"])
    ]
    links = [
        {**row, "name": description["links"][row["link"]]["name"], "direction": "down" if row["down"] else "up"}
        for row in summary["links"]
    ]
    return connections, subflows, links


def _transfers(transfers: Mapping[str, Any] | None) -> dict[str, object]:
    """The columns of `requests` and `flows`; null for any other application."""
    if transfers is None:
        columns = [column for column in polars_schema("connections") if column.startswith("transfer")]
        return dict.fromkeys(columns)
    times = transfers["completion_s"]
    ordered = sorted(times)
    return {
        "transfers_begun": transfers["begun"],
        "transfers_complete": len(times),
        "transfer_mean_s": math.fsum(times) / len(times) if times else None,
        **{f"transfer_p{percent}_s": _percentile(ordered, percent) for percent in (50, 95, 99)},
        "transfer_times_s": times,
        "transfer_starts_s": transfers["start_s"],
        "transfer_sizes_bytes": transfers["size_bytes"],
    }


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The least of the values that so many per cent of them do not exceed (nearest rank)."""
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None


def _frame(name: str, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(_lists(name, rows), schema=polars_schema(name, with_run=False), orient="row")


def _lists(name: str, rows: Sequence[Mapping[str, object]]) -> list[list[object]]:
    columns = [column.name for column in FRAMES[name][RUN_COLUMNS:]]
    return [[row[column] for column in columns] for row in rows]


def _subflow_samples(
    samples: "SubflowSamples", connections: Sequence[Mapping[str, Any]], path_names: Sequence[str]
) -> pl.DataFrame:
    # One row per subflow, found by (connection, subflow): the samples carry indices only.
    who = pl.DataFrame(
        [
            (number, position, connection["name"], connection["index"], path_names[subflow["path"]])
            for number, connection in enumerate(connections)
            for position, subflow in enumerate(connection["subflows"])
        ],
        schema={"who": pl.UInt32, "subflow": pl.UInt32, "connection": pl.String, "index": pl.UInt32, "path": pl.String},
        orient="row",
    )
    values = pl.DataFrame({"who" if name == "connection" else name: column for name, column in samples.items()})
    joined = values.join(who, on=["who", "subflow"], how="left", maintain_order="left", validate="m:1")
    return _as_samples(joined, "subflow")


def _link_samples(samples: "LinkSamples", names: Sequence[str], directions: Sequence[str]) -> pl.DataFrame:
    values = pl.DataFrame(dict(samples))
    which = values["link"]
    named = values.with_columns(
        link=pl.Series("link", names, dtype=pl.String).gather(which),
        direction=pl.Series("direction", directions, dtype=pl.String).gather(which),
    )
    return _as_samples(named, "link")


def _as_samples(values: pl.DataFrame, kind: str) -> pl.DataFrame:
    """The columns of `samples` in their order; those of the other kind null, NaN null."""
    columns = [
        (pl.lit(kind) if name == "kind" else pl.col(name) if name in values.columns else pl.lit(None))
        .cast(dtype)
        .alias(name)
        for name, dtype in polars_schema("samples", with_run=False).items()
    ]
    return values.select(columns).with_columns(pl.col(pl.Float64).fill_nan(None))
