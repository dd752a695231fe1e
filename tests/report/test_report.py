"""The HTML report: complete, offline, small."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from mptcplab import Result, Scenario, run
from mptcplab.plots import series


class Page(HTMLParser):
    """What a browser would load, the ids, and the text outside of scripts."""

    LOADS = ("src", "href", "data", "action", "poster", "srcset", "formaction", "background")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        for name, value in attrs:
            if name in self.LOADS and value is not None:
                self.loads.append((tag, value))
            if name == "id" and value is not None:
                self.ids.append(value)

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


def plots_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_loads_nothing(result: Result) -> None:
    page = Page(result.report())
    assert page.loads, "the parser sees the links within the page"
    assert [load for load in page.loads if not load[1].startswith("#")] == []


def test_styles_and_data_load_nothing(result: Result) -> None:
    page = result.report()
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert '"url"' not in json.dumps([panel["spec"] for panel in plots_of(page)["panels"]])


def test_the_browser_is_told_to_load_nothing(result: Result) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', result.report())
    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    assert "http" not in policy[1]
    assert "*" not in policy[1]


def test_the_drawing_code_stands_in_the_page_once(result: Result) -> None:
    page = result.report()
    assert page.count("window.vegaEmbed=") == 1
    assert page.count("<script") == page.count("</script>") == 3


def test_every_section_is_there(result: Result) -> None:
    page = Page(result.report())
    assert {"results", "goodput", "windows", "rtts", "queues", "scenario", "provenance"} <= set(page.ids)
    for text in ("Two paths and a neighbour", 'rate = "25 Mbit/s"', result.provenance.scenario_sha256, "neighbour 1"):
        assert text in page.text
    assert {target[1:] for _, target in page.loads} <= set(page.ids), "every link within the page leads somewhere"


def test_every_panel_has_its_place_and_its_data(result: Result) -> None:
    page = result.report()
    panels = plots_of(page)["panels"]
    # Goodput, windows and RTTs of two kinds of connection, queues of two links.
    assert [panel["file"] for panel in panels] == ["goodput"] * 2 + ["windows"] * 2 + ["rtts"] * 2 + ["queues"] * 2
    assert [f"plot-{number}" in Page(page).ids for number in range(len(panels))] == [True] * 8
    for panel in panels:
        lengths = {len(column) for column in panel["data"]["points"].values()}
        assert len(lengths) == 1
        assert lengths != {0}


def test_goodput_of_several_connections_is_their_sum(result: Result) -> None:
    points = plots_of(result.report())["panels"][1]["data"]["points"]
    # Two neighbours; the made-up goodput of a first subflow is 5 + sin t Mbit/s, 5.0998 at 0.1 s.
    assert points["t"][0] == 0.1
    assert points["value"][0] == pytest.approx(2 * 5.0998, rel=1e-3)


def test_several_runs_get_a_figure_of_their_own(scenario: Scenario, made_up_core: None) -> None:
    page = run(scenario, repeat=3).report()
    assert "Goodput over the runs" in page
    assert plots_of(page)["panels"][0]["file"] == "runs"
    assert "Run 0, seed 7." in page, "it says which run the time series are of"


def test_long_runs_are_thinned_and_it_says_so(scenario: Scenario, made_up_core: None) -> None:
    long = run(scenario.with_("duration=300 s", "measure.sample=10 ms"))
    assert long.samples.height == 30_000 * 8
    page = long.report()
    assert len(page.encode()) < 5_000_000
    assert re.search(r"Each point is the mean of up to \d+ samples", page)
    assert re.search(r"Each point is the largest of up to \d+ samples", page)
    for panel in plots_of(page)["panels"]:
        assert len(panel["data"]["points"]["t"]) <= series.ROWS + 10


def test_short_runs_are_not_thinned(result: Result) -> None:
    assert "Each point is" not in result.report()


def test_names_cannot_break_out_of_the_page(scenario: Scenario, made_up_core: None) -> None:
    evil = scenario.with_('title="</script><script>alert(1)</script>"')
    page = run(evil).report()
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == 3


def test_equal_results_give_equal_pages(scenario: Scenario, made_up_core: None) -> None:
    assert run(scenario).report() == run(scenario).report()
