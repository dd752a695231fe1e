"""The study of advice: its networks are those it says, and its table counts right."""

import re

from mptcplab.advice.paths import read_paths
from mptcplab.studies.advise import BBR, RIVALS, TCP, network, summary


def test_networks_are_in_their_ranges_and_held_apart() -> None:
    for number in range(50):
        paths, buffer, first = network(number)
        for path in read_paths(paths):
            assert 2e6 <= path.down_bps <= 50e6
            assert 0.0049 <= path.rtt_s.low <= 0.121
            assert path.loss <= 0.015
            assert path.is_known
        assert 256 <= int(buffer.removesuffix(" kB")) <= 8000
        assert first in "ab"
        assert paths != network(number, development=True)[0]
    assert network(7) == network(7)


def test_the_table_has_median_percentile_and_count() -> None:
    """Regrets 0, 1, …, 19 %: the median is 9.5 %, the 95th percentile by nearest rank 18 %."""
    names = ("advice", *RIVALS, TCP, BBR)
    rows = [
        {
            "traffic": "bulk",
            "regret": dict.fromkeys(names, number / 100),
            "against_tcp": {**dict.fromkeys(names, 0.01 - number / 100), "advice": 0.0},
            "against_any_tcp": {**dict.fromkeys(names, -number / 100), "advice": 0.0},
        }
        for number in range(20)
    ]
    table = summary(rows)
    assert re.search(r"\| bulk \| advice \| 9.5% \| 18.0% \| 0 \| 0 \| 20 \|", table)
    # 1 % less n % is below −3 % from n = 5 on, −n % from n = 4 on.
    assert re.search(r"\| all \| kernel default \| 9.5% \| 18.0% \| 15 \| 16 \| 20 \|", table)
