"""The book of cases: every case holds on the simulator, and the page says what the folder and the last results say."""

from pathlib import Path

import pytest
from mptcplab.casebook import CaseError, case_names, load, run
from mptcplab.cli import invoke

from tools.cases import __main__ as tools

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", case_names())
def test_a_case_holds_on_the_simulator(name: str) -> None:
    for verdict in run(load(name)):
        assert verdict.holds, f"{verdict.check.says}: found {verdict.found}, {verdict.relation} {verdict.bound}"


def test_the_page_is_of_the_folder_and_the_results() -> None:
    assert tools.PAGE.read_text(encoding="utf-8") == tools.page(), "python -m tools.cases page"
    assert set(tools.results()["sim"]["cases"]) == set(case_names()), "python -m tools.cases run"


CASE = """
title = "t"
topic = "buffers"
question = "q"
source = { url = "https://example.org/1", date = 2024-01-01 }
observed = "o"
answer = "a"
[variant.tcp]
title = "TCP"
set = { "connection.m.protocol" = "tcp" }
[[check]]
says = "s"
what = "m.goodput_bps"
at_least = 1.0
"""
SCENARIO = """
duration = "1 s"
[link.a]
rate = "1 Mbit/s"
delay = "1 ms"
[connection.m]
paths = ["a"]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('topic = "buffers"', 'topic = "bufers"', "topic"),
        ("at_least = 1.0", "at_least = 1.0\nat_most = 2.0", "expected one"),
        ("at_least = 1.0", 'at_least = { variant = "udp" }', "found the variant 'udp'"),
        ('"tcp" }', '"sctp" }', "sctp"),
        ("set = {", 'without = ["connection.m.mss"]\nset = {', "expected a key of the scenario"),
        ("date = 2024-01-01", 'date = "soon"', "source.date"),
        ('title = "t"', "title = ", "case.toml"),
        ('what = "m.goodput_bps"', 'what = "goodput"', "what"),
    ],
)
def test_what_is_wrong_with_a_case_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    assert load("c", tmp_path).name == "c"
    assert CASE.count(old)
    (tmp_path / "case.toml").write_text(CASE.replace(old, new), encoding="utf-8")
    with pytest.raises(CaseError, match=said):
        load("c", tmp_path)


def test_a_value_that_there_is_not_is_said(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "case.toml").write_text(CASE.replace("m.goodput_bps", "m.good"), encoding="utf-8")
    with pytest.raises(CaseError, match=r"found nothing called 'm\.good'"):
        run(load("c", tmp_path), seeds=1)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["case", "list"]) == 0
    assert "slow-tunnel" in capsys.readouterr().out
    assert invoke(["case", "show", "slow-tunnel"]) == 0
    assert "Asked at https://" in capsys.readouterr().out
    assert invoke(["case", "run", "short-transfer", "--repeat", "1", "--json"]) == 0
    assert '"holds": true' in capsys.readouterr().out
    assert invoke(["case", "run", "no-such-case"]) == 2
    assert "mptcplab case list" in capsys.readouterr().err
