"""A half-duplex medium from the scenario file to the rates: one sends at a time, whoever it is."""

import mptcplab
import pytest
from mptcplab.scenario import Scenario, ScenarioError

HEAD = """
duration = "20 s"
[medium.air]
share = "{share}"
overhead = "0 s"
[measure]
warmup = "5 s"
sample = "never"
"""


def link(name: str, rate: str, medium: bool = True) -> str:
    return f"""
[link.{name}]
rate = "{rate}"
delay = "5 ms"
queue = "50 ms"
""" + ('medium = "air"\n' if medium else "")


def connection(name: str, paths: str, direction: str, protocol: str = "tcp") -> str:
    return f"""
[connection.{name}]
paths = {paths}
protocol = "{protocol}"
congestion = "{"cubic" if protocol == "tcp" else "reno"}"
direction = "{direction}"
"""


def path(name: str, links: str) -> str:
    return f"[path.{name}]\nlinks = {links}\n"


def run(*parts: str, share: str = "frames") -> mptcplab.Result:
    return mptcplab.run(Scenario.from_toml(HEAD.format(share=share) + "".join(parts)), engine="sim")


def rates_mbps(result: mptcplab.Result) -> dict[str, float]:
    return {row["name"]: row["goodput_bps"] / 1e6 for row in result.connections.iter_rows(named=True)}


SLACK = 2e-3 / 15
"""The longest packet that there is here over the measured time: one that began during the warm-up counts as a whole."""


def airtime(result: mptcplab.Result, *links: str) -> float:
    """Without overhead a link's airtime is its utilization."""
    return float(sum(row["utilization"] for row in result.links.iter_rows(named=True) if row["name"] in links))


@pytest.mark.parametrize("share", ["frames", "airtime"])
def test_acknowledgments_take_airtime_too(share: str) -> None:
    """A download alone: data down and ACKs up make up the whole medium, and no more."""
    result = run(link("wifi", "50 Mbit/s"), connection("get", '["wifi"]', "down"), share=share)
    assert 0.97 < airtime(result, "wifi") <= 1 + SLACK
    up = result.links.filter(direction="up")["utilization"][0]
    assert up > 0.01


def test_a_slow_station_takes_the_time_or_the_share() -> None:
    """60 and 6 Mbit/s up. By turns, a packet each: 1/(1/60 + 1/6) = 5.45 Mbit/s for both. By airtime: 30 and 3. Less
    headers and acknowledgments."""
    stations = (link("fast", "60 Mbit/s"), link("slow", "6 Mbit/s"))
    flows = (connection("f", '["fast"]', "up"), connection("s", '["slow"]', "up"))
    text = HEAD.format(share="frames") + "".join(stations) + "".join(flows)
    one_each = Scenario.from_toml(text, overrides=["medium.air.aggregate=1 packet"])
    frames = mptcplab.run(one_each, engine="sim")
    got = rates_mbps(frames)
    assert got["f"] == pytest.approx(got["s"], rel=0.15)
    assert got["s"] == pytest.approx(5.45 * 0.93, rel=0.1)
    equal = run(*stations, *flows, share="airtime")
    got = rates_mbps(equal)
    assert got["f"] == pytest.approx(30 * 0.93, rel=0.12)
    assert got["s"] == pytest.approx(3 * 0.93, rel=0.12)
    for result in (frames, equal):
        assert 0.97 < airtime(result, "fast", "slow") <= 1 + SLACK


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_crosses_the_air_twice_counts_twice(direction: str) -> None:
    """Amoruso's scenario B: the server is on the Wi-Fi, so that a path by Ethernet crosses the air once and one by
    Wi-Fi twice: x_eth + 2 x_wifi <= R, whatever the transport does."""
    rate = 100.0
    result = run(
        link("ethernet", "60 Mbit/s", medium=False),
        link("wifi", f"{rate} Mbit/s"),
        link("server", f"{rate} Mbit/s"),
        path("by-ethernet", '["ethernet", "server"]'),
        path("by-wifi", '["wifi", "server"]'),
        connection("both", '["by-ethernet", "by-wifi"]', direction, "mptcp"),
    )
    got = {row["path"]: row["goodput_bps"] / 1e6 for row in result.subflows.iter_rows(named=True)}
    assert got["by-ethernet"] + 2 * got["by-wifi"] <= rate
    assert got["by-ethernet"] > 20
    assert got["by-wifi"] > 5
    assert 0.9 < airtime(result, "wifi", "server") <= 1 + SLACK


def test_what_does_not_fit_is_explained() -> None:
    parts = link("wifi", "50 Mbit/s") + connection("get", '["wifi"]', "down")
    with pytest.raises(ScenarioError, match=r'link.wifi.medium: found "air"; expected a medium, but there is none'):
        Scenario.from_toml('duration = "1 s"\n' + parts)
    with pytest.raises(ScenarioError, match='found "pie"; expected another queue'):
        Scenario.from_toml(HEAD.format(share="frames") + parts.replace('"50 ms"', '{ kind = "pie" }'))
    with pytest.raises(mptcplab.Error, match="no shared medium"):
        mptcplab.run(Scenario.from_toml(HEAD.format(share="frames") + parts), engine="model")
    text = Scenario.from_toml(HEAD.format(share="airtime") + parts).to_toml()
    assert Scenario.from_toml(text).document.media["air"].share == "airtime"
    assert Scenario.from_toml(text).document.links["wifi"].medium == "air"
