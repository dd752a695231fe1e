"""Paths and caps in words: what is read, and that every mistake is answered with what would do."""

import pytest
from mptcplab.advice.advising import advise
from mptcplab.advice.errors import AdviceError
from mptcplab.advice.paths import UNKNOWN_QUEUE_S, read_cap, read_path, read_paths


def test_a_path_is_read_as_it_is_said() -> None:
    path = read_path("lte: 40/10 Mbit/s, 45 ms ± 30, 0.5 %, queue 100 ms")
    assert (path.name, path.down_bps, path.up_bps, path.loss) == ("lte", 40e6, 10e6, 0.005)
    assert (path.rtt_s.low, path.rtt_s.high) == pytest.approx((0.015, 0.075))
    assert (path.queue_s.low, path.queue_s.high) == (0.1, 0.1)
    assert path.rate.is_known


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a: 10 Mbit/s, 40 ms ± 10 ms", 0.03, 0.05),
        ("a: 10 Mbit/s, 40 ± 10 ms", 0.03, 0.05),
        ("a: 10 Mbit/s, 40 ms ± 25 %", 0.03, 0.05),
        ("a: 10 Mbit/s, 40 ms +- 10", 0.03, 0.05),
        ("a: 40 ms, 10 Mbit/s", 0.04, 0.04),
    ],
)
def test_the_ways_to_say_a_time(text: str, low: float, high: float) -> None:
    path = read_path(text)
    assert (path.rtt_s.low, path.rtt_s.high) == pytest.approx((low, high))
    assert (path.queue_s.low, path.queue_s.high) == UNKNOWN_QUEUE_S


@pytest.mark.parametrize(
    ("said", "down_mbps", "up_mbps"),
    [
        ("100Mbps", 100, 100),
        ("100 mbps", 100, 100),
        ("100 Mbit", 100, 100),
        ("100M", 100, 100),
        ("0.1 Gb/s", 100, 100),
        ("100000 kbit/s", 100, 100),
        # B is bytes.
        ("12.5 MB/s", 100, 100),
        ("12.5MBps", 100, 100),
        ("12.5 Mbyte/s", 100, 100),
        ("10 MiB/s", 83.88608, 83.88608),
        ("1 Gibit/s", 1073.741824, 1073.741824),
        ("40M/10M", 40, 10),
        ("40/10 MB/s", 320, 80),
        ("40 Mbit/s / 10 Mbit/s", 40, 10),
        ("40Mbit/5000 kbit", 40, 5),
    ],
)
def test_the_ways_to_say_a_rate(said: str, down_mbps: float, up_mbps: float) -> None:
    path = read_path(f"a: {said}, 9 ms")
    assert (path.down_bps, path.up_bps) == pytest.approx((down_mbps * 1e6, up_mbps * 1e6))


@pytest.mark.parametrize(
    "said",
    [
        "a: 10M, rtt 8 ms; 0.1% loss; queue 50ms",
        "a: rate 10 Mbit/s; ping 8ms; loss 0.1 %; 50 ms queue",
        "a: 10 Mbit/s, 8 msec, 0.1 percent, queue: 50 ms",
        "a: 8 ms round trip; 10Mbps; packet loss 0.1 %; buffer 50 ms",
    ],
)
def test_words_around_a_quantity_say_what_it_is(said: str) -> None:
    path = read_path(said)
    assert (path.down_bps, path.rtt_s.low, path.loss, path.queue_s.low) == pytest.approx((10e6, 0.008, 0.001, 0.05))


def test_a_rate_may_be_off_too() -> None:
    path = read_path("a: 40/10 Mbit/s ± 20 %, 9 ms")
    assert (path.rate.low, path.rate.high) == pytest.approx((0.8, 1.2))
    path = read_path("a: 40 Mbit/s ± 10, 9 ms")
    assert (path.down_bps, path.up_bps) == (40e6, 40e6)
    assert (path.rate.low, path.rate.high) == pytest.approx((0.75, 1.25))


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("lte", "no name before a colon", "lte: 40/10 Mbit/s"),
        ("lte: 45 ms", "no rate", "40/10 Mbit/s"),
        ("lte: 40/10 Mbit/s", "no round-trip time", "what ping shows"),
        ("lte: 40/10 Mbit/s, 45 ms, 0 %", "found 0 %", "leave it out"),
        ("lte: 40/10 Mbit/s, 45 ms, 60 %", "found 60 %", "at most 50 %"),
        ("lte: 40/10 MBPS, 45 ms", "40/10 MBPS", 'did you mean "10 Mbit/s" or "10 MB/s" (bytes)?'),
        ("lte: 40/10 MB, 45 ms", "40/10 MB", 'did you mean "10 MB/s" (bytes) or "10 Mbit/s"?'),
        ("lte: 40 m, 45 ms", "40 m", 'did you mean "40 Mbit/s" or "40 ms"?'),
        ("lte: 40/10, 45 ms", "40/10", 'did you mean "40/10 Mbit/s"?'),
        ("lte: 40, 45 ms", "40", 'did you mean "40 Mbit/s" or "40 ms"?'),
        ("lte: 40/10 Mbit/s 45 ms", "40/10 Mbit/s 45 ms", 'did you mean "40/10 Mbit/s, 45 ms"?'),
        ("lte: 40 Mbit/s 45 ms, 1 %", "40 Mbit/s 45 ms", 'did you mean "40 Mbit/s, 45 ms"?'),
        ("lte: 0,5 Gbit/s, 45 ms", "0,5", "0.5"),
        ("lte: 40/10 Mbit/s, 45 ms, 0,5 %", "0,5", "0.5"),
        ("lte: 40/10, 45 ms", "40/10", "a rate (90/20 Mbit/s)"),
        ("lte: 40/10 Mbit/s, 45", "45", "a round-trip time (8 ms)"),
        ("lte: 40/10 Mbit/s, 45 parsecs", "parsecs", "a round-trip time (8 ms)"),
        ("lte: 40/10 Mbit/s, 45 ms, 30 ms", "a second round-trip time", "one round-trip time"),
        ("lte: 0/10 Mbit/s, 45 ms", "0 Mbit/s", "1 kbit/s or more"),
        ("lte: 40/10 Mbit/s, 0 ms", "0 ms", "more than 0 s"),
        ("lte: 40/10 Mbit/s, 45 ms ± 60", "± 60", "at most 95%"),
        ("lte: 40/10 Mbit/s, 45 ms ±", "± without one number", "a number of ms"),
        ("lte: 40/10 Mbit/s, 45 ms,", "nothing between two commas", "a rate"),
        ("l t e: 40/10 Mbit/s, 45 ms", "l t e", "letters, digits"),
    ],
)
def test_a_path_that_is_wrong_says_what_would_do(text: str, found: str, expected: str) -> None:
    with pytest.raises(AdviceError) as caught:
        read_path(text)
    message = str(caught.value)
    assert message.startswith("--path ")
    assert found in message.partition("; expected ")[0]
    assert expected in message.partition("; expected ")[2]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([], "no path"),
        (["a: 1 Mbit/s, 9 ms"], "one path"),
        (["a: 1 Mbit/s, 9 ms"] * 2, "two paths"),
        ([f"p{n}: 1 Mbit/s, 9 ms" for n in range(9)], "9 paths"),
    ],
)
def test_paths_are_two_or_more_with_names_of_their_own(texts: list[str], found: str) -> None:
    with pytest.raises(AdviceError, match=found):
        read_paths(texts)


def test_a_cap_is_a_size_in_a_period() -> None:
    cap = read_cap("lte: 20 GB/month", ["fibre", "lte"])
    assert (cap.path, cap.size_bytes, cap.period_s) == ("lte", 20e9, 30 * 86400)


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("lte: 20 GB", "without a period", "/day, /week or /month"),
        ("lte: 20 GB/mont", "the period", 'did you mean "month"?'),
        ("lte: 20 gigs/month", "gigs", "a size"),
        ("lte: 20 Mbit/s/month", "a rate", "a size"),
        ("lte: 0 GB/month", "0 GB", "more than 0"),
        ("let: 20 GB/month", "let", 'did you mean "lte"?'),
        ("20 GB/month", "no name", "lte: 20 GB/month"),
    ],
)
def test_a_cap_that_is_wrong_says_what_would_do(text: str, found: str, expected: str) -> None:
    with pytest.raises(AdviceError) as caught:
        read_cap(text, ["fibre", "lte"])
    message = str(caught.value)
    assert found in message.partition("; expected ")[0]
    assert expected in message.partition("; expected ")[2]


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("0 MB", "0 MB", "2 kB"),
        ("-1 MB", "-1 MB", "a size"),
        ("2 GB", "2 GB", "to 1 GB"),
        ("1 s", "a time", "a size"),
        ("many", "many", "a size"),
    ],
)
def test_a_buffer_that_is_wrong_says_what_would_do(text: str, found: str, expected: str) -> None:
    with pytest.raises(AdviceError) as caught:
        advise(paths=["a: 1 Mbit/s, 9 ms", "b: 1 Mbit/s, 9 ms"], buffer=text)
    message = str(caught.value)
    assert message.startswith("--buffer ")
    assert found in message.partition("; expected ")[0]
    assert expected in message.partition("; expected ")[2]


def test_a_question_without_a_network_or_work_is_refused() -> None:
    paths = ["a: 1 Mbit/s, 9 ms", "b: 1 Mbit/s, 9 ms"]
    with pytest.raises(AdviceError, match="neither a scenario file nor paths"):
        advise()
    with pytest.raises(AdviceError, match="budget: found 0; expected more than 0"):
        advise(paths=paths, budget=0)
    with pytest.raises(AdviceError, match="jobs: found 0; expected 1 or more"):
        advise(paths=paths, jobs=0)
