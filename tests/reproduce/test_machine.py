"""What a work ran on: the file, two readings of it, and a repetition that judges by both."""

import json
import re
from pathlib import Path

import pytest
from mptcplab.reproduce import Claim, Number, causes, judged, load_paper, machine
from mptcplab.reproduce.machine import Entry, Machine, MachineError, Reading
from mptcplab.reproduce.repeat import repeat

FILE = """
[[entry]]
id = "rate"
name = "Rate"
value = 10
text = 5
unit = "Mbit/s"
source = "digit"
why = "9.5 of them arrive"

[[entry]]
id = "kernel"
name = "Kernel"
value = "Linux 4.1"
source = "text"
why = "page 2"
here = "no kernel"
"""

STUDY = """
from mptcplab.reproduce import Claim, Context, Number, Outcome, mean_of

from .network import scenario


def table_1(context: Context) -> Outcome:
    rate = context.machine["rate"]
    runs = context.run_many([({"rate": rate}, scenario(rate), seed) for seed in (1, 2, 3)])
    found = mean_of(runs.connections["goodput_bps"].to_list()) / 1e6
    published = context.published["goodput"]
    cause = "setting: nobody says the rate."
    return Outcome(
        [
            Claim("goodput", "TCP gets 9.5 Mbit/s", published, found, Number(published, found), cause),
            Claim("half", "Half of it", 1.0, found, Number(1.0, found), cause),
        ]
    )


def figure_2(context: Context) -> Outcome:
    return Outcome([Claim("grows", "It grows", None, "it does", Number(1.0, 1.0, half=0))])


ITEMS = {"table-1": table_1, "figure-2": figure_2}
"""


def test_a_file_and_what_is_wrong_with_one(tmp_path: Path) -> None:
    file = tmp_path / machine.FILE
    assert machine.read(file) == Machine()
    file.write_text(FILE)
    read = machine.read(file)
    assert read.entries["rate"].shown(read.entries["rate"].value) == "10 Mbit/s"
    assert read["kernel"] == "Linux 4.1"
    with pytest.raises(MachineError, match="two readings"):
        read["rate"]
    for old, new, said in (
        ('source = "digit"', 'source = "guess"', 'entry.0.source: found "guess"; expected "text", "digit"'),
        ('why = "page 2"', "", "entry.1.why: found nothing"),
        ('id = "kernel"', 'id = "rate"', 'entry.1.id: found "rate" twice'),
        ("text = 5", "text = 10", "entry.0.text: found the value itself"),
        ('name = "Rate"', 'nam = "Rate"', "entry.0.nam: found an unknown key"),
        ("value = 10", "value = [1]", "entry.0.value: found"),
        ("[[entry]]", "[entries]", "entries: found an unknown key"),
        ("value = 10", "value =", "machine.toml: Invalid value"),
    ):
        assert old in FILE
        file.write_text(FILE.replace(old, new, 1))
        with pytest.raises(MachineError, match=re.escape(said)):
            machine.read(file)


def test_a_reading_notes_what_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / machine.FILE).write_text(FILE)
    read = machine.read(tmp_path / machine.FILE)
    ran, text = Reading(read), Reading(read, by_text=True)
    assert (ran["kernel"], ran.has_two) == ("Linux 4.1", False)
    assert (ran["rate"], text["rate"], text["kernel"]) == (10, 5, "Linux 4.1")
    assert ran.has_two
    assert ran.asked == {"kernel", "rate"}
    assert Entry("a", "A", value=True, source="text", why="x").shown(value=True) == "yes"


def test_both_readings_are_judged_and_recorded(paper_directory: Path, tmp_path: Path) -> None:
    (paper_directory / machine.FILE).write_text(FILE)
    (paper_directory / "study" / "__init__.py").write_text(STUDY)
    published = paper_directory / "published.toml"
    published.write_text(published.read_text().replace("year = 2013", 'year = 2013\nprincipal = ["table-1/half"]'))
    paper = load_paper(paper_directory.name)
    repetition = repeat(paper, tmp_path / "out", jobs=1)
    first, second = repetition.done
    assert second.by_text is None, "it asks for nothing that has two readings"
    goodput = first.outcome.claims[0]
    by_text = first.by_the_text(goodput)
    assert by_text is not None
    assert (goodput.verdict, by_text.verdict) == ("holds", "differs")
    assert float(goodput.found) == pytest.approx(2 * float(by_text.found), rel=0.02)
    assert repetition.by_text() == {"holds": 1, "holds in part": 0, "not known precisely": 0, "differs": 2}
    assert "by the text alone 1 hold, 2 differ" in repetition.summary()
    assert [claim.id for _, claim in repetition.principal()] == ["half"]
    # Nothing of three runs at another seed is random: the verdict is known, and its cause has a kind.
    assert repetition.by_cause() == [(causes.KINDS["setting"], [("differs", "differ", 1)])]
    frame = repetition.claims
    assert frame["verdict_by_text"].to_list() == ["differs", "differs", ""]
    recorded = judged.read(tmp_path / "out" / judged.FILE)
    assert recorded[0].by_text is not None
    assert recorded[0].by_text.verdict == "differs"
    assert json.loads((tmp_path / "out" / judged.FILE).read_text())[1]["cause"] == "setting"
    page = (tmp_path / "out" / "report.html").read_text()
    for said in ("The machine", "printed digits: 9.5 of them arrive", "no kernel", "by the text alone", "Nobody says"):
        assert said in page, said


def test_a_quick_repetition_has_one_reading(paper_directory: Path, tmp_path: Path) -> None:
    (paper_directory / machine.FILE).write_text(FILE)
    (paper_directory / "study" / "__init__.py").write_text(STUDY)
    repetition = repeat(load_paper(paper_directory.name), tmp_path / "out", quick=True, jobs=1)
    assert repetition.by_text() == {}


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        ("chance: one run.", "chance", "One run."),
        ("Nothing is said.", "unknown", "Nothing is said."),
        ("queue: a kind that there is not", "unknown", "queue: a kind that there is not"),
    ],
)
def test_a_cause_has_a_kind(cause: str, kind: str, text: str) -> None:
    assert (causes.kind_of(cause), causes.text_of(cause)) == (kind, text)
    assert Claim("a", "", 1, 2, Number(1, 2), cause).cause_kind == kind
    assert Claim("a", "", 1, 1, Number(1, 1), cause).cause_kind == ""
    assert Claim("a", "", 1, 1, Number(1, 1.2, half=0.5), cause).cause_kind == "chance"


def test_the_numbers_of_a_text_are_those_that_are_no_references() -> None:
    text = "As in figure 3.4 and RFC 6298, Linux 4.1 and table 5.3: ρ is −0.31, 12 % of 1,024 networks, equation 6.1."
    assert causes.figures(text) == ["-0.31", "12", "1024"]
