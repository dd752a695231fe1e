"""One flow under independent losses: Mathis 1997 with SACK recovery, RFC 9438's response function, the window limit."""

import math

import pytest

from studies import cubic_response, loss_throughput, rules


def test_the_constants_are_those_of_the_literature() -> None:
    # Mathis 1997 table 1: 1.31 for random losses; and the same from windows that are played.
    assert rules.random_loss_constant() == pytest.approx(1.31, abs=0.005)
    played = rules.play(rules.reno, [1e-3], [1.0], steps=10_000, connections=200)
    assert played.rates[0] * math.sqrt(1e-3) == pytest.approx(rules.random_loss_constant(), rel=0.02)
    # RFC 9438 §5.1, equation 6.
    assert rules.cubic_constant(random=False, fast_convergence=False) == pytest.approx(1.054, rel=1e-3)


@pytest.mark.parametrize("rtt_s", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("p", [0.0001, 0.001, 0.005, 0.01, 0.02])
def test_reno_follows_the_law_of_random_losses(p: float, rtt_s: float) -> None:
    point = loss_throughput.measure(p, rtt_s, segments=max(1.5e5, 150 / p))
    assert abs(point.deviation) < 0.15
    if p <= 0.001:  # nothing but the windows matters
        assert abs(point.deviation) < 0.05


@pytest.mark.parametrize("rtt_s", [0.02, 0.1])
def test_at_five_per_cent_the_flow_falls_below_the_law_and_times_out(rtt_s: float) -> None:
    point = loss_throughput.measure(0.05, rtt_s, segments=2e5)
    assert point.flow.timeouts > 0
    assert -0.25 < point.deviation < -0.05
    # Padhye's flow without SACK and tail loss probes does worse.
    assert point.flow.rate > point.padhye


@pytest.mark.parametrize("kib", [64, 256])
def test_a_fixed_receive_buffer_is_the_window(kib: int) -> None:
    point = loss_throughput.measure(1e-5, 0.1, segments=2e5, buffer=f"{kib} KiB")
    limit = kib * 1024 / 1448 / point.flow.rtt_s
    assert 0.93 < point.flow.rate / limit < 1.005
    assert limit < 0.5 * rules.random_loss_constant() / math.sqrt(1e-5) / point.flow.rtt_s


@pytest.mark.parametrize(("p", "rtt_s"), [(1e-3, 0.2), (1e-4, 0.1), (1e-4, 0.2)])
def test_cubic_follows_its_response_function(p: float, rtt_s: float) -> None:
    found = cubic_response.constant(p, rtt_s, segments=1e6)
    assert found == pytest.approx(rules.cubic_constant(random=True), rel=0.10)


@pytest.mark.parametrize(("p", "rtt_s", "segments"), [(1e-3, 0.2, 3e5), (1e-4, 0.2, 1e6)])
def test_cubic_has_the_rfcs_own_constant_under_regular_losses(p: float, rtt_s: float, segments: float) -> None:
    found = cubic_response.constant(p, rtt_s, segments=segments, regular=True, congestion=cubic_response.ALONE)
    assert found == pytest.approx(1.054, rel=0.10)


@pytest.mark.parametrize("rtt_s", [0.02, 0.1])
def test_reno_is_a_regular_saw_tooth_under_regular_losses(rtt_s: float) -> None:
    point = loss_throughput.measure(1e-3, rtt_s, segments=1e5, regular=True)
    assert abs(point.deviation) < 0.05
    assert point.flow.loss == pytest.approx(1e-3, rel=0.01)
    assert point.flow.timeouts == 0
