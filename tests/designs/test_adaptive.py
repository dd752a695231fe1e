"""The adaptive design: choices worked by hand, a step found with fewer points, and no place forgotten."""

import json
from pathlib import Path

import numpy as np
import pytest
from mptcplab import cli
from mptcplab.designs import DesignError, adaptive, factor, wsp
from mptcplab.designs.adaptive import EXPLORE
from mptcplab.designs.known import read
from mptcplab.designs.plain import Floats, random


def test_choices_by_hand() -> None:
    # All are 1/8 from the nearest points. 3/8 has both responses there, c = 1; for 1/8 the other one is three times as
    # far, c = 1/9, and so on.
    known, responses = [[0.0], [0.25], [0.5], [0.75], [1.0]], [0, 0, 10, 10, 10]
    middles = [[0.125], [0.375], [0.625], [0.875]]
    assert adaptive(known, responses, 1, candidates=middles).tolist() == [[0.375]]
    # 0.05 (0.1 + (5/20)²) = 0.0081; 0.08 (0.1 + (8/17)²) = 0.0257; 0.05 (0.1 + (5/45)²) = 0.0056.
    near = [[0.3], [0.33], [0.05]]
    assert adaptive([[0.25], [0.5], [0.0]], [0, 1, 0], 1, candidates=near).tolist() == [[0.33]]
    # A flat response leaves the distance alone: the widest gap.
    assert adaptive([[0.0], [0.2], [1.0]], [3, 3, 3], 1, candidates=[[0.1], [0.6], [0.3]]).tolist() == [[0.6]]


def test_of_several_responses_the_one_that_changes_most_counts() -> None:
    known, middles = [[0.0], [0.5], [1.0]], [[0.25], [0.75]]
    assert adaptive(known, [[0, 0], [1, 0], [2, 9]], 1, candidates=middles).tolist() == [[0.75]]
    assert adaptive(known, [[0, 0], [1, 9], [2, 9]], 1, candidates=middles).tolist() == [[0.25]]


def step(points: Floats) -> Floats:
    return (points @ np.array([1.0, 0.5]) > 0.8).astype(float)


def wrong(points: Floats) -> float:
    """The part of the square where the nearest point of a design has the other response."""
    square = random(4000, 2, seed=99)
    nearest = np.linalg.norm(square[:, None, :] - points[None, :, :], axis=2).argmin(axis=1)
    return float((step(points)[nearest] != step(square)).mean())


def grown(seed: int, start: int, rounds: int, each: int) -> Floats:
    points = wsp(start, 2, seed=seed)
    for number in range(rounds):
        points = np.vstack([points, adaptive(points, step(points), each, seed=seed + 100 * number)])
    return points


def test_a_step_is_found_better_than_by_a_plain_design_of_as_many_points() -> None:
    plain = [wrong(wsp(60, 2, seed=seed)) for seed in range(1, 11)]
    ours = [wrong(grown(seed, 20, 4, 10)) for seed in range(1, 11)]
    assert np.mean(ours) < 0.6 * np.mean(plain)
    assert sum(a < b for a, b in zip(ours, plain, strict=True)) >= 9


def test_no_place_is_forgotten() -> None:
    """Whoever is left is worth less than the last choice: e · d ≤ (1 + e) · the distance of that."""
    known, pool = wsp(12, 2, seed=3), random(2000, 2, seed=5)
    new = adaptive(known, step(known), 30, candidates=pool)
    before = np.vstack([known, new[:-1]])
    last = np.linalg.norm(before - new[-1], axis=1).min()
    left = np.linalg.norm(pool[:, None, :] - before[None, :, :], axis=2).min(axis=1).max()
    assert EXPLORE * left <= (1 + EXPLORE) * last * (1 + 1e-12)


def test_it_is_the_same_each_time_and_wrong_input_is_named() -> None:
    known = wsp(8, 3, seed=1)
    once = adaptive(known, known[:, 0], 5, seed=4)
    assert np.array_equal(once, adaptive(known, known[:, 0], 5, seed=4))
    assert len(np.unique(once, axis=0)) == 5
    for wrong_input in (
        lambda: adaptive([], [], 3),
        lambda: adaptive(known, [1.0], 3),
        lambda: adaptive(known, [float("nan")] * 8, 3),
        lambda: adaptive(known, known[:, 0], 3, candidates=2),
        lambda: adaptive(known, known[:, 0], 3, explore=0),
    ):
        with pytest.raises(DesignError):
            wrong_input()


def test_the_command_goes_on_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "known.csv"
    file.write_text("point,link.a.rate,goodput\n0,1 Mbit/s,0\n1,4 Mbit/s,0\n2,16 Mbit/s,5\n", encoding="utf-8")
    call = ["design", "adaptive", "--known", str(file), "--response", "goodput", "--points", "1", "--json"]
    assert cli.invoke([*call, "--factor", "link.a.rate=1 Mbit/s..16 Mbit/s"]) == 0
    (point,) = json.loads(capsys.readouterr().out)["points"]
    # Half way between 4 and 16, as near as there are candidates.
    assert float(point["link.a.rate"].removesuffix(" bit/s").replace(" kbit/s", "e3").replace(" Mbit/s", "e6")) == (
        pytest.approx(10e6, rel=0.01)
    )
    assert cli.invoke([*call, "--factor", "link.a.rate=1 Mbit/s..8 Mbit/s"]) == 2
    assert f"{file}:4: found" in capsys.readouterr().err
    assert cli.invoke([*call, "--dimensions", "1"]) == 2
    assert "expected 'x1' too" in capsys.readouterr().err
    assert cli.invoke(["design", "adaptive", "--dimensions", "1", "--points", "2"]) == 2


def test_a_factor_finds_its_own_coordinates_again() -> None:
    for each in (
        factor("a", ["1 ms", "25 ms"]),
        factor("b", {"from": 1, "to": 100.0, "scale": "log"}),
        factor("c", ["0 %", "5 %"]),
    ):
        for x in (0.0, 0.3, 1.0):
            assert each.coordinate(each.at(x)) == pytest.approx(x, abs=1e-6)


def test_points_are_read_with_factors_and_without(tmp_path: Path) -> None:
    file = tmp_path / "found.csv"
    file.write_text("x1,more,x2,goodput\n0.1,a,0.2,4.8\n0.5,b,1,9.1\n", encoding="utf-8")
    points, responses = read(file, [], 2, "goodput")
    assert (points.tolist(), responses.tolist()) == ([[0.1, 0.2], [0.5, 1.0]], [4.8, 9.1])
    of_factor, _ = read(file, [factor("x2", [0, 2])], 1, "goodput")
    assert of_factor.tolist() == [[0.1], [0.5]]
    file.write_text("x1,x2,goodput\n0.1,,4.8\n", encoding="utf-8")
    with pytest.raises(DesignError, match=r"found.csv:2: found ''; expected a finite number"):
        read(file, [], 2, "goodput")
