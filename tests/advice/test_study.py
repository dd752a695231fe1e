"""The study of advice: its networks are those it says, and its table counts right."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mptcplab.advice.paths import read_paths

from studies.advise import RIVALS, network
from studies.advise_summary import BBR, TCP, append, at_most, interval, read, summary, winners


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


def rows(count: int) -> list[dict[str, Any]]:
    """Regrets 0, 1, … %, a network each."""
    names = ("advice", *RIVALS, TCP, BBR)
    return [
        {
            "network": number,
            "traffic": "bulk",
            "regret": dict.fromkeys(names, number / 100),
            "against_tcp": {**dict.fromkeys(names, 0.01 - number / 100), "advice": 0.0},
            "against_any_tcp": {**dict.fromkeys(names, -number / 100), "advice": 0.0},
        }
        for number in range(count)
    ]


def test_the_table_has_median_percentile_and_count() -> None:
    """Regrets 0, 1, …, 19 %: the median is 9.5 %, the 95th percentile by nearest rank 18 %."""
    table = summary(rows(20))
    # None of 20: 0.95 to the power of 20 is 36 %, 0.861 to it 5 %.
    assert re.search(
        r"\| bulk \| advice \| 9.5% \(.*?\) \| 18.0% \(.*?\) \| 0 \| 0 of 20, at most 13.9% \| 0 \| 20 \|", table
    )
    # 1 % less n % is below −3 % from n = 5 on, −n % from n = 4 on.
    assert re.search(
        r"\| all \| kernel default \| 9.5% \(.*?\) \| 18.0% \(.*?\) \| 15 \| 15 of 20, .*? \| 16 \| 20 \|", table
    )


def test_a_network_counts_once_however_many_of_its_cases_are_below() -> None:
    twice = [*rows(20), *({**row, "traffic": "web"} for row in rows(20))]
    assert re.search(r"\| all \| kernel default \| .* \| 30 \| 15 of 20, ", summary(twice))


def test_the_interval_of_the_median_holds_the_true_one_as_often_as_it_says() -> None:
    """Networks of three equal cases, uniform from 0 to 1: the true median is 0.5. Were cases taken to be independent,
    the intervals would be narrower by the root of 3 and miss it in a quarter of the draws."""
    held = 0
    for seed in range(40):
        random = Random(seed)
        low, high = interval([[random.random()] * 3 for _ in range(60)], 0.5)
        held += low <= 0.5 <= high
    assert held >= 35


def test_bounds_of_shares_are_those_of_the_binomial_distribution() -> None:
    """With 3 % of all, none of 98 has a probability of 0.97 ** 98 = 5.05 %."""
    assert at_most(0, 98) == pytest.approx(1 - 0.05 ** (1 / 98))
    assert at_most(0, 99) < 0.03 < at_most(0, 98)
    assert at_most(5, 5) == 1.0


def test_the_best_settings_are_counted_without_the_names_of_paths() -> None:
    labels = {
        "bulk": ["CUBIC, min-rtt, a first", "CUBIC, min-rtt, b first", "TCP on a, BBR"],
        "web": ["Reno, a, b as backup", "TCP on b, BBR"],
    }
    found = winners({"traffic": kind, "best": label} for kind, each in labels.items() for label in each)
    assert found.splitlines()[0] == "| best setting of 3 | web | bulk | all |"
    assert "| CUBIC, min-rtt | 0 | 2 | 2 |" in found
    assert "| TCP, BBR | 1 | 1 | 2 |" in found
    assert "| Reno, one path as backup | 1 | 0 | 1 |" in found


def test_lines_are_added_to_a_compressed_file(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.gz"):
        file = tmp_path / name
        assert read(file) == []
        for row in rows(2):
            append(file, row)
        assert read(file) == rows(2)
