"""PERT and MPPERT in the simulator against the thesis's law and the queue that it implies (Singh 2012)."""

from typing import Any

import mptcplab
import polars as pl
import pytest
import tomli_w
from mptcplab.models.pert import Response, settled_delay_s

EVERY_SEGMENT = {"segments_per_ack": 1}


def run(data: dict[str, Any], seed: int) -> mptcplab.Result:
    return mptcplab.run(mptcplab.Scenario.from_toml(tomli_w.dumps({**data, "seed": seed})))


def lossy(congestion: dict[str, Any], losses: tuple[float, float], seconds: int = 400) -> dict[str, Any]:
    """Two paths that lose at random and never fill."""
    link = {"rate": "1 Gbit/s", "delay": "20 ms"}
    return {
        "duration": f"{seconds} s",
        "link": {
            name: {**link, "down": {"loss": f"{100 * loss:g} %"}}
            for name, loss in zip(("one", "two"), losses, strict=True)
        },
        "connection": {"multi": {"paths": ["one", "two"], "congestion": congestion, "tcp": EVERY_SEGMENT}},
        "measure": {"warmup": "50 s", "sample": "never"},
    }


@pytest.mark.parametrize(("k", "law"), [(1.0, 2 / 3), (0.0, 4 / 5), (-0.5, 16 / 17)])
@pytest.mark.parametrize("name", ["mppert", "epsilon"])
def test_shares_on_clean_loss(name: str, k: float, law: float) -> None:
    """Four times the loss halves a lone window: shares 67, 80 and 94 %, within 5 points over three seeds."""
    congestion = {"name": "mppert", "k": k, "alpha_max": 1.0} if name == "mppert" else {"name": name, "epsilon": k + 1}
    shares = []
    for seed in (1, 2, 3):
        subflows = run(lossy(congestion, (0.0005, 0.002)), seed).subflows
        shares.append(subflows["share"][0])
    assert sum(shares) / 3 == pytest.approx(law, abs=0.05)


def test_at_1_equal_loss_gives_equal_windows() -> None:
    congestion = {"name": "mppert", "k": 1.0, "alpha_max": 1.0}
    shares = [run(lossy(congestion, (0.001, 0.001)), seed).subflows["share"][0] for seed in (1, 2, 3)]
    assert sum(shares) / 3 == pytest.approx(0.5, abs=0.03)


def drop_tail(background: str, multipath: str) -> dict[str, Any]:
    """Table VII: 10(10)+10(10), packets of 1000 bytes, 40 ms, buffers of one bandwidth-delay product."""
    common = {"mss": "960 B", "tcp": EVERY_SEGMENT, "start": ["0 s", "20 s"]}
    links = ("one", "two")
    return {
        "duration": "120 s",
        "link": {name: {"rate": "10 Mbit/s", "delay": "20 ms", "queue": "50 packets"} for name in links},
        "connection": {
            **{
                f"background {name}": {
                    "paths": [name], "protocol": "tcp", "congestion": background, "count": 10, **common
                }
                for name in links
            },
            "multi": {"paths": list(links), "congestion": multipath, **common},
        },
        "measure": {"warmup": "60 s", "sample": "1 s"},
    }  # fmt: skip


def test_the_queue_of_table_7() -> None:
    """PERT keeps 27 to 32 % of the buffer and loses nothing after 60 s; Reno and LIA fill some 65 %."""
    parts = []
    for seed in (1, 2, 3):
        result = run(drop_tail("pert", "mppert"), seed)
        links = result.links.filter(pl.col("direction") == "down")
        assert links["drops"].sum() == 0
        assert links["utilization"].min() > 0.99
        parts += (links["queue_mean_packets"] / 50).to_list()
        # Nobody competes in a queue that stays short: α is 1, in safe mode.
        late = result.samples.filter((pl.col("kind") == "subflow") & (pl.col("time_s") >= 60))
        assert late["alpha"].max() == 1
        assert (late["mode"] == 1).mean() > 0.99
    assert 0.27 <= sum(parts) / len(parts) <= 0.32
    # The closed form, of 10.55 flows that answer at most once a round trip.
    alone = settled_delay_s(Response(0.040), 1250, 0.040, 10.55) / 0.040
    assert sum(parts) / len(parts) == pytest.approx(alone, rel=0.1)
    reno = run(drop_tail("reno", "lia"), 1).links.filter(pl.col("direction") == "down")
    assert reno["drops"].sum() > 500
    assert (reno["queue_mean_packets"] / 50).mean() == pytest.approx(0.65, abs=0.08)
