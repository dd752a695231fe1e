"""What limits a setting, in words: each cause on numbers worked by hand."""

import math

import pytest
from mptcplab.advice.advising import ask
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.limits import limits
from mptcplab.advice.race import Race
from mptcplab.advice.simulation import RunResult
from mptcplab.advice.traffic import Figure

BOTH = Candidate("cubic", "linux", ("a", "b"), (), True)


def said(
    paths: list[str],
    kind: str,
    figure: Figure,
    *,
    waiting_s: float = 0.0,
    again: float = 0.0,
    buffer: str | None = None,
) -> str:
    question = ask(None, paths, kind, "linux", buffer=buffer)
    result = RunResult(
        math.log(figure.merit), (figure,), (1.0, 1.0), (None, None), waiting_s, (), 0, again, 0.0, 0.0, 1000
    )
    (found,) = limits(Race(None, results={BOTH: {0: result}}), question, BOTH)  # type: ignore[arg-type]
    return found


SLOW = ["a: 40 Mbit/s, 20 ms", "b: 10 Mbit/s, 40 ms"]
LOSSY = ["a: 40 Mbit/s, 20 ms, 1 %", "b: 10 Mbit/s, 40 ms"]
FAST = ["a: 1 Gbit/s, 20 ms", "b: 1 Gbit/s, 60 ms"]


@pytest.mark.parametrize(
    ("paths", "bps", "options", "found"),
    [
        # 50 Mbit/s less 40 of 1,500 bytes.
        (SLOW, 45e6, {}, "Limited by the capacity of a and b: 48.7 Mbit/s after headers."),
        (
            LOSSY,
            20e6,
            {"again": 0.01},
            "Limited by loss: 1.0 % of the segments are retransmitted, and random loss on a",
        ),
        # 100 kB hold 40 Mbit/s over 20 ms; nothing is left for the other path.
        (SLOW, 30e6, {"buffer": "100 kB"}, "Limited by the receive window of 100 kB: it allows 38.9 Mbit/s, the links"),
        # 3.99 MB of data hold 1 Gbit/s over 20 ms and 199 Mbit/s over 60 ms.
        (FAST, 1000e6, {}, "Limited by the receive window of 3.99 MB: it allows 1.17 Gbit/s (net.ipv4.tcp_rmem;"),
        # 1 Gbit/s over 60 ms hold 7.5 MB, and over 20 ms 2.5.
        (
            FAST,
            1149e6,
            {"buffer": "64 MB"},
            "Limited by the send buffer: Linux's default (net.ipv4.tcp_wmem) of 4 MiB is",
        ),
    ],
)
def test_what_limits_a_rate(paths: list[str], bps: float, options: dict[str, object], found: str) -> None:
    assert said(paths, "bulk", Figure(bps, "bit/s"), **options).startswith(found)  # type: ignore[arg-type]


def test_the_path_that_holds_more_than_the_send_buffer_is_named() -> None:
    assert said(FAST, "bulk", Figure(1149e6, "bit/s"), buffer="64 MB").endswith(
        "is less than what b can have in flight."
    )


@pytest.mark.parametrize(
    ("kind", "seconds", "waiting_s", "found"),
    [
        ("calls", 0.022, 0.0, "Limited by distance: the round trip is 20.0 ms of the 22.0 ms."),
        ("calls", 0.1, 0.03, "Limited by order: data that has arrived waits 30.0 ms on average"),
        # 1.892 MB over 50 Mbit/s take 303 ms.
        ("web", 1.0, 0.0, "Limited by round trips, of handshakes, requests and slow start: the links could carry the"),
        ("web", 0.35, 0.0, "Limited by the capacity of a and b: the bytes of a page take 303 ms."),
    ],
)
def test_what_limits_a_time(kind: str, seconds: float, waiting_s: float, found: str) -> None:
    assert said(SLOW, kind, Figure(seconds, "s"), waiting_s=waiting_s).startswith(found)


def test_random_loss_does_not_keep_the_windows_of_bbr_small() -> None:
    """The same runs are limited by loss with CUBIC."""
    question = ask(None, LOSSY, "bulk", "linux")
    found = {}
    for control in ("cubic", "bbr"):
        candidate = Candidate(control, "linux", ("a", "b"), (), True)
        figure = Figure(20e6, "bit/s")
        result = RunResult(
            math.log(figure.merit), (figure,), (1.0, 1.0), (None, None), 0.0, (), 0, 0.01, 0.0, 0.0, 1000
        )
        found[control] = limits(Race(None, results={candidate: {0: result}}), question, candidate)  # type: ignore[arg-type]
    assert found["cubic"][0].startswith("Limited by loss")
    assert found["bbr"] == []
