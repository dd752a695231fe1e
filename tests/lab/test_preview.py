"""Long runs are seen as they are computed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from mptcplab import Scenario
from mptcplab.lab import preview, tasks
from mptcplab.lab.limits import Limits
from mptcplab.scenario.beginning import beginning

from tests.lab.conftest import SMALL


def test_what_is_seen_before_the_end_is_what_the_whole_run_has_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(_: Callable[[float], None]) -> Callable[[float], None]:
        raise preview.LongError(0.1)

    monkeypatch.setattr(preview, "watched", at_once)
    seen: list[bytes] = []
    task = {"kind": "run", "text": SMALL, "data": None, "origin": None, "opened": None, "engine": "sim"}
    event, _, content = tasks.carry_out(task, Limits(), lambda _: None, seen.append)
    assert event == "done"
    whole: dict[str, Any] = json.loads(content)
    partial = [json.loads(each)["partial"] for each in seen]
    # Of 3 s a tenth, and four times as much.
    assert [each["result"]["duration_s"] for each in partial] == [0.3, 1.2]
    for each in partial:
        for kind, column in (("links", "queue_packets"), ("subflows", "cwnd_segments")):
            for line, all_of_it in zip(each["lines"][kind], whole["lines"][kind], strict=True):
                assert line[column] == all_of_it[column][: len(line[column])]
                assert len(line[column]) > 0
    assert whole["text"] == SMALL


def test_a_run_is_long_when_what_is_left_of_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(preview.time, "monotonic", lambda: now_s)
    told: list[float] = []
    look = preview.watched(told.append)
    now_s = 100.1
    look(0.1)  # 1 s in all
    now_s = 101.5
    look(0.6)  # 2.5 s in all, of which most is over
    with pytest.raises(preview.LongError) as raised:
        look(0.3)  # 5 s in all
    assert raised.value.part == pytest.approx(0.7 / 5)
    assert told == [0.1, 0.6, 0.3]


def test_a_beginning_without_a_connection_is_none() -> None:
    scenario = Scenario.from_toml(SMALL + 'start = "1 s"\nstop = "2 s"\n')
    assert beginning(scenario, 0.5) is None
    shorter = beginning(scenario, 1.5)
    assert shorter is not None
    assert shorter.to_dict()["connection"]["m"]["stop"] == "1.5 s"
    assert shorter.duration_ns == 1_500_000_000
