"""Quantities are exact, and are written in one way that reads as the same."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.scenario import units
from mptcplab.scenario.units import UnreadableError
from mptcplab.scenario.value_types import quantity

DIMENSIONS = st.sampled_from(units.DIMENSIONS)


@pytest.mark.parametrize(
    ("text", "dimension", "base"),
    [
        ("12.5 ms", units.TIME, 12_500_000),
        ("0.1 s", units.TIME, 100_000_000),
        ("0.3 ns", units.TIME, Fraction(3, 10)),
        ("1 us", units.TIME, 1_000),
        ("  1   s  ", units.TIME, 1_000_000_000),
        ("1s", units.TIME, 1_000_000_000),
        ("1e-3 s", units.TIME, 1_000_000),
        ("0.1 Mbit/s", units.RATE, 100_000),
        ("25 Mbit/s", units.RATE, 25_000_000),
        ("1.000000001 Gbit/s", units.RATE, 1_000_000_001),
        ("7 bit/s", units.RATE, 7),
        ("300 kB", units.SIZE, 300_000),
        ("300 KiB", units.SIZE, 307_200),
        ("1.5 MiB", units.SIZE, 1_572_864),
        ("1 GiB", units.SIZE, 1_073_741_824),
        ("1 packet", units.PACKETS, 1),
        ("64 packets", units.PACKETS, 64),
        ("2.5 BDP", units.BDP, Fraction(5, 2)),
        ("1 %", units.PERCENTAGE, Fraction(1, 100)),
        ("0.07 %", units.PERCENTAGE, Fraction(7, 10_000)),
        ("5 /s", units.FREQUENCY, 5),
        ("-1 ms", units.TIME, -1_000_000),
    ],
)
def test_exact(text: str, dimension: units.Dimension, base: Fraction | int) -> None:
    assert units.read(text, units.DIMENSIONS) == (dimension, base)


@pytest.mark.parametrize(
    ("value", "found", "hint"),
    [
        (25, "25 (a bare number)", ""),
        (2.5, "2.5 (a bare number)", ""),
        (float("nan"), "nan (a bare number)", ""),
        (True, "true", ""),
        ([], "[]", ""),
        ("", '""', ""),
        ("Mbit/s", '"Mbit/s"', ""),
        ("nan Mbit/s", '"nan Mbit/s"', ""),
        ("inf Mbit/s", '"inf Mbit/s"', ""),
        ("1,5 Mbit/s", '"1,5 Mbit/s"', ""),
        ("1_000 Mbit/s", '"1_000 Mbit/s"', ""),
        ("1 2 Mbit/s", '"1 2 Mbit/s"', ""),
        ("0x10 Mbit/s", '"0x10 Mbit/s"', ""),
        ("25", '"25" (a number without a unit)', ""),
        ("25 mbit/s", '"25 mbit/s" (no such unit as "mbit/s")', '; did you mean "25 Mbit/s"?'),
        ("25 Mbps", '"25 Mbps" (no such unit as "Mbps")', '; did you mean "25 Mbit/s"?'),
        ("25 parsec", '"25 parsec" (no such unit as "parsec")', ""),
        ("25 sec", '"25 sec" (no such unit as "sec")', ""),
        ("25 ms", '"25 ms" (a time)', ""),
        ("1e999999999 Mbit/s", '"1e999999999 Mbit/s"', ""),
    ],
)
def test_no_rate(value: object, found: str, hint: str) -> None:
    with pytest.raises(UnreadableError) as raised:
        units.read(value, [units.RATE])
    assert (raised.value.found, raised.value.hint) == (found, hint)


def test_a_number_as_long_as_a_book_is_cut() -> None:
    with pytest.raises(UnreadableError) as raised:
        units.read("9" * 100_000 + " s", [units.TIME])
    assert len(raised.value.found) <= 80


@pytest.mark.parametrize(
    ("dimension", "base", "text"),
    [
        (units.TIME, 12_500_000, "12.5 ms"),
        (units.TIME, 0, "0 s"),
        (units.TIME, 1, "1 ns"),
        (units.TIME, 1_500_000_000, "1.5 s"),
        (units.TIME, 30 * 10**9, "30 s"),
        (units.SIZE, 1460, "1460 B"),
        (units.SIZE, 300_000, "300 kB"),
        (units.SIZE, 0, "0 B"),
        (units.SIZE, 65_536, "65536 B"),
        (units.RATE, 25_000_000, "25 Mbit/s"),
        (units.RATE, 100_000, "100 kbit/s"),
        (units.PERCENTAGE, Fraction(7, 10_000), "0.07 %"),
        (units.PERCENTAGE, 1, "100 %"),
        (units.BDP, Fraction(5, 2), "2.5 BDP"),
        (units.PACKETS, 1, "1 packets"),
    ],
)
def test_written(dimension: units.Dimension, base: Fraction | int, text: str) -> None:
    assert units.write(dimension, base) == text


@given(dimension=DIMENSIONS, digits=st.integers(0, 10**18), power=st.integers(0, 9))
def test_what_is_written_reads_as_the_same(dimension: units.Dimension, digits: int, power: int) -> None:
    base = Fraction(digits, 10**power)
    assert units.read(units.write(dimension, base), [dimension]) == (dimension, base)


@given(data=st.data(), dimension=DIMENSIONS)
def test_every_spelling_of_a_quantity_is_written_alike(data: st.DataObject, dimension: units.Dimension) -> None:
    base = data.draw(st.integers(1, 10**12))
    unit = data.draw(st.sampled_from(dimension.written))
    spelling = f"{units.decimal(Fraction(base) / dimension.units[unit])} {unit}"
    assert units.write(*units.read(spelling, [dimension])) == units.write(dimension, base)


@given(whole=st.integers(0, 10**6), part=st.integers(0, 999_999))
def test_a_decimal_is_not_its_floating_neighbour(whole: int, part: int) -> None:
    """The oracle shifts the decimal point in the text, without any arithmetic on fractions."""
    _, nanoseconds = units.read(f"{whole}.{part:06d} ms", [units.TIME])
    assert nanoseconds == int(f"{whole}{part:06d}")


@given(st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.integers(), max_size=2))
def test_reading_never_fails_in_another_way(value: object) -> None:
    with contextlib.suppress(UnreadableError):
        dimension, base = units.read(value, units.DIMENSIONS)
        assert units.read(units.write(dimension, base), [dimension]) == (dimension, base)


@given(st.integers(-(10**13), 2 * 10**13))
def test_bounds_are_part_of_the_range(nanoseconds: int) -> None:
    kind = quantity(units.TIME, 0, 10**13)
    text = units.write(units.TIME, nanoseconds)
    if 0 <= nanoseconds <= 10**13:
        assert kind.validate(text) == nanoseconds
    else:
        with pytest.raises(ValueError, match="from 0 s to 10000 s"):
            kind.validate(text)
