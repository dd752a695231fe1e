"""`mptcplab reproduce` of a made-up paper: claims, report, the journal, and what is wrong with a folder."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from mptcplab import cli
from mptcplab.reproduce import Claim, Context, Item, Number, Outcome, PaperError, Value, load_paper, problems
from mptcplab.reproduce.published import PublishedError, read
from mptcplab.sweeps.journal import Journal


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def called(*arguments: object) -> tuple[int, str, str]:
        status = cli.invoke([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return called


def test_the_command_prints_claims_and_writes_a_report(
    paper_directory: Path, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    out = tmp_path / "out"
    status, printed, said = call("reproduce", paper_directory.name, "--quick", "--out", out, "--jobs", 2)
    assert status == 0, said
    assert "2 items, 3 claims: 2 hold, 0 hold in part, 1 not enough runs, 0 differ" in printed
    assert "It is <made> up." in printed
    claims = pl.read_csv(out / "claims.csv")
    assert claims["item"].to_list() == ["table-1", "table-1", "figure-2"], "in the order of published.toml"
    assert claims["verdict"].to_list() == ["holds", "differs", "holds"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "quick: a thinner design" in page
    assert "On &lt;two&gt; paths" in page
    assert "It is &lt;made&gt; up." in page
    assert "Goodput grows with the rate." in page
    assert "simulated hours" in page
    markup = page.split("<script", 1)[0]
    assert not re.search(r'(src|href)="(?!#)', markup), "nothing is loaded"
    data = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert [chart["file"] for chart in json.loads(unescape(data[1]))["charts"]] == ["figure-2-1"]
    for name in ("figures/figure-2-1.svg", "figures/figure-2-1.png", "tables/table-1-1.csv"):
        assert (out / name).stat().st_size > 0, name
    # The run of seed 1 at 10 Mbit/s is in both items, was run once and counts once.
    assert "2 processes, 3 runs, " in printed


def test_a_second_call_runs_nothing(
    paper_directory: Path, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    out = tmp_path / "out"
    assert call("reproduce", paper_directory.name, "--item", "table-1", "--out", out)[0] == 0
    with Journal(out / "runs") as journal:
        assert len(journal) == 2
    status, printed, _ = call("reproduce", paper_directory.name, "--item", "table-1", "--out", out)
    assert status == 0
    assert "1 of 2 items" in printed
    assert "2 runs (2 of them kept from before)" in printed
    assert "quick" not in (out / "report.html").read_text(encoding="utf-8").split("<body>")[1].split("<script")[0]


def test_files_of_others_are_kept(
    paper_directory: Path, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("precious")
    arguments = ("reproduce", paper_directory.name, "--item", "table-1", "--out", out)
    status, _, said = call(*arguments)
    assert (status, "does not hold a paper's repetition" in said) == (2, True)
    assert (out / "report.html").read_text() == "precious"
    (out / "report.html").unlink()

    assert call(*arguments)[0] == 0
    (out / "mine.txt").write_text("precious")
    assert call(*arguments)[0] == 0, "a file beside the report disturbs nothing"
    table = out / "tables" / "table-1-1.csv"
    table.write_text("edited")
    status, _, said = call(*arguments)
    assert (status, "tables/table-1-1.csv" in said) == (2, True)
    assert (table.read_text(), (out / "mine.txt").read_text()) == ("edited", "precious")


def test_unknown_names_are_refused(
    paper_directory: Path, tmp_path: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    status, _, said = call("reproduce", "nobody-2001", "--out", tmp_path / "out")
    assert status == 2
    assert paper_directory.name in said
    status, _, said = call("reproduce", paper_directory.name, "--item", "table-2", "--out", tmp_path / "out")
    assert status == 2
    assert 'did you mean "table-1"?' in said
    assert not (tmp_path / "out").exists()


def test_a_study_and_its_published_items_agree(paper_directory: Path) -> None:
    text = (paper_directory / "published.toml").read_text(encoding="utf-8")
    (paper_directory / "published.toml").write_text(text.replace('"figure-2"', '"figure-3"'), encoding="utf-8")
    with pytest.raises(PaperError, match=r"only the study has figure-2; only published\.toml has figure-3"):
        load_paper(paper_directory.name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("page = 5", 'page = "five"', ':10: item.0.page: found "five"; expected the page, a whole number'),
        (
            'kind = "table"',
            'kind = "chart"',
            ':8: item.0.kind: found "chart"; expected "table", "figure", "section" or "future"',
        ),
        ("number = 9.5", 'number = "9.5"', ':15: item.0.value.0.number: found "9.5"; expected the printed number'),
        ("page = 6", "sheet = 6", 'item.1.sheet: found an unknown key "sheet"'),
        ('id = "figure-2"', 'id = "table-1"', ':23: item.1.id: found "table-1" twice; expected each once'),
        ('key = "half"', 'key = "goodput"', 'item.0.value.1.key: found "goodput" twice'),
        ('[[item.statement]]\nid = "grows"\ntext = "Goodput grows with the rate."', "", "without values or statements"),
        ('title = "On <two> paths"', "", "title: found nothing; expected the paper's title"),
        ("year = 2013", "year =", "published.toml: Invalid value (at line 4"),
    ],
)
def test_what_is_wrong_with_published_numbers_is_said(paper_directory: Path, old: str, new: str, said: str) -> None:
    file = paper_directory / "published.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PublishedError) as caught:
        read(file)
    assert said in str(caught.value)


GOOD, BAD = Number(1, 1), Number(1, 2)


def test_an_unfit_outcome_is_found_out() -> None:
    item = Item("t", "table", "1", 1, "c", {"a": Value("a", 1.0), "b": Value("b", 1.0)}, {"s": "It grows."})
    good = Outcome([Claim("a/x", "", 1, 1, GOOD, covers=("b",)), Claim("s", "", None, "", BAD, "why")])
    assert problems(item, good) == []
    bad = Outcome([Claim("a", "", 1, 2, BAD, " "), Claim("z", "", 1, 2, GOOD), Claim("z", "", 1, 2, GOOD)])
    assert problems(item, bad) == [
        "t: a differs and gives no cause",
        "t: the claim z is about z, which published.toml has not",
        "t: z twice",
        "t: the claim z is about z, which published.toml has not",
        "t: z twice",
        "t: no claim is about the published b",
        "t: no claim is about the published s",
    ]


def test_a_random_find_says_how_precisely_it_is_known() -> None:
    item = Item("t", "table", "1", 1, "c", {"a": Value("a", 1.0)})
    assert problems(item, Outcome([Claim("a", "", 1, 1, Number(1, 1, half=0.0))]), random=True) == []
    assert problems(item, Outcome([Claim("a", "", 1, 1, GOOD)]), random=True) == [
        "t: a rests on runs and states no interval (0 for a calculated value)"
    ]


def test_what_is_not_covered_says_why() -> None:
    item = Item("t", "table", "1", 1, "c", {"a": Value("a", 1.0), "b": Value("b", 1.0)})
    claim = Claim("a", "", 1, 1, GOOD)
    assert problems(item, Outcome([claim], not_covered={"b": "It needs a road."})) == []
    assert problems(item, Outcome([claim], not_covered={"b": " ", "a": "x", "z": "x"})) == [
        "t: b is not covered and gives no reason",
        "t: a is declared as not covered, but a claim is about it",
        "t: z is declared as not covered, which published.toml has not",
    ]


def test_a_label_may_not_hide_a_column(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs") as journal:
        context = Context(Item("t", "table", "1", 1, "c"), journal, tmp_path)
        with pytest.raises(ValueError, match="cannot be called 'path'"):
            context.run_many([({"path": 1}, {}, 1)])
