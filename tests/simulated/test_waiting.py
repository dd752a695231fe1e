"""What bytes waited for: by the path that brought it and why it was sent there, adding up to what was measured."""

from typing import Any

import mptcplab
import polars as pl
import pytest
from mptcplab import Scenario, connection, link, plots

COLUMNS = ["waited_first_s", "waited_retransmission_s", "waited_timeout_s", "waited_reinjection_s"]


def run(
    loss: str = "0 %", scheduler: str = "round-robin", slow: str = "60 ms", application: Any = "bulk"
) -> mptcplab.Result:
    """Two paths; the second is slower."""
    return mptcplab.run(
        Scenario.build(
            duration="8 s",
            links={
                "fast": link(rate="10 Mbit/s", delay="5 ms", queue="100 packets", loss=loss),
                "slow": link(rate="10 Mbit/s", delay=slow, queue="100 packets"),
            },
            connections={"m": connection(["fast", "slow"], scheduler=scheduler, application=application)},
            sample="1 s",
        )
    )


def parts(result: mptcplab.Result) -> dict[str, list[float]]:
    return {row["path"]: [row[name] for name in COLUMNS] for row in result.subflows.iter_rows(named=True)}


@pytest.mark.parametrize("loss", ["0 %", "2 %"])
@pytest.mark.parametrize("scheduler", ["round-robin", "min-rtt", "linux", "redundant"])
def test_it_adds_up_to_what_was_measured(loss: str, scheduler: str) -> None:
    result = run(loss, scheduler)
    waited = sum(sum(each) for each in parts(result).values())
    assert waited == pytest.approx(result.connections["out_of_order_delay_mean_s"][0], rel=1e-9)


def test_without_losses_bytes_wait_for_the_slow_path_alone() -> None:
    """In turn, and neither loses anything: what comes by the fast path waits for what the slow one got first."""
    result = run(slow="100 ms", application={"kind": "rate", "rate": "4 Mbit/s"})
    assert result.subflows["retransmissions"].sum() == 0
    fast, slow = parts(result)["fast"], parts(result)["slow"]
    assert slow[0] > 0.03
    assert slow[0] > 20 * sum(fast)
    assert slow[1:] == [0, 0, 0]


def test_what_is_lost_is_waited_for_as_a_retransmission() -> None:
    """With TCP nothing else makes bytes wait."""
    result = mptcplab.run(
        Scenario.build(
            duration="8 s",
            links={"one": link(rate="10 Mbit/s", delay="20 ms", loss="1 %")},
            connections={"t": connection(["one"], protocol="tcp", congestion="cubic")},
        )
    )
    (waited,) = parts(result).values()
    assert waited[1] > 0.001
    assert waited[1] + waited[2] == pytest.approx(result.connections["out_of_order_delay_mean_s"][0], rel=1e-9)


def test_a_path_that_dies_is_waited_for_by_reinjection() -> None:
    frame = mptcplab.run(Scenario.load("wifi-dies")).subflows
    assert frame.select(pl.col("waited_reinjection_s").max()).item() > 0


def test_the_report_has_a_figure_of_it() -> None:
    figures = {figure.name: figure for figure in plots.figures(run("2 %"))}
    points = figures["waiting"].panels[0].data["points"]
    assert set(points["path"]) == {"fast", "slow"}
    assert points["value"].sum() > 0
