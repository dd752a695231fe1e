"""Figures for a paper: what tells lines apart without colour, widths, files, one legend, transfers."""

from pathlib import Path

import mptcplab
import pytest
import vl_convert
from mptcplab import Result, Scenario, plots
from mptcplab.plots import style

FLOWS = {
    "kind": "flows",
    "size": {"distribution": "pareto", "mean": "57 kB", "shape": 1.5},
    "arrivals": {"distribution": "poisson", "rate": "20 /s"},
}


@pytest.fixture(scope="module")
def two() -> Result:
    """Two runs of two controls."""
    return mptcplab.run(Scenario.load("wifi-lte").with_({"measure.warmup": "1 s"}, duration="3 s"), repeat=2)


def test_on_paper_paths_differ_by_dash_and_marker(two: Result) -> None:
    printed, shown = (two.plot.windows(theme).to_dict() for theme in ("print", "light"))  # type: ignore[arg-type]
    (lines, *_) = [layer for layer in printed["vconcat"][0]["layer"] if layer["mark"]["type"] == "line"]
    (points,) = [layer for layer in printed["vconcat"][0]["layer"] if layer["mark"]["type"] == "point"]
    dashes, shapes = lines["encoding"]["strokeDash"]["scale"]["range"], points["encoding"]["shape"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == len(set(shapes)) == 2
    assert all(layer["mark"]["type"] != "point" for layer in shown["vconcat"][0]["layer"])
    marks = style.series_marks(map(str, range(24)))
    assert len({(mark.colour, mark.dash) for mark in marks.values()}) == 24


@pytest.mark.parametrize("theme", ["light", "print"])
def test_each_control_is_once_in_the_legend_of_runs(two: Result, theme: style.Theme) -> None:
    drawing = vl_convert.vegalite_to_svg(two.plot.runs(theme).to_dict())
    assert drawing.count(">lia<") == 1
    assert drawing.count(">reno<") == 1


def test_widths_of_one_and_of_two_columns_and_a_pdf(two: Result, tmp_path: Path) -> None:
    widths = []
    for width in ("column", "page"):
        drawing = vl_convert.vegalite_to_svg(two.plot.windows("print", width=width).to_dict())  # type: ignore[arg-type]
        widths.append(float(drawing.partition('width="')[2].partition('"')[0]))
    assert widths[0] == pytest.approx(252, abs=10)
    assert widths[1] == pytest.approx(516, abs=10)
    two.plot.windows("print").save(tmp_path / "windows.pdf")
    assert (tmp_path / "windows.pdf").read_bytes().startswith(b"%PDF")


def test_titles_of_axes_are_larger_than_notes_in_the_plot() -> None:
    for theme in ("light", "print"):
        config = style.themed(theme)  # type: ignore[arg-type]
        assert config["axis"]["titleFontSize"] > config["text"]["fontSize"]


def test_transfers_have_a_distribution_that_is_theirs() -> None:
    changes = {"measure.warmup": "0 s", "connection.download.application": FLOWS}
    result = mptcplab.run(Scenario.load("two-equal-paths").with_(changes, duration="3 s"))
    drawn = result.plot.transfers().to_dict()
    rows = drawn["datasets"]["points-0"]
    times = sorted(result.transfers["time_s"].to_list())
    assert [row["value"] for row in rows][1:] == times
    assert [row["part"] for row in rows] == pytest.approx([at / len(times) for at in range(len(times) + 1)])
    assert len(drawn["datasets"]["points-1"]) == len(times)
    assert "Times of transfers" in result.report()
    with pytest.raises(ValueError, match="no figure 'transfers'"):
        mptcplab.run(Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")).plot.transfers()


def test_texts_of_results_have_ten_lines_at_most(two: Result) -> None:
    many = Scenario.load("two-equal-paths").to_dict()
    many["connection"] = {f"c{at}": {"paths": ["left"], "protocol": "tcp"} for at in range(20)}
    many |= {"duration": "1 s", "measure": {"warmup": "0 s"}}
    texts = [repr(each) for each in (two, mptcplab.run(Scenario.from_dict(many)), mptcplab.predict([0.01], [0.02]))]
    assert all(len(text.splitlines()) <= 10 for text in texts)
    assert "download: " in texts[0]
    assert "… and 13 more" in texts[1]
    assert "packets/s" in texts[2]
    assert "<table>" in mptcplab.predict([0.01, 0.02], [0.02, 0.02], mss=1460)._repr_html_()


@pytest.mark.parametrize(
    ("control", "titles"),
    [("olia", ["OLIA alpha"]), ("bbr", ["Bandwidth", "Path RTT", "State"])],
)
def test_what_a_control_records_is_called_as_people_write_it(control: str, titles: list[str]) -> None:
    brief = ["duration=2 s", "measure.warmup=0 s", "event=[]", f"connection.download.congestion={control}"]
    drawn = plots.figures(mptcplab.run(Scenario.load("wifi-lte", brief)))
    assert [figure.title for figure in drawn][3 : 3 + len(titles)] == titles
