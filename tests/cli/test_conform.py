"""The command `conform`: its table, its counts and its exit status."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

HEAD = "requires: RFC 9293 §3.10.7.2 MUST\nsays: a test.\n"
SYN = "listen\n< syn seq=0\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "good.case").write_text(HEAD + SYN + "> synack seq=0 ack=1\n", encoding="utf-8")
    (tmp_path / "known.case").write_text(HEAD + "departs transport: so it is\n" + SYN + "> ack\n", encoding="utf-8")
    return tmp_path


def test_cases_that_are_met_and_known_departures_are_counted(call: Call, cases: Path) -> None:
    done = call("conform", "--cases", cases)
    assert (done.status, done.err) == (0, "")
    assert "transport: 2 cases: 1 met, 1 known departures" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("known"))
    assert "departs" in row
    assert "so it is" in row
    assert not any(line.startswith("good") for line in done.out.splitlines())


def test_a_failure_is_an_exit_status(call: Call, cases: Path) -> None:
    (cases / "bad.case").write_text(HEAD + SYN + "> synack ack=2\n", encoding="utf-8")
    done = call("conform", "--cases", cases)
    assert done.status == 1
    assert "ack is 1" in done.out
    rows = json.loads(call("conform", "bad", "--cases", cases, "--json").out)
    assert [(row["case"], row["transport"]["word"], row["transport"]["line"]) for row in rows] == [("bad", "failed", 5)]


def test_a_file_that_says_nothing_is_named_with_its_line(call: Call, cases: Path) -> None:
    (cases / "bad.case").write_text(HEAD + "lisen\n", encoding="utf-8")
    done = call("conform", "--cases", cases)
    assert done.status == 2
    assert f"{cases}/bad.case:3: found “lisen”, expected " in done.err


def test_a_filter_that_fits_nothing(call: Call, cases: Path) -> None:
    assert call("conform", "nothing", "--cases", cases).status == 2


@pytest.mark.skipif(
    not os.environ.get("MPTCPLAB_REQUIRE_LIVE") and (os.geteuid() != 0 or not Path("/dev/net/tun").exists()),
    reason="Linux is judged as root, with TUN devices",
)
def test_linux_is_judged_beside_ours(call: Call) -> None:
    done = call("conform", "tcp/closed", "--against", "both", "--all")
    assert done.status == 0, done.out
    row = next(line for line in done.out.splitlines() if line.startswith("tcp/closed/syn "))
    assert row.split()[-2:] == ["met", "met"]
