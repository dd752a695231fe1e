"""On a machine that lacks what an engine needs: what is wrong anywhere is said first, and then what is missing here."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mptcplab import machine
from mptcplab.engines import catalogue
from mptcplab.machine import Finding

Call = Callable[..., Any]

NOTHING = (Finding("a real machine", False, "absent", "buy one"),)
SUPPORTED = """
duration = "1 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
[connection.c]
paths = ["a"]
protocol = "tcp"
congestion = "reno"
"""
REFUSED = 'links = "tc"\n' + SUPPORTED
"""Links of the kernel are for the engine linux-virtual."""
SWEEP = """
scenario = "{name}"
engine = "{engine}"
[design]
kind = "grid"
[factor]
"link.a.rate" = ["1 Mbit/s", "2 Mbit/s"]
"""
REAL = ("stack", "linux", "stack-linux", "linux-stack")


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REAL:
        engine = replace(catalogue.ALL[name], requirements=lambda: NOTHING)
        monkeypatch.setitem(catalogue.ALL, name, engine)
        for table in (catalogue.ENGINES, catalogue.MIXED):
            if name in table:
                monkeypatch.setitem(table, name, engine)
    for what in ("agent", "live"):
        monkeypatch.setattr(machine, what, lambda *_: NOTHING)
    monkeypatch.setattr(machine, "network_administration", lambda *_: NOTHING[0])
    monkeypatch.setattr("mptcplab.kernels.build.requirements", lambda: NOTHING)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").touch()
    (tmp_path / "good.toml").write_text(SUPPORTED)
    (tmp_path / "refused.toml").write_text(REFUSED)
    (tmp_path / "wrong.toml").write_text(SUPPORTED.replace("10 ms", "10 m"))
    return tmp_path


@pytest.mark.parametrize("engine", REAL)
@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("run wrong.toml --engine {engine}", 2, "link.a.delay"),
        ("run absent.toml --engine {engine}", 2, "absent.toml"),
        ("run good.toml --engine {engine} --set link.a.speed=1", 2, "link.a.speed"),
        ("run good.toml --engine {engine} --repeat 0", 2, "--repeat"),
        ("run good.toml --engine {engine} --through-wire", 2, "--through-wire"),
        ("run good.toml --engine {engine} --capture", 2, "--capture"),
        ("run good.toml --engine {engine} --out a-file", 2, "a-file"),
        ("run refused.toml --engine {engine}", 3, "links: found"),
        ("run good.toml --engine {engine} --out out", 3, "a real machine"),
        ("compare wrong.toml --engines sim,{engine}", 2, "link.a.delay"),
        ("compare refused.toml --engines sim,{engine}", 3, "links: found"),
        ("compare good.toml --engines sim,{engine}", 3, "a real machine"),
    ],
)
def test_an_engine_that_cannot_run_here(
    call: Call, place: Path, engine: str, command: str, status: int, says: str
) -> None:
    before = sorted(place.rglob("*"))
    done = call(*shlex.split(command.format(engine=engine)))
    assert (done.status, says in done.err) == (status, True), done.err
    assert done.out == ""
    assert ("buy one" in done.err) == (says == "a real machine")
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("engine", ["stack", "linux"])
@pytest.mark.parametrize(
    ("name", "status", "says"), [("wrong", 2, "link.a.delay"), ("refused", 3, "links: found"), ("good", 3, "buy one")]
)
def test_a_sweep_that_cannot_run_here(call: Call, place: Path, engine: str, name: str, status: int, says: str) -> None:
    (place / "sweep.toml").write_text(SWEEP.format(name=f"{name}.toml", engine=engine))
    done = call("sweep", "sweep.toml", "--out", "out")
    assert (done.status, says in done.err, done.out) == (status, True, ""), done.err
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("get ftp://192.0.2.1/", 2, "URL"),
        ("get http://192.0.2.1/ --congestion none", 2, "--congestion"),
        ("get http://192.0.2.1/ -o got", 3, "a real machine"),
        ("agent --key absent.key --state state", 3, "absent.key"),
        ("kernel build a-file", 2, "a-file"),
        ("kernel build . --name ../x", 2, "../x"),
        ("kernel build 6.12 --with none", 2, "none"),
        ("kernel build 6.12", 3, "a real machine"),
        ("bpf load none", 2, "none"),
    ],
)
def test_a_command_that_cannot_run_here(call: Call, place: Path, command: str, status: int, says: str) -> None:
    before = sorted(place.rglob("*"))
    done = call(*shlex.split(command))
    assert (done.status, says in done.err) == (status, True), done.err
    assert sorted(place.rglob("*")) == before
