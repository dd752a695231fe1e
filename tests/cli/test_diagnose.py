"""`mptcplab diagnose`, as a user meets it."""

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mptcplab.diagnose.collect import SCRIPT
from mptcplab.diagnose.hide import Hide
from mptcplab.scenario import Scenario

Call = Callable[..., Any]
DATA = Path(__file__).parents[1] / "diagnose" / "data"


def test_the_document_has_its_keys(call: Call) -> None:
    done = call("diagnose", DATA / "limit-zero" / "client.txt", "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    assert {"connections", "binding", "unread_lines"} <= document.keys()
    binding = document["binding"][0]
    assert binding["cause"] == "limit-subflows"
    assert binding["connection"] == document["connections"][0]["name"]
    assert binding["evidence"] == [{"source": "client.txt:4", "line": "add_addr_accepted 0 subflows 0"}]
    assert binding["next"] == "ip mptcp limits set subflows 2"
    assert document["unread_lines"] == 0


def test_text_for_people(call: Call) -> None:
    out = call("diagnose", DATA / "limit-zero").out
    assert "1. limit-subflows: the limit of further subflows is 0" in out
    assert "client.txt:4  add_addr_accepted 0 subflows 0" in out
    assert "next: ip mptcp limits set subflows 2" in out


def test_standard_input(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    pasted = (DATA / "no-endpoint" / "client.txt").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pasted)))
    done = call("diagnose", "-", "--json")
    assert json.loads(done.out)["binding"][0]["cause"] == "no-endpoint"


@pytest.mark.parametrize("arguments", [(), ("--collect", "x.txt"), ("missing.txt",)])
def test_wrong_use(call: Call, arguments: tuple[str, ...]) -> None:
    done = call("diagnose", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_what_is_not_understood_is_shown_without_what_steers_terminals(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    file.write_bytes(b"add_addr_accepted 0 subflows 2\nfoo \x1b]0;owned\x07 \xe2\x80\xae bar\n")
    out = call("diagnose", file).out
    assert "1 lines were not understood" in out
    assert "foo \\x1b]0;owned\\x07 \\u202e bar" in out


def test_hidden_addresses_are_consistent(call: Call) -> None:
    plain = json.loads(call("diagnose", DATA / "wrong-route", "--json").out)
    hidden_text = call("diagnose", DATA / "wrong-route", "--json", "--hide").out
    assert not any(each in hidden_text for each in ("10.0.", '"name": "client"', "server.txt"))
    hidden = json.loads(hidden_text)
    ends = [(each["local"], each["remote"]) for each in plain["connections"][0]["subflows"]]
    covered = [(each["local"], each["remote"]) for each in hidden["connections"][0]["subflows"]]
    told = {
        old.rpartition(":")[0]: new.rpartition(":")[0]
        for pair in zip(ends, covered, strict=True)
        for old, new in zip(*pair, strict=True)
    }
    assert len(set(told.values())) == len(told) == 3
    assert hidden["binding"][0]["says"].startswith(f"packets from {told['10.0.1.1']}, which is of path1")


def test_what_is_hidden_and_what_is_not() -> None:
    hide = Hide(["gw"])
    assert hide.text("gw: 10.1.2.3:80 → [2001:db8:9::1]:443, 10.1.2.3 fe80::1%eth0 00:16:3e:aa:bb:cc") == (
        "host-1: 198.18.0.1:80 → [2001:db8::1]:443, 198.18.0.1 2001:db8::2%eth0 00:00:5e:00:53:01"
    )
    for kept in ("rtt:20.261/10.13 seq:42a7e2cac4c1dac0", "at 12:34:56", "0.0.0.0/0 and ::1", "6.18.44", "gw2 agw"):
        assert hide.text(kept) == kept


def test_the_script_is_short_and_posix(call: Call) -> None:
    assert call("diagnose", "--collect").out == SCRIPT
    assert len(SCRIPT.splitlines()) <= 60
    for shell in filter(None, map(shutil.which, ("dash", "sh", "bash"))):
        done = subprocess.run([shell, "-n"], input=SCRIPT, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("ss") is None or shutil.which("ip") is None, reason="not installed: iproute2")
def test_the_script_runs_anywhere_and_is_understood(call: Call, tmp_path: Path) -> None:
    """On this machine as it is, whatever it lacks."""
    out = tmp_path / "here.txt"
    done = subprocess.run(
        ["sh", "-s", "1", str(out)], input=SCRIPT, text=True, capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(call("diagnose", out, "--json").out)
    assert [host["kernel"] is not None for host in document["hosts"]] == [True]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["here.txt"]


def test_the_script_survives_a_machine_without_tools(tmp_path: Path) -> None:
    """Such as a small router: no ss, ip, nstat, tc or sysctl. What there is, is still gathered."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cat", "grep", "sed", "sort", "head", "tail", "uname", "date", "sleep", "rm", "dmesg"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    out = tmp_path / "out.txt"
    shell = shutil.which("sh")
    assert shell is not None
    subprocess.run(
        [shell, "-s", "0", str(out)], input=SCRIPT, text=True, check=True, env={"PATH": str(tools)}, timeout=60
    )
    assert "TcpExt:" in out.read_text()


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("healthy-unequal-paths", True),
        ("no-endpoint", True),
        ("slow-path-holds-the-window", False),
    ],
)
def test_a_scenario_replays_it_or_says_that_it_does_not(call: Call, tmp_path: Path, name: str, within: bool) -> None:
    out = tmp_path / "replay.toml"
    done = call("diagnose", DATA / name, "--scenario", out)
    assert done.status == 0
    assert ("observed" in done.out, "NOT the same within 15 %" in done.out) == (True, not within)
    assert f"next: mptcplab advise {out}" in done.out
    paths = out.read_text(encoding="utf-8").count("[link.")
    assert ("advised for Linux: " in done.out) == (within and paths > 1)
    assert Scenario.load(out).document.connections.keys() == {"observed"}


def test_nobody_elses_file_is_overwritten(call: Call, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("mine")
    for out in (mine, tmp_path / "nowhere" / "x.toml"):
        done = call("diagnose", DATA / "no-endpoint", "--scenario", out)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"error: --scenario {out}: ")
    assert mine.read_text() == "mine"


def test_the_script_writes_to_nothing_that_is_there(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("mine")
    done = subprocess.run(
        ["sh", "-s", "0", str(out)], input=SCRIPT, text=True, capture_output=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert out.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]


def test_no_scenario_without_a_sender(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "replay.toml"
    done = call("diagnose", DATA / "no-endpoint" / "client.txt", "--scenario", out)
    assert done.status == 1
    assert "no scenario was written: no sender" in done.out
    assert not out.exists()
