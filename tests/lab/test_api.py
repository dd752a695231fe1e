"""The server of the laboratory: what it computes is what `mptcplab run` computes, and what it refuses it says."""

import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mptcplab import Scenario, shipped
from mptcplab.cli import invoke
from mptcplab.lab import tasks
from mptcplab.lab.limits import Limits
from starlette.testclient import TestClient

from tests.lab.conftest import SMALL, TOKEN, lab, request

LONG = SMALL.replace('"3 s"', '"2000 s"') + '\n[measure]\nsample = "10 s"\n'


def answer(client: TestClient, kind: str, **more: Any) -> dict[str, Any]:
    done = client.post(f"/api/{kind}", json=request(**more))
    assert done.status_code == 200, done.text
    last: dict[str, Any] = json.loads(done.text.strip().rsplit("\n", 1)[-1])
    return last


def problems(client: TestClient, text: str, **more: Any) -> list[dict[str, Any]]:
    done = client.post("/api/run", json=request(text, **more))
    assert done.status_code == 422, done.text
    found: list[dict[str, Any]] = done.json()["problems"]
    return found


@pytest.mark.parametrize("engine", ["sim", "model"])
def test_the_numbers_are_those_of_the_command(
    client: TestClient, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the byte, as document and in what the page draws."""
    text = SMALL + '\n[measure]\nwarmup = "1 s"\n'
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    assert invoke(["run", str(file), "--engine", engine, "--json"]) == 0
    said = capsys.readouterr().out
    exported = client.post("/api/export", json=request(text, engine=engine, export="json"))
    assert exported.content == said.encode()
    shown = answer(client, "run", text=text, engine=engine)
    assert json.dumps(shown["result"], indent=2, ensure_ascii=False) + "\n" == said
    if engine == "sim":
        assert invoke(["run", str(file), "--out", str(tmp_path / "out")]) == 0
        import polars as pl

        samples = pl.read_parquet(tmp_path / "out/samples.parquet")
        for line in shown["lines"]["subflows"]:
            own = samples.filter(kind="subflow", subflow=line["subflow"], connection=line["connection"])
            for column in ("time_s", "goodput_bps", "cwnd_segments", "srtt_s"):
                assert line[column] == own[column].to_list()
        for line in shown["lines"]["links"]:
            own = samples.filter(kind="link", link=line["link"], direction=line["direction"])
            assert line["queue_packets"] == own["queue_packets"].to_list()


def test_an_error_is_said_as_on_the_command_line(client: TestClient) -> None:
    wrong = SMALL.replace("10 Mbit/s", "10 Mbits").replace('"olia"', '"oila"')
    with pytest.raises(Exception, match="did you mean") as raised:
        Scenario.from_toml(wrong, "scenario.toml")
    said = problems(client, wrong)
    assert [
        f"{each['file']}:{each['line']}: {each['key']}: found {each['found']}; expected {each['expected']}"
        for each in said
    ] == str(raised.value).splitlines()
    assert [each["key"] for each in said] == ["link.b.rate", "connection.m.congestion"]


def test_changed_data_keep_the_comments(client: TestClient) -> None:
    before = answer(client, "read")
    data = before["data"]
    data["link"]["a"]["rate"] = "5 Mbit/s"
    data["connection"]["m"]["congestion"] = {"name": "mppert", "k": -0.5}
    data["event"] = [{"at": "1 s", "link": "a", "set": {"down": True}}]
    after = answer(client, "read", data=data)["text"]
    assert "# A comment that stays." in after
    assert 'duration = "3 s"   # short' in after
    read = Scenario.from_toml(after)
    assert read.to_dict()["link"]["a"]["rate"] == "5 Mbit/s"
    assert read.to_dict()["event"][0]["link"] == "a"


@pytest.mark.parametrize("name", shipped.scenario_names())
def test_a_ready_made_scenario_goes_through_the_page_without_loss(client: TestClient, name: str) -> None:
    """As text, as data, and as data without the text."""
    whole = Scenario.load(name)
    given = client.get(f"/api/presets/{name}").json()
    done = client.post("/api/read", json=request(given["text"], origin=name))
    if '"program"' in given["text"]:
        assert done.status_code == 422
        return
    read = done.json()
    assert read["text"] == given["text"]
    for text in (given["text"], ""):
        again = answer(client, "read", text=text, data=read["data"], origin=name)
        if whole.document.traces:
            continue
        assert Scenario.from_toml(again["text"]).with_(title=whole.title) == whole


def test_numbers_that_javascript_has_not_come_back(client: TestClient) -> None:
    read = answer(client, "read", text=SMALL.replace("seed = 4", "seed = 18446744073709551615"))
    assert read["data"]["seed"] == {"$number": "18446744073709551615"}
    assert "seed = 18446744073709551615" in answer(client, "read", data=read["data"])["text"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (('rate = "20 Mbit/s"', 'trace = "/etc/passwd"'), "link.a.trace"),
        (('rate = "20 Mbit/s"', 'trace = { file = "../../../etc/passwd" }'), "link.a.trace"),
        (('congestion = "olia"', 'congestion = { plugin = "evil.py:Evil" }'), "connection.m.congestion.plugin"),
        (
            ('congestion = "olia"', 'application = { kind = "program", client = "id", server = "id" }'),
            "connection.m.application.kind",
        ),
    ],
)
def test_no_file_is_read_and_no_program_run(client: TestClient, change: tuple[str, str], key: str) -> None:
    for kind in ("read", "run", "packets", "why", "export", "advise"):
        more = {"from_s": 0, "for_s": 1, "at_s": 1, "export": "toml"}
        done = client.post(f"/api/{kind}", json=request(SMALL.replace(*change), **more))
        assert done.status_code == 422
        assert [each["key"] for each in done.json()["problems"]] == [key]
        assert "root:" not in done.text


def test_a_trace_that_comes_with_a_ready_made_scenario_is_read(client: TestClient) -> None:
    text = client.get("/api/presets/lte-trace").json()["text"]
    assert answer(client, "read", text=text, origin="lte-trace")["data"]
    assert problems(client, text)[0]["key"].endswith("trace")


def test_the_reasons_are_those_of_the_command(
    client: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page runs up to the cursor only; the command has a record of the whole run."""
    text = SMALL.replace("[connection.m]", "[connection.n]\npaths = ['a']\nstart = '1.5 s'\n\n[connection.m]")
    file = tmp_path / "two.toml"
    file.write_text(text, encoding="utf-8")
    assert invoke(["run", str(file), "--trace", str(tmp_path / "why")]) == 0
    for at_s, ends in ((0.0, 0), (1.2345, 1), (2.5, 2), (100.0, 2)):
        capsys.readouterr()
        assert invoke(["trace", str(tmp_path / "why"), "--at", str(at_s)]) == 0
        said = capsys.readouterr().out.strip()
        found = answer(client, "why", text=text, at_s=at_s)["ends"]
        assert len(found) == ends
        assert "\n\n".join("\n".join(end["lines"]) for end in found) == (said if ends else "")
        for end in found:
            times = [each["time_s"] for each in end["decisions"]]
            assert times == sorted(times)
            assert times
            assert times[-1] <= at_s
        own = answer(client, "why", text=text, at_s=at_s, connection="n")["ends"]
        assert own == [end for end in found if end["title"].startswith("n, ")]


def test_too_many_segments_to_record_are_refused() -> None:
    task = {"kind": "why", "text": SMALL, "data": None, "origin": None, "opened": None, "at_s": 2.0, "connection": None}
    limits = replace(Limits(), traced=100)
    event, _, content = tasks.carry_out(task, limits, lambda _: None, lambda _: None)
    assert event == "wrong"
    (problem,) = json.loads(content)["problems"]
    assert re.fullmatch(r"\d+ segments sent by 2 s", problem["found"])
    assert problem["expected"] == "at most 100; ask about an earlier time, or use mptcplab run --trace"


def test_packets_and_what_waits(client: TestClient) -> None:
    found = answer(client, "packets", from_s=1.0, for_s=0.25)
    packets = found["packets"]
    assert len(packets["sent"]) > 300
    assert all(1.0 <= sent < 1.25 for sent in packets["sent"])
    assert packets["sent"] == sorted(packets["sent"])
    columns = zip(packets["sent"], packets["arrived"], packets["kind"], strict=True)
    transits = [b - a for a, b, kind in columns if b is not None and kind != 3]
    # Propagation and one packet of 1500 bytes on the quicker path.
    assert min(transits) >= 0.010 + 1500 * 8 / 20e6 - 1e-9
    # What waits is less than what a receive window holds, and something does: the paths' delays differ.
    assert 0 < max(found["waiting"][0]["waiting_bytes"]) < 6_000_000
    options = [option for message in found["handshakes"][0]["messages"] for option in message["options"]]
    assert any("MP_CAPABLE (version 1, both keys" in option for option in options)
    assert any("MP_JOIN (address 1, token" in option for option in options)


def test_the_packets_are_those_of_the_result(client: TestClient) -> None:
    """As many are sent and lost in the whole run as the result says."""
    found = answer(client, "packets", text=SMALL.replace("3 s", "1 s"), from_s=0, for_s=10)["packets"]
    rows = answer(client, "run", text=SMALL.replace("3 s", "1 s"))["result"]["connections"][0]["subflows"]
    data = [path for path, kind in zip(found["path"], found["kind"], strict=True) if kind != 3]
    for row in rows:
        assert data.count(row["path"]) == row["segments_sent"]
        again = [kind for path, kind in zip(found["path"], found["kind"], strict=True) if path == row["path"]]
        assert again.count(1) == row["retransmissions"]


def acknowledgments(packets: dict[str, Any]) -> list[tuple[float, float | None]]:
    columns = zip(packets["sent"], packets["arrived"], packets["kind"], packets["down"], strict=True)
    alone = [(sent, arrived, down) for sent, arrived, kind, down in columns if kind == 3]
    # Besides the client's there are the two that end the server's handshakes.
    assert sum(down for *_, down in alone) <= 2
    return [(sent, arrived) for sent, arrived, down in alone if not down]


def test_acknowledgments_move_too(client: TestClient) -> None:
    """About one for two segments; on an idle way back each takes the propagation delay and its own 60 to 100 bytes."""
    packets = answer(client, "packets", text=SMALL.replace("3 s", "1 s"), from_s=0.3, for_s=0.3)["packets"]
    assert packets["sent"] == sorted(packets["sent"])
    alone = acknowledgments(packets)
    assert 0.4 * packets["kind"].count(0) < len(alone) < 1.1 * packets["kind"].count(0)
    transits = {round(1e3 * (arrived - sent), 1) for sent, arrived in alone if arrived is not None}
    assert len([each for _, each in alone if each is None]) == 0
    assert min(transits) == pytest.approx(10.0, abs=0.1)


def test_an_acknowledgment_that_is_lost_does_not_arrive(client: TestClient) -> None:
    text = SMALL.replace('delay = "10 ms"', 'delay = "10 ms"\nup.loss = "20 %"')
    alone = acknowledgments(answer(client, "packets", text=text, from_s=0, for_s=3)["packets"])
    lost = sum(arrived is None for _, arrived in alone)
    assert 0.02 * len(alone) < lost < 0.3 * len(alone)


def test_acknowledgments_that_a_middlebox_rewrites_are_not_called_lost(client: TestClient) -> None:
    text = SMALL.replace("3 s", "1 s").replace(
        'delay = "10 ms"', 'delay = "10 ms"\nmiddleboxes = ["nat", "sequence-rewriting"]'
    )
    alone = acknowledgments(answer(client, "packets", text=text, from_s=0, for_s=0.5)["packets"])
    assert alone
    assert all(arrived is not None for _, arrived in alone)


def test_a_middlebox_that_strips_is_seen_in_the_handshake(client: TestClient) -> None:
    text = SMALL.replace('delay = "10 ms"', 'delay = "10 ms"\nmiddleboxes = [{ kind = "strip", on = "syn" }]')
    messages = answer(client, "packets", text=text, from_s=0, for_s=0.1)["handshakes"][0]["messages"]
    syn = messages[0]
    assert syn["flags"] == ["SYN"]
    assert any("MP_CAPABLE" in option for option in syn["options"])
    assert not any("MP_CAPABLE" in option for option in syn["arrived_options"])


@pytest.mark.parametrize("kind", ["toml", "python", "report", "svg", "png"])
def test_what_can_be_taken_away(client: TestClient, kind: str, tmp_path: Path) -> None:
    done = client.post("/api/export", json=request(export=kind, figure="windows"))
    assert done.status_code == 200
    head = done.headers["content-disposition"]
    if kind == "toml":
        assert done.text == SMALL
        assert head.endswith("scenario.toml")
    elif kind == "python":
        file = tmp_path / "scenario.py"
        file.write_bytes(done.content)
        ran = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
        assert "olia" in ran.stdout
    else:
        begin = {"report": b"<!doctype html>", "svg": b"<svg ", "png": b"\x89PNG"}[kind]
        assert done.content.startswith(begin)


def test_a_request_that_is_too_much_is_refused(client: TestClient) -> None:
    assert problems(client, SMALL + "count = 100000\n")[0]["key"] == "connection.m.count"
    assert (
        problems(client, SMALL.replace("3 s", "20000 s") + '\n[measure]\nsample = "1 ms"\n')[0]["key"]
        == "measure.sample"
    )
    done = client.post("/api/run", json=request("#" * 600_000))
    assert done.status_code == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"page": "x"}', 400),
        (b'{"page": "../x", "text": ""}', 400),
        (b'{"page": "x", "text": 1}', 400),
        (b'{"page": "x", "text": "", "data": []}', 400),
        (b'{"page": "x", "text": "", "origin": "../../etc"}', 400),
        (b'{"page": "x", "text": "", "engine": "rm"}', 400),
        (b'{"page": "x", "text": NaN}', 400),
        (b'{"page": "x", "text": ' + b"[" * 100_000, 400),
        (b'{"page": "x", "text": "", "data": {"a": null}}', 422),
        (b'{"page": "x", "text": "", "data": ' + b'{"a":' * 60 + b"1" + b"}" * 60 + b"}", 422),
    ],
)
def test_a_request_that_makes_no_sense(client: TestClient, body: bytes, status: int) -> None:
    done = client.post("/api/run", content=body, headers={"content-type": "application/json"})
    assert done.status_code == status, done.text


def test_a_long_run_tells_of_its_progress_and_ends_when_nobody_reads() -> None:
    limits = replace(Limits(), processes=1)
    with lab(limits=limits) as client:
        client.get("/", params={"token": TOKEN})
        with client.stream("POST", "/api/run", json=request(LONG)) as reading:
            assert reading.status_code == 200
            first = next(reading.iter_lines())
            assert 0 < json.loads(first)["progress"] < 1
        # The only worker is free again, long before the run could have ended.
        assert answer(client, "run")["result"]["duration_s"] == 3


def test_a_run_without_end_is_ended_and_others_go_on() -> None:
    limits = replace(Limits(), run_s=1.0)
    with lab(limits=limits) as client:
        client.get("/", params={"token": TOKEN})
        done = client.post("/api/run", json=request(LONG.replace("2000 s", "200000 s").replace("10 s", "1000 s")))
        assert "longer than 1 s" in done.text
        assert answer(client, "run")["result"]["duration_s"] == 3


def test_one_page_does_not_keep_another_waiting() -> None:
    limits = replace(Limits(), processes=3)
    with lab(limits=limits) as client:
        client.get("/", params={"token": TOKEN})
        over = threading.Event()

        def long_ones(number: int) -> None:
            client.post("/api/run", json=request(LONG, page="busy", seed=number))
            over.set()

        busy = [threading.Thread(target=long_ones, args=(number,)) for number in range(4)]
        for thread in busy:
            thread.start()
        time.sleep(0.5)
        assert answer(client, "run", page="other")["result"]["duration_s"] == 3
        assert not over.is_set()
        for thread in busy:
            thread.join()


def test_there_is_an_end_of_waiting() -> None:
    limits = replace(Limits(), processes=1, waiting_of_page=1, running_of_page=1)
    with lab(limits=limits) as client:
        client.get("/", params={"token": TOKEN})
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(client.post("/api/run", json=request()).status_code))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) == {200, 429}


def test_the_opened_file_is_read_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SMALL, encoding="utf-8")
    with lab(opened=file) as client:
        client.get("/", params={"token": TOKEN})
        opened = client.get("/api/opened").json()
        assert (opened["text"], opened["name"], opened["origin"]) == (SMALL, "mine.toml", "opened")
        changed = SMALL.replace("20 Mbit/s", "7 Mbit/s")
        assert client.put("/api/opened", json={"text": changed}).status_code == 200
        assert file.read_text(encoding="utf-8") == changed
        assert client.put("/api/opened", json={"text": "nonsense"}).status_code == 422
        file.write_text(SMALL + "# by somebody else\n", encoding="utf-8")
        assert client.put("/api/opened", json={"text": changed}).status_code == 409
        assert file.read_text(encoding="utf-8").endswith("# by somebody else\n")
        assert list(tmp_path.iterdir()) == [file]
