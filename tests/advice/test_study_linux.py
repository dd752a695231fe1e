"""The study of advice on the kernel: what is compared is the same but for the setting, and gains are those of pairs."""

import math
from typing import Any

import pytest
from mptcplab.advice.advising import ask
from mptcplab.advice.candidates import Candidate

from studies.advise import network
from studies.advise_linux import ADVICE, DEFAULT, Case, better_tcp, gain, gains, measure, merits, scenario

SETTINGS = {
    ADVICE: Candidate("lia", "linux", ("a", "b"), stock=True),
    DEFAULT: Candidate("cubic", "linux", ("b", "a"), stock=True),
    "TCP on a": Candidate("cubic", "", ("a",), stock=True),
    "TCP on b": Candidate("cubic", "", ("b",), stock=True),
}


def a_case(number: int, kind: str) -> Case:
    paths, buffer, _ = network(number, development=True)
    return Case(number, kind, ask(None, paths, kind, "linux", buffer=buffer), SETTINGS)


def test_settings_have_the_same_links_by_the_same_names() -> None:
    """So the links lose the same packets whoever sends."""
    cases = [a_case(number, "bulk") for number in (0, 1)]
    made = [scenario(cases, role).document for role in SETTINGS]
    assert set(made[0].links) == {"a0", "b0", "a1", "b1"}
    assert all(each.links == made[0].links for each in made)
    assert [tuple(each.connections["m1"].paths) for each in made] == [("a1", "b1"), ("b1", "a1"), ("a1",), ("b1",)]


def test_networks_that_share_a_run_do_not_touch_each_other() -> None:
    alone = list(measure([a_case(1, "bulk")], "sim", 1, set()))
    beside = [row for row in measure([a_case(n, "bulk") for n in (0, 1)], "sim", 1, set()) if row["network"] == 1]
    assert [row["role"] for row in alone] == list(SETTINGS)
    assert alone == beside


def test_what_is_known_is_not_measured_again() -> None:
    done = {("sim", "bulk", 0, role, 1) for role in SETTINGS}
    assert list(measure([a_case(0, "bulk")], "sim", 1, done)) == []


def test_pages_count_by_their_mean_time() -> None:
    """Two pages in 1 and 2 s and one that did not end in 30 s: a mean of 11 s."""
    rows: list[dict[str, Any]] = [
        {"name": "m0", "transfer_times_s": [1.0, 2.0], "transfers_begun": 3, "goodput_bps": 1e6},
        {"name": "m1", "transfer_times_s": None, "transfers_begun": None, "goodput_bps": 5e6},
    ]
    assert merits(rows, 30.0) == {"m0": pytest.approx(1 / 11), "m1": 5e6}


def test_a_gain_is_the_mean_over_pairs_of_runs() -> None:
    """Twice and half as much in two seeds is no gain. The margin is 6.314 standard errors (one degree of freedom), each
    the logarithm of 2."""
    values = {ADVICE: {1: 2.0, 2: 1.0}, DEFAULT: {1: 1.0, 2: 2.0, 3: 9.0}}
    found = gain(values, DEFAULT)
    assert found.ratio == pytest.approx(0)
    assert found.margin == pytest.approx(6.314 * math.log(2))
    steady = gain({ADVICE: {1: 0.9, 2: 0.9}, DEFAULT: {1: 1.0, 2: 1.0}}, DEFAULT)
    assert steady.is_below
    assert steady.is_surely_below


def test_tcp_on_the_better_path_is_the_one_with_the_larger_mean() -> None:
    values = {"TCP on a": {1: 1.0, 2: 4.0}, "TCP on b": {1: 2.1, 2: 2.1}}
    assert better_tcp(values) == "TCP on b"
    rows = [
        {"engine": "sim", "traffic": "bulk", "network": 3, "role": role, "seed": 1, "merit": merit}
        for role, merit in ((ADVICE, 3.0), (DEFAULT, 2.0), ("TCP on a", 1.0), ("TCP on b", 1.5))
    ]
    found = gains(rows, "sim", "bulk")[3]
    assert found[DEFAULT].ratio == pytest.approx(0.5)
    assert found["TCP"].ratio == pytest.approx(1.0)
    assert gains(rows[:3], "sim", "bulk") == {}


def test_what_is_advised_and_a_rival_is_measured_once_and_is_no_gain() -> None:
    """Two measurements of it are one of their geometric mean: 2 and 8 are 4."""
    advised = {
        "advised_on": 3,
        "traffic": "bulk",
        "label": "TCP on a",
        "candidate": ["cubic", None, ["a"], False, True],
    }
    merits = {ADVICE: 2.0, DEFAULT: 2.0, "TCP on a": 8.0, "TCP on b": 1.0}
    rows = [
        {"engine": "sim", "traffic": "bulk", "network": 3, "role": role, "seed": 1, "merit": merit}
        for role, merit in merits.items()
    ]
    found = gains([advised, *rows], "sim", "bulk")[3]
    assert found[DEFAULT].ratio == pytest.approx(1.0)
    assert found["TCP"].ratio == 0
    assert gains([advised, *rows[1:]], "sim", "bulk")[3][DEFAULT].ratio == pytest.approx(3.0)
    same = Case(0, "bulk", a_case(0, "bulk").question, {**SETTINGS, ADVICE: SETTINGS["TCP on b"]})
    assert [row["role"] for row in measure([same], "sim", 1, set())] == [DEFAULT, "TCP on a", "TCP on b"]
