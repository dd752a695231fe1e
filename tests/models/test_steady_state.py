"""Each control's closed form against its own rule: what is gained per ACK equals what is lost per loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.models import steady_state as ss
from mptcplab.models.checks import (
    LengthMismatchError,
    LossOutOfRangeError,
    ModelInputError,
    ParameterError,
    RttError,
    UnknownControlError,
)
from mptcplab.models.predict import CONTROLS, predict

PATHS = st.lists(st.tuples(st.floats(1e-6, 0.5), st.floats(1e-3, 2.0)), min_size=1, max_size=6)


def split(paths: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    p, rtt = np.array(paths).T
    return p, rtt


def increase(control: str, w: np.ndarray, rtt: np.ndarray, k: float = 0.0) -> np.ndarray:
    """The rules as REFERENCE prints them, written out anew."""
    x = w / rtt
    total = x.sum()
    if control == "uncoupled":
        return 1 / w
    if control == "ewtcp":
        return 1 / len(w) ** 2 / w
    if control == "lia":
        alpha = w.sum() * (w / rtt**2).max() / total**2
        return alpha / w.sum() + 0 * w
    if control == "lia_capped":
        alpha = w.sum() * (w / rtt**2).max() / total**2
        return np.minimum(alpha / w.sum(), 1 / w)
    if control == "balia":
        beta = x.max() / x
        return w / rtt**2 / total**2 * (1 + beta) / 2 * (4 + beta) / 5
    a = (w ** (k + 1) / rtt**2).max() / total**2
    return np.minimum(a / w**k, 1 / w) if control == "mppert_capped" else a / w**k


@given(PATHS, st.sampled_from(["uncoupled", "ewtcp", "lia", "lia_capped", "balia"]), st.floats(1, 4))
def test_gain_balances_loss(paths: list[tuple[float, float]], control: str, b: float) -> None:
    p, rtt = split(paths)
    w = getattr(ss, control)(p, rtt, b)
    np.testing.assert_allclose(increase(control, w, rtt) / b, p * w / 2, rtol=1e-9)


@given(PATHS, st.floats(-0.8, 1.0), st.floats(0.1, 0.9), st.booleans())
def test_mppert_gain_balances_loss(paths: list[tuple[float, float]], k: float, beta: float, capped: bool) -> None:
    p, rtt = split(paths)
    control = "mppert_capped" if capped else "mppert"
    w = getattr(ss, control)(p, rtt, 1.0, k, 1.0, beta)
    np.testing.assert_allclose(increase(control, w, rtt, k), p * beta * w, rtol=1e-8)


@given(PATHS)
def test_the_cap_moves_traffic_but_not_the_total(paths: list[tuple[float, float]]) -> None:
    p, rtt = split(paths)
    capped, free = ss.lia_capped(p, rtt), ss.lia(p, rtt)
    np.testing.assert_allclose((capped / rtt).sum(), (free / rtt).sum(), rtol=1e-9)
    assert (capped <= np.sqrt(2 / p) * (1 + 1e-9)).all()


@given(PATHS, st.floats(0.01, 100))
def test_the_capped_fixed_point_is_what_iteration_finds(paths: list[tuple[float, float]], start: float) -> None:
    p, rtt = split(paths)
    w = start * np.sqrt(2 / p)
    for _ in range(400):
        a = (w / rtt**2).max() / (w / rtt).sum() ** 2
        w = np.sqrt(w * np.minimum(2 * a / p, np.sqrt(2 / p)))
    np.testing.assert_allclose(w, ss.lia_capped(p, rtt), rtol=1e-6)


@given(PATHS, st.floats(0.01, 10))
def test_no_cap_with_equal_rtts(paths: list[tuple[float, float]], rtt: float) -> None:
    p = np.array(paths)[:, 0]
    np.testing.assert_allclose(ss.lia_capped(p, [rtt] * len(p)), ss.lia(p, [rtt] * len(p)), rtol=1e-9)


@given(PATHS)
def test_design_goals(paths: list[tuple[float, float]]) -> None:
    """RFC 6356: the total of a TCP on the best path (goal 1); nowhere more than a TCP (goal 2), OLIA and capped LIA."""
    p, rtt = split(paths)
    tcp = np.sqrt(2 / p)
    best = (tcp / rtt).max()
    for control in (ss.lia, ss.lia_capped, ss.olia, ss.balia):
        assert (control(p, rtt) / rtt).sum() == pytest.approx(best, rel=1e-9)
    for control in (ss.lia_capped, ss.olia):
        assert (control(p, rtt) / rtt <= best * (1 + 1e-9)).all()
        assert (control(p, rtt) <= tcp * (1 + 1e-9)).all()


@given(PATHS)
def test_one_path_is_tcp(paths: list[tuple[float, float]]) -> None:
    p, rtt = split(paths[:1])
    for name in CONTROLS:
        assert predict(p, rtt, name).windows_segments[0] == pytest.approx(np.sqrt(2 / p[0]), rel=1e-9), name


def test_mppert_tends_to_olia() -> None:
    p, rtt = [0.01, 0.012], [0.1, 0.1]
    assert ss.mppert(p, rtt, k=-0.99)[1] < 1e-6 * ss.mppert(p, rtt, k=-0.99)[0]


def test_balia_full_rule_is_a_fixed_point_too() -> None:
    p, rtt = np.array([0.01, 0.02, 0.015]), np.array([0.1, 0.15, 0.1])
    w = ss.balia(p, rtt, decrease="algorithm")
    beta = (w / rtt).max() / (w / rtt)
    np.testing.assert_allclose(increase("balia", w, rtt), p * w / 2 * np.minimum(beta, 1.5), rtol=1e-12)


def test_batches_are_rows() -> None:
    random = np.random.default_rng(1)
    p, rtt = random.uniform(1e-4, 0.1, (50, 3)), random.uniform(0.01, 0.3, (50, 3))
    for name in CONTROLS:
        rows = np.array([predict(p[i], rtt[i], name).windows_segments for i in range(50)])
        np.testing.assert_array_equal(predict(p, rtt, name).windows_segments, rows, err_msg=name)


def test_thesis_target_and_bits() -> None:
    answer = predict([0.01, 0.02], [0.02, 0.02], "lia", mss=1460)
    assert answer.total_segments_per_s == pytest.approx(707.1, abs=0.05)
    assert answer.total_bps == pytest.approx(707.1067811865476 * 1460 * 8)
    assert predict([0.01], [0.02]).total_bps is None


@pytest.mark.parametrize(
    ("p", "rtt", "error", "words"),
    [
        ([0.01, 0.0], [0.02, 0.02], LossOutOfRangeError, r"p\[1\] = 0 is outside \(0, 1\)"),
        ([1.0], [0.02], LossOutOfRangeError, r"p\[0\] = 1 "),
        ([-0.1], [0.02], LossOutOfRangeError, "0.01 for 1 %"),
        ([float("nan")], [0.02], LossOutOfRangeError, "nan"),
        ([2], [0.02], LossOutOfRangeError, "fraction"),
        ([1e-200], [0.02], LossOutOfRangeError, "too small"),
        ([0.01], [0.0], RttError, r"rtt_s\[0\] = 0 s: it must be positive"),
        ([0.01, 0.02], [0.02, -1], RttError, r"rtt_s\[1\] = -1"),
        ([0.01], [float("inf")], RttError, "inf"),
        ([0.01, 0.02], [0.02], LengthMismatchError, "2 loss rates but 1 round-trip times"),
        ([[0.01, 0.02]] * 3, [[0.02, 0.02]] * 2, LengthMismatchError, "do not describe the same cases"),
        ([], [], ParameterError, "p is empty"),
        (["a"], [0.02], ParameterError, "expected numbers"),
        ([[0.1], [0.1, 0.2]], [0.02], ParameterError, "equal length"),
    ],
)
def test_wrong_paths_are_refused(p: list, rtt: list, error: type[ModelInputError], words: str) -> None:
    with pytest.raises(error, match=words):
        predict(p, rtt)
    assert issubclass(error, ValueError)


@pytest.mark.parametrize(
    ("control", "named", "error", "words"),
    [
        ("wvegas", {}, UnknownControlError, "'wvegas' has no model; there are: uncoupled"),
        ("lia", {"k": 0.0}, ParameterError, "lia has no parameter 'k': it takes no parameters"),
        ("mppert", {"k": -1.0}, ParameterError, "-1 < k <= 1"),
        ("mppert", {"k": 1.5}, ParameterError, "k = 1.5"),
        ("mppert", {"beta": 1.0}, ParameterError, "beta = 1.0"),
        ("mppert", {"alpha": 0.0}, ParameterError, "alpha = 0.0"),
        ("ewtcp", {"a": -1.0}, ParameterError, "a = -1.0"),
        ("balia", {"decrease": "third"}, ParameterError, "'half' or 'algorithm'"),
        ("lia", {"b": 0.5}, ParameterError, "b = 0.5: an ACK acknowledges at least 1"),
        ("lia", {"mss": 0}, ParameterError, "mss = 0"),
    ],
)
def test_wrong_parameters_are_refused(
    control: str, named: dict[str, float], error: type[ModelInputError], words: str
) -> None:
    with pytest.raises(error, match=words):
        predict([0.01, 0.02], [0.02, 0.02], control, **named)
