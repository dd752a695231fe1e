"""The data frames: names, types, and the values of an outcome under the scenario's names."""

import polars as pl
import pytest
from mptcplab import Result, Scenario, run
from mptcplab.results.columns import FRAMES, polars_schema
from mptcplab.results.run_frames import frame_of_rows


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_has_exactly_the_columns_of_the_schema(result: Result, name: str) -> None:
    frame: pl.DataFrame = getattr(result, name)
    assert frame.schema == polars_schema(name)
    assert frame.height > 0


def test_connections_carry_the_names_of_the_scenario(result: Result) -> None:
    first, second, third = result.connections.to_dicts()
    assert (first["name"], first["index"], first["protocol"]) == ("download", 0, "mptcp")
    assert (first["congestion"], first["scheduler"], first["paths"]) == ("lia", "min-rtt", ["wifi", "lte"])
    assert (first["repeat"], first["seed"]) == (0, 7)
    assert first["goodput_bps"] == 10e6 + 7
    assert (second["name"], second["index"]) == ("neighbour", 0)
    assert (third["name"], third["index"], third["protocol"]) == ("neighbour", 1, "tcp")


def test_plain_tcp_has_no_scheduler(result: Result) -> None:
    assert result.connections.filter(protocol="tcp")["scheduler"].to_list() == [None, None]


def test_what_is_unknown_is_null(result: Result) -> None:
    neighbour = result.connections.filter(name="neighbour").row(0, named=True)
    assert neighbour["completion_s"] is None
    assert neighbour["out_of_order_delay_mean_s"] is None


def test_subflows_are_numbered_within_their_connection(result: Result) -> None:
    keys = ["connection", "index", "subflow", "path", "reinjections"]
    assert result.subflows.select(keys).rows() == [
        ("download", 0, 0, "wifi", 0),
        ("download", 0, 1, "lte", 1),
        ("neighbour", 0, 0, "wifi", 0),
        ("neighbour", 1, 0, "wifi", 0),
    ]


def test_links_have_two_directions(result: Result) -> None:
    assert result.links.select("name", "direction", "drops").rows() == [
        ("wifi", "down", 12),
        ("wifi", "up", 0),
        ("lte", "down", 12),
        ("lte", "up", 0),
    ]


def test_samples_belong_to_the_right_subflow(result: Result) -> None:
    lte = result.samples.filter(kind="subflow", connection="download", path="lte")
    # 4 s of samples every 100 ms; the first has no RTT yet.
    assert lte["time_s"].to_list() == pytest.approx([at / 10 for at in range(1, 41)])
    assert lte["srtt_s"].to_list() == [None] + [0.065] * 39
    assert lte["subflow"].unique().to_list() == [1]
    assert lte["link"].null_count() == lte["queue_packets"].null_count() == 40


def test_samples_belong_to_the_right_link(result: Result) -> None:
    rows = result.samples.filter(kind="link")
    assert rows.height == 4 * 40
    assert rows.select("link", "direction").unique(maintain_order=True).rows() == [
        ("wifi", "down"),
        ("wifi", "up"),
        ("lte", "down"),
        ("lte", "up"),
    ]
    assert rows["connection"].null_count() == rows["cwnd_segments"].null_count() == rows.height


def test_a_scenario_without_samples_has_an_empty_frame(scenario: Scenario, made_up_core: None) -> None:
    result = run(scenario.with_("measure.sample=never"))
    assert result.samples.is_empty()
    assert result.samples.schema == polars_schema("samples")
    assert "Goodput by subflow" not in result.report()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("transfer_paths", [[["one", 'a "name" with ö'], []], None, [], [["two"]]]),
        ("transfer_path_bytes", [[[2**64 - 1, 0], []], None, [[1]]]),
        ("transfer_timeout_times_s", [[[0.1 + 0.2, 5e-324, 1.7976931348623157e308], None, []], [[1, 2.5]], None]),
    ],
)
def test_lists_of_lists_are_those_that_polars_makes_itself(name: str, cells: list[object]) -> None:
    schema = polars_schema("connections", with_run=False)
    rows = [[cell if column == name else None for column in schema] for cell in cells]
    frame = frame_of_rows("connections", rows)
    assert frame.schema == schema
    assert frame[name].to_list() == cells
    assert frame[name].equals(pl.Series(name, cells, dtype=schema[name]), null_equal=True, check_dtypes=True)
