"""The button "Advise": the answer is that of the command, and so are the errors."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mptcplab import Scenario, shipped
from mptcplab.cli import invoke
from mptcplab.lab import tasks
from mptcplab.lab.limits import Limits
from starlette.testclient import TestClient

from tests.lab.conftest import SMALL as LONGER
from tests.lab.conftest import request

BUDGET = 0.01
SMALL = LONGER.replace('"3 s"', '"0.5 s"')
TWO = SMALL + '\n[connection.n]\npaths = ["b", "a"]\n'


def test_the_advice_is_that_of_the_command(
    client: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    assert invoke(["advise", str(file), "--json", "--budget", str(BUDGET)]) == 0
    said = json.loads(capsys.readouterr().out)
    del said["dropped"]
    done = client.post("/api/advise", json=request(SMALL, budget=BUDGET))
    assert done.status_code == 200
    *progress, answer = map(json.loads, done.text.strip().split("\n"))
    assert [each for each in progress if not 0 <= each["progress"] <= 1] == []
    assert answer["advice"] == said
    first = answer["shown"][0]
    assert first["label"] == said["recommended"][0]["label"]
    assert first["reasons"] == said["recommended"][0]["reasons"]
    names = [name for name, _ in first["figures"]]
    assert names[:2] == ["mean", "range of the runs"]
    assert names[-1] == "bytes over a, b"


def test_what_is_applied_is_a_scenario_with_these_settings(client: TestClient) -> None:
    """And without those that only the other protocol has."""
    text = SMALL + 'scheduler = "blest"\nchecksum = true\n'
    done = client.post("/api/advise", json=request(text, budget=BUDGET))
    shown = json.loads(done.text.strip().rsplit("\n", 1)[-1])["shown"]
    assert [each["recommended"] for each in shown][-1] is False
    for each in shown:
        data = Scenario.from_toml(text).to_dict()
        table = data["connection"]["m"]
        for key, value in each["changes"]["m"].items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        made = Scenario.from_dict(data).document.connections["m"]
        assert ("TCP on" in each["label"]) == (made.protocol == "tcp")
        assert made.application.kind == "bulk"


@pytest.mark.parametrize(
    ("text", "connection", "key", "said"),
    [
        (SMALL.replace('["a", "b"]', '["a"]'), None, "", "no connection with several paths"),
        (TWO, None, "", "2 connections with several paths"),
        (TWO, "x", "--connection x", "no such connection"),
        (SMALL.replace("10 Mbit/s", "10 Mbits"), None, "link.b.rate", "Mbits"),
    ],
)
def test_an_error_is_that_of_the_command(
    client: TestClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    connection: str | None,
    key: str,
    said: str,
) -> None:
    done = client.post("/api/advise", json=request(text, connection=connection))
    assert done.status_code == 422
    problem = done.json()["problems"][0]
    assert problem["key"] == key
    assert said in problem["found"]
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    assert invoke(["advise", str(file), *(["--connection", connection] if connection else [])]) == 2
    assert f"found {problem['found']}; expected {problem['expected']}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [
        {"connection": 3},
        {"budget": 2},
        {"budget": "all"},
        {"traffic": "gaming"},
        {"purpose": "windows"},
        {"metered": "a"},
        {"metered": [1]},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(client: TestClient, more: dict[str, Any]) -> None:
    assert client.post("/api/advise", json=request(SMALL, **more)).status_code == 400


def test_the_connection_of_a_scenario_with_several_is_chosen(client: TestClient) -> None:
    done = client.post("/api/advise", json=request(TWO, connection="n", budget=BUDGET))
    answer = json.loads(done.text.strip().rsplit("\n", 1)[-1])
    assert {tuple(each["changes"]) for each in answer["shown"]} == {("n",)}


def test_the_options_are_those_of_the_command(
    client: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mix is simulated as three connections; what is applied is for the one that was asked about."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    options = ["--traffic", "mix", "--for", "linux", "--metered", "b", "--budget", str(BUDGET)]
    assert invoke(["advise", str(file), "--json", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    del said["dropped"]
    done = client.post("/api/advise", json=request(SMALL, budget=BUDGET, traffic="mix", purpose="linux", metered=["b"]))
    answer = json.loads(done.text.strip().rsplit("\n", 1)[-1])
    assert answer["advice"] == said
    assert set(said["recommended"][0]["connections"]) == {"m-web", "m-bulk", "m-call"}
    assert any("over b" in reason for reason in answer["shown"][0]["reasons"])
    assert tuple(answer["shown"][0]["changes"]) == ("m",)
    refused = client.post("/api/advise", json=request(SMALL, budget=BUDGET, metered=["c"])).json()["problems"][0]
    assert refused["key"] == "--metered c"


def test_traces_are_found_beside_the_scenario(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wherever the server was started."""
    monkeypatch.chdir(tmp_path)
    file = shipped.scenario_file("lte-trace")
    assert file is not None
    text = file.read_text(encoding="utf-8")
    assert 'duration = "30 s"' in text
    text = text.replace('duration = "30 s"', 'duration = "1 s"').replace('warmup = "5 s"', 'warmup = "0.2 s"')
    task = {"kind": "advise", "text": text, "data": None, "origin": "lte-trace", "opened": None}
    task["options"] = {"connection": None, "budget": BUDGET}
    event, _, content = tasks.carry_out(task, Limits(), lambda _: None, lambda _: None)
    assert event == "done", content


def test_advice_that_nobody_waits_for_any_more_ends() -> None:
    class StoppedError(Exception):
        pass

    def tell(_: float) -> None:
        raise StoppedError

    task = {"kind": "advise", "text": SMALL, "data": None, "origin": None, "opened": None}
    before = threading.active_count()
    with pytest.raises(StoppedError):
        tasks.carry_out({**task, "options": {"connection": None, "budget": 1.0}}, Limits(), tell, lambda _: None)
    for _ in range(50):
        if threading.active_count() <= before:
            break
        time.sleep(0.1)
    assert threading.active_count() <= before
