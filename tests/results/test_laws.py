"""The laws of `mptcplab.results.laws`: each is broken once, and named with its numbers."""

from collections.abc import Callable
from typing import Any

import mptcplab
import pytest
from mptcplab.results import laws

TABLES = ("connections", "subflows", "links")
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def made() -> tuple[dict[str, Any], Rows]:
    scenario = mptcplab.Scenario.load(
        "two-paths",
        overrides=["duration=2 s", "measure.warmup=0 s", 'connection.m.application={kind="file",size="1 MB"}'],
    )
    result = mptcplab.run(scenario)
    return scenario.description(), {name: result.runs[0][1].rows(name) for name in TABLES}


def _changed(rows: Rows, table: str, **values: object) -> Rows:
    first, *others = rows[table]
    return rows | {table: [first | values, *others]}


def test_a_result_obeys_them(made: tuple[dict[str, Any], Rows]) -> None:
    laws.check(*made)


BROKEN: tuple[tuple[str, Callable[[Rows], Rows]], ...] = (
    ("a counter is below 2^31 and not negative (retransmissions = 4294967295)",
     lambda rows: _changed(rows, "subflows", retransmissions=4294967295)),
    ("a counter is below 2^31 and not negative (drops = -1)", lambda rows: _changed(rows, "links", drops=-1)),
    ("a measured number is finite and not negative (goodput_bps = inf)",
     lambda rows: _changed(rows, "connections", goodput_bps=float("inf"))),
    ("no more is delivered than the application sends (1000001 of 1000000 bytes)",
     lambda rows: _changed(rows, "connections", bytes_delivered=1_000_001)),
    ("no more transfers end than begin (3 of 2)",
     lambda rows: _changed(rows, "connections", transfers_begun=2, transfers_complete=3)),
    ("no more is sent again than is sent (900 of 0 segments)",
     lambda rows: _changed(rows, "subflows", segments_sent=0, retransmissions=900)),
    ("shares sum to one", lambda rows: _changed(rows, "subflows", share=0.01)),
    ("a fraction is at most 1 (loss_rate = 1.2)", lambda rows: _changed(rows, "links", loss_rate=1.2)),
    ("the subflows bring what the connection delivers", lambda rows: _changed(rows, "connections", goodput_bps=5e8)),
)  # fmt: skip


@pytest.mark.parametrize(("text", "change"), BROKEN, ids=[text for text, _ in BROKEN])
def test_a_broken_law_is_named(made: tuple[dict[str, Any], Rows], text: str, change: Callable[[Rows], Rows]) -> None:
    description, rows = made
    with pytest.raises(laws.LawError) as raised:
        laws.check(description, change(rows))
    assert any(text in broken for broken in raised.value.broken), raised.value.broken
    assert "Please report this error with the scenario file" in str(raised.value)


def test_a_run_that_breaks_one_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's number is wrong, as a kernel's of another layout was."""
    from mptcplab.results import result

    honest = result.Run.rows
    monkeypatch.setattr(
        result.Run,
        "rows",
        lambda run, name: [
            row | ({"retransmissions": 2**32 - 1} if name == "subflows" else {}) for row in honest(run, name)
        ],
    )
    with pytest.raises(laws.LawError, match="4294967295"):
        mptcplab.run(mptcplab.Scenario.load("two-paths", overrides=["duration=1 s", "measure.warmup=0 s"]))
