"""Path selection without the size of the flow, against selection with it and against the fast path alone."""

from math import hypot
from statistics import fmean, stdev
from typing import Any

import pytest
from mptcplab import Scenario, run

SIZES = ("16 kB", "64 kB", "256 kB", "1 MB", "8 MB")
NETWORKS = {  # rate of each in Mbit/s, RTTs in ms: Dong 2018 §4.2.2, figures 8, 27 and 28, and table 5
    "8, 20 and 40 ms": ((8, 20), (8, 40)),
    "8, 20 and 100 ms": ((8, 20), (8, 100)),
    "100, 20 and 80 ms": ((100, 20), (100, 80)),
    "WLAN and 3G": ((8, 20), (2, 150)),
}
TOLERANCE = 0.05
"""A segment on the slow path may be the last to arrive."""


def time_s(network: str, loss: str, size: str, form: dict[str, Any], seeds: int) -> tuple[float, float]:
    """Mean over the seeds, and its standard error."""
    links = {
        name: {"rate": f"{rate} Mbit/s", "delay": f"{rtt / 2:g} ms", "queue": "1 BDP", "up": {"loss": loss}}
        for name, (rate, rtt) in zip("ab", NETWORKS[network], strict=True)
    }
    connection = {"direction": "up", "application": {"kind": "file", "size": size}, "paths": ["a", "b"], **form}
    scenario = Scenario.from_dict(
        {"duration": "120 s", "link": links, "connection": {"c": connection}, "measure": {"sample": "never"}}
    )
    times = list(run(scenario, "sim", repeat=seeds).connections["completion_s"])
    return fmean(times), stdev(times) / seeds**0.5 if seeds > 1 else 0.0


@pytest.mark.parametrize(("loss", "seeds"), [("0 %", 1), ("1 %", 40)])
@pytest.mark.parametrize("network", NETWORKS)
def test_never_worse_than_the_worse_of_the_size_known_and_the_fast_path_alone(
    network: str, loss: str, seeds: int
) -> None:
    for size in SIZES if loss == "0 %" else SIZES[:-1]:
        online, error = time_s(network, loss, size, {"scheduler": "dmptcp-online"}, seeds)
        known = time_s(network, loss, size, {"scheduler": "dmptcp"}, seeds)
        alone = time_s(network, loss, size, {"protocol": "tcp", "paths": ["a"], "mss": "1432 B"}, seeds)
        worse, its_error = max(known, alone)
        chance = 2 * hypot(error, its_error)
        assert online <= (1 + TOLERANCE) * worse + chance, (size, online, known, alone)


def test_a_short_flow_stays_on_the_fast_path_and_a_long_one_uses_both() -> None:
    shares = []
    for size in ("64 kB", "8 MB"):
        links = {
            name: {"rate": "8 Mbit/s", "delay": f"{ms} ms", "queue": "1 BDP"} for name, ms in (("a", 10), ("b", 50))
        }
        connection = {"paths": ["a", "b"], "application": {"kind": "file", "size": size}, "scheduler": "dmptcp-online"}
        scenario = Scenario.from_dict({"duration": "60 s", "link": links, "connection": {"c": connection}})
        sent = run(scenario, "sim").subflows
        shares.append(sum(sent.filter(sent["path"] == "b")["segments_sent"]) / sum(sent["segments_sent"]))
    assert shares[0] == 0
    assert shares[1] > 0.25
