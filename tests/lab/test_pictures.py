"""The numbers in the pictures of README and the documentation are those that the program gives."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import mptcplab
import pytest
from mptcplab.lab.tour import STEPS
from mptcplab.scenario import Scenario

from tools.lab.pictures import NUMBERS, PLACE, SCENARIO, TOUR_STEP

SEEN: Mapping[str, Sequence[Sequence[str]]] = json.loads(NUMBERS.read_text(encoding="utf-8"))
ROOT = Path(__file__).parents[2]
READY_MADE = ROOT / "scenarios" / f"{SCENARIO}.toml"


def goodputs_mbps(scenario: Scenario) -> dict[str, float]:
    connections = mptcplab.run(scenario).connections
    return {row["name"]: row["goodput_bps"] / 1e6 for row in connections.to_dicts()}


def in_lab(picture: str, column: int) -> dict[str, str]:
    """Goodputs by connection as the page shows them."""
    rows = [row for row in SEEN[picture] if row[0].endswith(" Goodput")]
    return {row[0].removesuffix(" Goodput"): row[column] for row in rows}


def check(shown: Mapping[str, str], found: Mapping[str, float]) -> None:
    assert shown.keys() == found.keys()
    for name, text in shown.items():
        number = re.fullmatch(r"([\d.]+) Mbit/s", text)
        assert number is not None, text
        assert number[1] == f"{found[name]:.{len(number[1].partition('.')[2])}f}", "make pictures draws them anew"


def test_every_picture_has_its_numbers() -> None:
    assert {file.name for file in PLACE.glob("*.png")} - {"advise.png"} == SEEN.keys()


def test_the_report_is_that_of_the_program() -> None:
    header, *rows = SEEN["report.png"]
    place = header.index("goodput\nMbit/s")
    check({row[0]: f"{row[place]} Mbit/s" for row in rows}, goodputs_mbps(Scenario.load(READY_MADE)))


@pytest.mark.parametrize("picture", ["lab-light.png", "lab-dark.png", "lab-phone.png"])
def test_the_page_has_the_numbers_of_the_scenario(picture: str) -> None:
    check(in_lab(picture, 1), goodputs_mbps(Scenario.load(READY_MADE)))


def test_both_sides_of_the_tour_have_their_numbers() -> None:
    step = STEPS[TOUR_STEP]
    for column, changes in ((1, step.a), (2, step.b)):
        check(in_lab("lab-compare.png", column), goodputs_mbps(Scenario.from_toml(step.side(changes))))
