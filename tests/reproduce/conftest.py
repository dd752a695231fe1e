"""A paper of two items, for the tests of what repeats papers."""

from pathlib import Path

import pytest
from mptcplab.reproduce import papers

PUBLISHED = """
title = "On <two> paths"
authors = ["A. Author", "B. Author"]
year = 2013

[[item]]
id = "table-1"
kind = "table"
number = "I"
page = 5
caption = "Goodput"

[[item.value]]
key = "goodput"
number = 9.5
unit = "Mbit/s"

[[item.value]]
key = "half"
number = 1.0

[[item]]
id = "figure-2"
kind = "figure"
number = 2
page = 6
caption = "Goodput over the rate"

[[item.statement]]
id = "grows"
text = "Goodput grows with the rate."
"""

STUDY = """
import altair as alt
from mptcplab.reproduce import Claim, Context, Number, Outcome, steps

from .network import scenario


def table_1(context: Context) -> Outcome:
    runs = context.run_many([({"rate": 10}, scenario(10), seed) for seed in (1, 2)])
    found = runs.connections["goodput_bps"].mean() / 1e6
    published = context.published["goodput"]
    claims = [
        Claim("goodput", "TCP gets 9.5 Mbit/s of 10", published, found, Number(published, found)),
        Claim("half", "Half of it", context.published["half"], found, Number(1.0, found), cause="It is <made> up."),
    ]
    return Outcome(claims, tables=[("Every run", runs.connections)], notes=["A note."])


def figure_2(context: Context) -> Outcome:
    rates = (5, 10) if context.quick else (5, 10, 15)
    runs = context.run_many([({"rate": rate}, scenario(rate), 1) for rate in rates])
    points = runs.connections.select("rate", "goodput_bps")
    check = steps(points["goodput_bps"], "rises")
    chart = alt.Chart(points).mark_point().encode(x="rate:Q", y="goodput_bps:Q")
    return Outcome([Claim("grows", "It grows", None, "it does", check, "none")], figures=[("Our points.", chart)])


ITEMS = {"figure-2": figure_2, "table-1": table_1}
"""

NETWORK = """
def scenario(rate_mbps: int) -> dict[str, object]:
    return {
        "duration": "2 s",
        "link": {"one": {"rate": f"{rate_mbps} Mbit/s", "delay": "5 ms", "queue": "50 ms"}},
        "connection": {"a": {"paths": ["one"], "protocol": "tcp", "congestion": "reno"}},
        "measure": {"warmup": "1 s"},
    }
"""


@pytest.fixture
def paper_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of papers with the paper `two-paths`; a name of its own, as a study is loaded once in a process."""
    place = tmp_path / "papers"
    name = f"two-{abs(hash(tmp_path))}"
    (place / name / "study").mkdir(parents=True)
    (place / name / "published.toml").write_text(PUBLISHED, encoding="utf-8")
    (place / name / "study" / "__init__.py").write_text(STUDY, encoding="utf-8")
    (place / name / "study" / "network.py").write_text(NETWORK, encoding="utf-8")
    monkeypatch.setattr(papers, "papers_directory", lambda: place)
    return place / name
