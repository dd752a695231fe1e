"""How the study of identical packets counts until two runs part."""

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from mptcplab.capture.divergence import Sent
from mptcplab.kernels import Kernel

from studies import exact
from studies.exact import Case, Run, causes, compared, networks, row

CASE = Case(networks(1)[0], 0, "reno", "4 MB", lossy=False)


def segment(number: int) -> Sent:
    """Data of a server, one each 10 ms."""
    return Sent(
        time_ns=number * 10_000_000,
        host="server",
        place="server (p0)",
        flow=0,
        flags="ACK",
        sequence=1 + 1448 * number,
        length=1448,
        acknowledgment=1,
        options=("timestamps",),
        window=510,
    )


OURS = Run(tuple(map(segment, range(20))), 0.2)


def changed(number: int, **what: int) -> Run:
    """The same with one packet changed."""
    packets = [replace(each, **what) if at == number else each for at, each in enumerate(OURS.packets)]  # type: ignore[arg-type]
    return Run(packets, 0.25)


def test_a_transfer_that_is_the_same_counts_with_all_its_packets() -> None:
    found = compared(CASE, OURS, OURS)
    assert (found.alike, found.first, found.slower) == (20, None, 0.0)


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        ({"window": 511}, "the window: Linux announces more"),
        ({"length": 1424}, "the length: sim sends more"),
        ({"time_ns": 121_000_001}, "the time (a timer, or pacing) of data: sim is first"),
    ],
)
def test_the_first_difference_and_what_it_is(what: dict[str, int], cause: str) -> None:
    found = compared(CASE, OURS, changed(12, **what))
    assert (found.alike, found.cause) == (12, cause)
    assert found.slower == pytest.approx(0.25)


def test_a_millisecond_is_no_difference() -> None:
    assert compared(CASE, OURS, changed(12, time_ns=121_000_000)).first is None


def test_a_run_that_ends_early_parts_where_it_ends() -> None:
    found = compared(CASE, OURS, Run(OURS.packets[:15], nan))
    assert (found.alike, found.cause) == (15, "the number of packets: sim sends more")


def test_rows_count_transfers_and_leave_out_what_did_not_arrive() -> None:
    outcomes = [compared(CASE, OURS, other) for other in (OURS, changed(12, window=7), Run(OURS.packets[:15], nan))]
    outcomes[1] = replace(outcomes[1], tie=True)
    assert row(outcomes) == {
        "paths": "1",
        "losses": "none",
        "control": "reno",
        "file": "4 MB",
        "networks": "3",
        "packets until they part, median": "15",
        "tenth percentile": "13",
        "the same to the end": "33%",
        "parted by a tie": "1 of 2",
        "completion apart, median": "12.5%",
        "p90": "22.5%",
        "mean (bias)": "+12.5%",
    }
    assert [(each["first difference"], each["transfers"]) for each in causes(outcomes)] == [
        ("the window: sim announces more", "1"),
        ("the number of packets: sim sends more", "1"),
    ]


def test_networks_kept_aside_are_others() -> None:
    """And stay what they are: the seed was fixed before anything was mended."""
    aside = networks(2, exact.HELD_OUT, exact.HELD_OUT_SEED)
    assert len(aside) == 16
    assert not set(aside) & set(networks(2))
    assert exact.HELD_OUT_SEED == 20_251


def test_a_case_without_losses_has_none() -> None:
    text = CASE.text("sim")
    assert "loss" not in text
    assert 'queue = "4000 packets"' in text
    assert "loss" in replace(CASE, lossy=True).text("sim")


def test_bbr_is_compared_in_the_phase_that_the_guest_has_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third seed has it; where losses are drawn from the seed too, only the first counts."""
    tried: list[int] = []

    def run(_case: Case, engine: str, seed: int = 1, shift_ns: int = 0) -> Run:
        assert engine == "sim"
        if shift_ns:
            return changed(12 if shift_ns > 0 else 15, length=1000)
        tried.append(seed)
        return OURS if seed == 3 else changed(10 + seed, length=1000)

    monkeypatch.setattr(exact, "run", run)
    monkeypatch.setattr(exact, "linux", lambda *_: OURS)
    case = replace(CASE, control="bbr")
    kernel = Kernel("6.12", "", "6.12.117", "", "", "", 1000, {}, "", Path())
    found = exact.outcome(case, kernel)
    assert (found.first, found.alike, tried) == (None, 20, [1, 2, 3])
    tried.clear()
    found = exact.outcome(replace(case, lossy=True), kernel)
    assert (found.alike, found.tie, tried) == (11, True, [1]), (
        "nanoseconds part the first seed from itself where Linux does"
    )


def test_a_tie_is_where_nanoseconds_part_the_simulator_from_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    shifts: list[int] = []

    def run(_case: Case, _engine: str, _seed: int = 1, shift_ns: int = 0) -> Run:
        shifts.append(shift_ns)
        return changed(15, length=1000) if shift_ns else OURS

    monkeypatch.setattr(exact, "run", run)
    kernel = Kernel("6.12", "", "6.12.117", "", "", "", 1000, {}, "", Path())
    for parts_at, tie in ((14, False), (15, True), (16, True)):
        monkeypatch.setattr(exact, "linux", lambda *_, at=parts_at: changed(at, window=7))
        assert exact.outcome(CASE, kernel).tie == tie, parts_at
    assert set(shifts) == {0, -100, 100}


def test_delays_are_shifted_on_all_links() -> None:
    found = exact.shifted('rate = "5.000 Mbit/s"\ndelay = "49.640 ms"\n[link.p1]\ndelay = "7.500 ms"', -100)
    assert found == 'rate = "5.000 Mbit/s"\ndelay = "49.639900 ms"\n[link.p1]\ndelay = "7.499900 ms"'
