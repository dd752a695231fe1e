"""From a coordinate of a design to a value of a scenario."""

import pytest
from mptcplab.designs import Factor, FactorError, factor


def values(made: Factor) -> list[object]:
    return [made.at(x) for x in (0.0, 0.25, 0.5, 1.0)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["1 Mbit/s", "101 Mbit/s"], ["1 Mbit/s", "26 Mbit/s", "51 Mbit/s", "101 Mbit/s"]),
        (["0 ms", "100 ms"], ["0 s", "25 ms", "50 ms", "100 ms"]),
        (["0 %", "1 %"], ["0 %", "0.25 %", "0.5 %", "1 %"]),
        (["1 kB", "2 kB"], ["1 kB", "1250 B", "1.5 kB", "2 kB"]),
        (["10 packets", "13 packets"], ["10 packets", "11 packets", "12 packets", "13 packets"]),
        ([1, 9], [1, 3, 5, 9]),
        ([0.0, 1], [0.0, 0.25, 0.5, 1.0]),
        ({"from": "1 kbit/s", "to": "10 Mbit/s", "scale": "log"}, ["1 kbit/s", "10 kbit/s", "100 kbit/s", "10 Mbit/s"]),
        ({"values": ["lia", "olia", "balia"]}, ["lia", "lia", "olia", "balia"]),
    ],
)
def test_values_of_a_factor(given: object, expected: list[object]) -> None:
    assert values(factor("key", given)) == expected


def test_values_are_whole_numbers_of_the_base_unit() -> None:
    assert factor("key", ["1 bit/s", "3 bit/s"]).at(1 / 3) == "2 bit/s"
    assert factor("key", ["0 ms", "1 ms"]).at(1 / 3) == "333333 ns"
    assert factor("key", ["0 %", "1 %"]).at(1 / 3) == "0.3333333 %"


def test_an_array_is_a_list_where_a_grid_wants_one() -> None:
    assert factor("key", ["1 ms", "2 ms", "5 ms"], listed=True).values == ("1 ms", "2 ms", "5 ms")
    assert factor("key", {"from": "1 ms", "to": "5 ms", "levels": 3}, listed=True).levels == 3


def test_values_as_numbers_of_the_base_unit() -> None:
    made = factor("key", ["1 Mbit/s", "2 Mbit/s"])
    assert made.number("1.5 Mbit/s") == 1.5e6
    assert made.number(3) == 3.0
    assert made.number("12.5 ms") == 0.0125, "seconds, as in results"
    assert made.number("1 %") == 0.01
    assert made.number("lia") is None
    assert made.number(True) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["1 ms"], 'found ["1 ms"]; expected a range'),
        (["1 ms", "2 ms", "3 ms"], "a list of values is for a grid"),
        (["1 ms", "2 kB"], 'found "1 ms" to "2 kB"; expected two values of the same kind'),
        (["2 ms", "1 ms"], "from the lower to the higher"),
        (["1 ms", "1 ms"], "from the lower to the higher"),
        (["lia", "olia"], 'found "lia"'),
        (["1 mbps", "2 mbps"], "expected a range"),
        (["1", "2"], "a number without a unit"),
        ([True, False], "found true"),
        ("1 ms", 'found "1 ms"; expected a range'),
        ({"from": "1 ms"}, "expected a range"),
        ({"from": "1 ms", "to": "2 ms", "step": 3}, 'an unknown key "step"'),
        ({"from": "1 ms", "to": "2 ms", "scale": "cubic"}, 'found the scale "cubic"; expected "linear" or "log"'),
        ({"from": "0 ms", "to": "2 ms", "scale": "log"}, "a range above 0"),
        ({"from": "1 ms", "to": "2 ms", "levels": 0}, "found 0 levels"),
        ({"values": []}, "at least one value"),
        ({"values": ["lia", "lia"]}, 'found "lia" twice'),
    ],
)
def test_what_is_no_factor_is_refused(given: object, said: str) -> None:
    with pytest.raises(FactorError) as caught:
        factor("key", given)
    assert said in str(caught.value)
