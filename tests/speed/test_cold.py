"""Calls are counted right, and each function that tells of the other roads is there to be counted."""

import pytest

from tools.bench import cold, measure

WRITTEN = """events: Ir
fn=(1) <transport::mptcp::connection::Connection<wire::segment::Span>>::receive_usual::<1u8>
10 20
cfn=(2) <transport::mptcp::connection::Connection<wire::segment::Span>>::receive_expanded
calls=3 40
11 300
cfn=(3) transport::mptcp::data::<impl transport::mptcp::connection::Connection<P>>::data_at_hole::h0123456789abcdef'2
calls=7 50
fn=(2)
cfn=(4) <transport::mptcp::connection::Connection<wire::segment::Span>>::receive_whole
calls=5 60
fn=(5) simulator::deliver
cfn=(1)
calls=100 10
"""


def test_calls_are_counted_by_hand() -> None:
    found = cold.calls(iter(WRITTEN.splitlines()))
    assert found["receive_usual", "receive_expanded"] == 3
    assert found["receive_usual", "data_at_hole"] == 7
    received, times = cold.shares(found)
    assert received == 100 + 5 - 3, "three of the hundred were received a second time, as anything they may be"
    assert (times["receive_whole"], times["data_at_hole"], times["remember"]) == (5, 7, 0)


def test_every_function_of_the_list_is_one_that_callgrind_sees() -> None:
    if not measure.has_callgrind():
        pytest.skip("valgrind is not installed, which counts calls: apt-get install valgrind")
    received, times = cold.shares(cold.count(measure.build(), "w1", 4.0))
    assert received > 10_000
    # A stream that goes on has neither FIN nor DATA_FIN.
    assert [name for name, count in times.items() if count == 0] == ["whole_data_segment"]
    assert times["receive_whole"] < received / 20, "most segments take the usual road"
