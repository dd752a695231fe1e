"""What was gathered on real hosts in each situation (studies/diagnose), and the cause that is named: no root needed."""

from pathlib import Path

import pytest
from mptcplab.diagnose import printing, report, rules
from mptcplab.diagnose.causes import CAUSES
from mptcplab.diagnose.diagnosis import Diagnosis, diagnose

from studies.diagnose import faults, right
from studies.diagnose.situations import ALL, HEALTHY, WRONG

DATA = Path(__file__).with_name("data")
BY_NAME = {each.name: each for each in ALL}


def of(name: str, *ends: str) -> Diagnosis:
    return diagnose([str(DATA / name / f"{end}.txt") for end in ends])


def test_there_is_a_recording_of_each() -> None:
    assert {folder.name for folder in DATA.iterdir()} == set(BY_NAME)
    assert len(WRONG) >= 30
    assert len(HEALTHY) >= 10


@pytest.mark.parametrize("name", BY_NAME)
def test_the_cause_is_named_and_no_other(name: str) -> None:
    found = of(name, "client", "server")
    assert right(BY_NAME[name], found), sorted(each.cause for each in found.findings)
    assert found.reading.unread_count == 0
    assert found.reading.unknown_fields == {}


@pytest.mark.parametrize("end", ["client", "server"])
@pytest.mark.parametrize("name", BY_NAME)
def test_one_host_alone_never_names_another_cause(name: str, end: str) -> None:
    """It may not know; then it says so, and what to ask. What is only likely may be less than what both hosts show."""
    found = of(name, end)
    sure = {each.cause for each in found.findings if CAUSES[each.cause].fault and each.sure}
    cause = BY_NAME[name].cause
    assert sure <= ({cause} | LESS.get(cause, set()) if cause else set())
    assert all(each.next for each in found.findings)
    if cause is None:
        assert faults(found) == set()


LESS: dict[str | None, set[str]] = {
    "nat-rebinding": {"reset", "path-dead"},
    "cpu": {"receive-window", "application-reads"},
    "application-reads": {"receive-window"},
    "options-stripped": {"peer-without-mptcp"},
}
"""What one end sees of it."""


@pytest.mark.parametrize("name", [each.name for each in WRONG])
def test_every_statement_has_its_line_and_what_to_do(name: str) -> None:
    found = of(name, "client", "server")
    texts = {
        f"{end}.txt": (DATA / name / f"{end}.txt").read_text(encoding="utf-8").splitlines()
        for end in ("client", "server")
    }
    for finding in found.findings:
        assert finding.evidence
        assert finding.next
        for line in finding.evidence:
            assert line.text == texts[line.source][line.number - 1]


def test_every_cause_has_one_rule_and_every_rule_a_cause() -> None:
    named = [rule.__name__.replace("_", "-") for rule in (*rules.PATHS, *rules.RATES, *rules.UNTOLD)]
    only_packets_tell = ["receiver-stuck"]
    assert sorted(named + only_packets_tell) == sorted(CAUSES)
    assert all(cause.means and cause.source for cause in CAUSES.values())


def test_connections_are_told_with_their_paths() -> None:
    document = report.document(of("healthy-unequal-paths", "client", "server"))
    (connection,) = document["connections"]
    assert (connection["protocol"], connection["client"], connection["sender"]) == ("mptcp", "client", "server")
    paths = {each["remote"].partition(":")[0]: each for each in connection["subflows"]}
    # 25 Mbit/s with 24 ms and 15 Mbit/s with 64 ms.
    assert paths["10.0.0.1"]["rate_bps"] == pytest.approx(25e6 * 1400 / 1500, rel=0.05)
    assert paths["10.0.1.1"]["rate_bps"] == pytest.approx(15e6 * 1400 / 1500, rel=0.05)
    assert [paths[each]["min_rtt_ms"] for each in ("10.0.0.1", "10.0.1.1")] == pytest.approx([24, 64], abs=1)
    assert [paths[each]["role"] for each in ("10.0.0.1", "10.0.1.1")] == ["first", "joined"]
    text = "\n".join(printing.lines(document))
    assert "endpoint 10.0.1.1 on path1, id 1: subflow" in text
    assert "2 further subflows" in text


def test_the_page_has_all_causes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnose.md").read_text(encoding="utf-8")
    for cause in CAUSES.values():
        assert f"| `{cause.name}` | {cause.means}{'' if cause.fault else ' (no fault)'} |" in page
    made = {each.cause for each in WRONG}
    assert made | {None} == {each.cause for each in ALL}
    assert {name for name, cause in CAUSES.items() if cause.fault} - made == {
        "join-unknown",
        "join-hmac",
        "receiver-stuck",
    }
