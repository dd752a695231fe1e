"""Of three subflows two share a bottleneck: found within 15 s on random networks (Singh 2012, figure 10's kind).

The seeds are those that the detector's averages were chosen with; `python -m studies shared-detection` has
1 000 others.
`python tests/validation/test_shared_bottleneck.py` prints the figures over time, also under mixed load.
"""

import mptcplab
import polars as pl
import tomli_w

from studies.shared_detection import (
    RIGHT,
    START_S,
    Found,
    Rates,
    changes,
    network,
    rates,
    time_to_decide_s,
    watch,
)

NETWORKS = 100
AFTER_S = (11, 13, 15, 20, 24)
"""Seconds since the multipath flow began."""
SUPPRESS = {"shared": "suppress"}


def verdicts(seed: int, load: str) -> list[str]:
    """At each moment: `right`, `missed` (no sharer held), or `false` (another one, or too many)."""
    result = mptcplab.run(mptcplab.Scenario.from_toml(tomli_w.dumps(network(seed, load, SUPPRESS, max(AFTER_S)))))
    samples = result.samples.filter((pl.col("connection") == "multi") & (pl.col("kind") == "subflow"))
    found = []
    for after_s in AFTER_S:
        end_s = START_S + after_s
        late = samples.filter(pl.col("time_s").is_between(end_s - 1, end_s, closed="right"))
        windows = dict(late.group_by("path").agg(pl.col("cwnd_segments").max()).iter_rows())
        held = {path for path, window in windows.items() if window <= 1}
        found.append("right" if held in ({"p0"}, {"p2"}) else "missed" if not held & {"p0", "p2"} else "false")
        if "p1" in held:
            found[-1] = "false"
    return found


def counts(load: str, networks: int = NETWORKS) -> list[dict[str, int]]:
    """At each moment how many networks of each verdict."""
    all_found = [verdicts(seed, load) for seed in range(1, networks + 1)]
    return [
        {word: sum(found[moment] == word for found in all_found) for word in ("right", "missed", "false")}
        for moment in range(len(AFTER_S))
    ]


def test_sharers_are_found_within_15_s_under_homogeneous_load() -> None:
    found = counts("pert")[AFTER_S.index(15)]
    assert found["right"] >= 0.95 * NETWORKS, found


def test_the_detector_knows_whether_or_not_it_acts() -> None:
    """Where nothing follows from it, its decision is a column of the samples."""
    found = [watch(seed, "pert", "correlation") for seed in range(1, 21)]
    assert all(each.at(9) == (0, 1, 2) for each in found), "nothing is decided before its time"
    assert sum(each.at(15) == RIGHT for each in found) >= 19


def test_rfc_8382_finds_sharers_later_and_with_more_errors() -> None:
    found = [watch(seed, "reno", "rfc8382") for seed in range(1, 21)]
    assert all(each.at(20) == (0, 1, 2) for each in found), "2·M·T are 21 s"
    assert 0.5 * 20 <= sum(each.at(40)[2] == 0 for each in found) <= 20


def test_times_and_rates_by_hand() -> None:
    """Four networks of two seconds: right from 1 s on, right with a relapse, all three together, never found."""
    right, wrong, all_three = RIGHT, (0, 1, 2), (0, 0, 0)
    found = [
        Found([wrong, right, right, right]),
        Found([right, right, wrong, right]),
        Found([wrong, all_three, all_three, all_three]),
        Found([wrong] * 4),
    ]
    assert [each.settled_s() for each in found] == [1.0, 2.0, None, None]
    assert rates(found, 1.0) == Rates(right=0.5, detected=0.75, false_alarms=0.25)
    assert (time_to_decide_s(found, 0.25), time_to_decide_s(found, 0.5), time_to_decide_s(found, 0.9)) == (
        1.0,
        2.0,
        None,
    )
    assert changes(found) == (1 + 2 + 1 + 0) / 4


def test_under_mixed_load_most_are() -> None:
    found = counts("mix", 40)[AFTER_S.index(15)]
    assert found["right"] >= 0.65 * 40, found


if __name__ == "__main__":
    for kind in ("pert", "mix", "reno"):
        for after_s, found in zip(AFTER_S, counts(kind), strict=True):
            print(f"{kind}, {after_s} s: {found}")  # noqa: T201 - a script for the figures of the page
