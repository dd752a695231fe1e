"""A shared bottleneck of 15 Mbit/s: Chauvenne and Libioulle 2017, table 5.3; means of five runs."""

import pytest

from tools.figures.sharing import share


@pytest.mark.parametrize("queue", ["RED", "drop-tail"])
@pytest.mark.parametrize("control", ["lia", "olia", "balia"])
def test_a_coupled_connection_takes_as_much_as_one_tcp(control: str, queue: str) -> None:
    assert share(control, queue)["jain"] >= 0.99


@pytest.mark.parametrize("queue", ["RED", "drop-tail"])
def test_two_uncoupled_subflows_take_two_thirds(queue: str) -> None:
    found = share("reno", queue)
    assert found["share"] == pytest.approx(2 / 3, abs=0.04)
    assert found["jain"] < 0.95
