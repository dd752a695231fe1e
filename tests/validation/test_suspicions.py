"""The study of suspicions in small: what its tables conclude shows within seconds."""

import pytest

from studies import suspicions


@pytest.fixture(autouse=True)
def thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs, and none of Linux."""
    monkeypatch.setattr(suspicions, "SECONDS", 20)
    monkeypatch.setattr(suspicions, "SEEDS", 1)
    monkeypatch.setattr(suspicions, "_linux", lambda _: None)


def test_acknowledgments_decide_what_the_kernels_lia_gets_under_loss() -> None:
    rates = {row["LIA"]: float(row["p₂ = 2 %: packets/s"].split()[0]) for row in suspicions.lia_under_loss(p2=(2,))}
    kernel = rates["as the kernel has it"]
    assert rates["kernel's, an ACK for each segment"] > 1.4 * kernel
    assert rates["kernel's, recovery by RFC 6675"] < 1.25 * kernel, "not the recovery"


def test_loss_rises_by_less_than_the_square_of_the_rate() -> None:
    # The exponents of single runs of 20 s have a standard deviation of up to 0.2 (NewReno): with eight seeds the bounds
    # are three standard errors away.
    rows = suspicions.loss_against_rate(counts=(10, 30), seeds=8)
    exponents = {row["TCP users"]: float(row["exponent k"]) for row in rows}
    assert all(1.1 < each < 1.8 for each in exponents.values())
