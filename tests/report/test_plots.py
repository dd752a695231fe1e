"""Colours, forms and the static copies."""

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import altair as alt
import polars as pl
import pytest
from mptcplab import Result, Scenario, connection, link, plots, registry, run
from mptcplab.plots import panels, style

LIGHT, DARK = "#FFFFFF", "#14171B"


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)


def test_every_algorithm_has_a_colour_and_a_marker() -> None:
    for one, two in combinations(style.ALGORITHMS, 2):
        assert style.algorithm(one).colour != style.algorithm(two).colour
        assert style.algorithm(one).shape != style.algorithm(two).shape
    fixed = {mark.colour for mark in style.ALGORITHMS.values()}
    for name in (*registry.names("congestion"), "gentle", "mine", "theirs", ""):
        mark = style.algorithm(name)
        assert mark == style.algorithm(name)
        assert (mark.colour in fixed) == (name in style.ALGORITHMS)


def test_no_two_of_our_own_algorithms_look_alike() -> None:
    names = {*registry.names("congestion"), *registry.names("schedulers")}
    assert len({style.algorithm(name) for name in names}) == len(names)


@pytest.mark.parametrize("page", [LIGHT, DARK])
def test_every_colour_can_be_seen_on_both_pages(page: str) -> None:
    colours = [mark.colour for mark in style.ALGORITHMS.values()]
    colours += [style.algorithm(f"name {number}").colour for number in range(100)]
    colours += [*style.path_colours(f"path {number}" for number in range(7)).values(), panels._INK]
    assert min(contrast(colour, page) for colour in colours) >= 3, "what WCAG asks of graphics"


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_every_colour_can_be_seen_in_every_theme(theme: style.Theme) -> None:
    ink, page = style.PAGES[theme]
    colours = [mark.colour for mark in style.ALGORITHMS.values()] + list(style.path_colours("abcdef").values())
    assert min(contrast(colour, _hex(page)) for colour in colours) >= 3
    assert contrast(ink, _hex(page)) >= 7, "text"


def _hex(page: str) -> str:
    return "#FFFFFF" if page == "white" else page


def test_a_path_and_a_link_of_one_name_share_a_colour_and_order_decides() -> None:
    colours = style.path_colours(["wifi", "lte", "wifi", "shared"])
    assert list(colours) == ["wifi", "lte", "shared"]
    assert colours["wifi"] == style.path_colours(["wifi"])["wifi"]
    assert len(set(colours.values())) == 3


def test_more_paths_than_colours_stay_apart() -> None:
    names = [f"path {number}" for number in range(24)]
    colours, lines = style.path_colours(names), style.path_lines(names)
    assert len(set(list(colours.values())[:6])) == 6
    assert len({(colours[name], lines[name].dash) for name in names}) == 24
    assert len({(colours[name], lines[name].shape) for name in names}) == 24


def test_a_run_over_seven_paths_draws_each_in_its_own_way(made_up_core: None) -> None:
    paths = [f"p{number}" for number in range(7)]
    scenario = Scenario.build(
        duration="2 s",
        links={path: link(rate="10 Mbit/s", delay="10 ms") for path in paths},
        connections={"m": connection(paths)},
    )
    of_windows = next(figure for figure in plots.figures(run(scenario)) if figure.name == "windows")
    lines = next(layer for layer in of_windows.panels[0].spec["layer"] if layer["mark"]["type"] == "line")
    channels = [lines["encoding"][channel]["scale"] for channel in ("color", "strokeDash")]
    assert [scale["domain"] for scale in channels] == [paths, paths]
    assert len(set(map(str, zip(*(scale["range"] for scale in channels), strict=True)))) == 7
    points = next(layer for layer in of_windows.panels[0].spec["layer"] if layer["mark"]["type"] == "point")
    assert len(set(points["encoding"]["shape"]["scale"]["range"])) == 2


def test_every_form_is_valid_vega_lite() -> None:
    """`figures` leaves validation out for speed; here each form is validated."""
    frame = panels.Frame(10.0, 1.0, ((2.0, "wifi: goes down"), (9.9, "wifi: comes back")))
    points = pl.DataFrame({"t": [1.0, 2.0], "series": ["wifi", 'we"ird.[0]'], "value": [1.0, 2.0]})
    colours = {"wifi": "#0072B2", 'we"ird.[0]': "#E69F00"}
    strip = pl.DataFrame({"connection": ["a", "b"], "congestion": ["lia", "reno"], "seed": [1, 1], "value": [1.0, 2.0]})
    for chart in (
        panels.stacked("title", "goodput (Mbit/s)", frame, points, colours),
        panels.stacked("title", "goodput (Mbit/s)", frame, points, colours, style.path_lines(colours)),
        panels.lines("title", "window (segments)", frame, points, colours, marks=style.path_lines(colours)),
        panels.lines("title", "window (segments)", frame, points, colours),
        panels.lines("title", "queue (packets)", frame, points, colours, dash=True),
        panels.runs_strip(strip),
    ):
        assert isinstance(chart, alt.TopLevelMixin)
        assert chart.to_dict(validate=True)


def test_every_axis_has_a_unit(scenario: Scenario, made_up_core: None) -> None:
    for figure in plots.figures(run(scenario, repeat=2)):
        for panel in figure.panels:
            titles = set()
            for layer in panel.spec["layer"]:
                for channel in ("x", "y"):
                    titles.add(layer["encoding"].get(channel, {}).get("title"))
            titles -= {None}
            assert titles, figure.name
            assert all("(" in title for title in titles), titles


def test_events_and_warm_up_are_marked(result: Result) -> None:
    (goodput, *_) = plots.figures(result)
    text = str(goodput.panels[0].spec)
    assert "warm-up" in text
    assert "wifi: 10 Mbit/s" in text


def test_event_names_do_not_overlap() -> None:
    crowded = panels.Frame(30.0, 0.0, tuple((10 + 0.1 * number, "wifi: goes down") for number in range(5)))
    assert len(panels._named_events(crowded)) == 1
    late = panels.Frame(30.0, 0.0, ((29.0, "wifi: goes down"),))
    assert panels._named_events(late) == [(29.0, "wifi: goes down", "right")]


def test_static_copies_are_pictures(result: Result, tmp_path: Path) -> None:
    plots.write_static(plots.figures(result), tmp_path)
    names = {file.name for file in tmp_path.glob("*.*") if file.suffix != ".toml"}
    assert names == {f"{name}.{kind}" for name in ("goodput", "windows", "rtts", "queues") for kind in ("png", "svg")}
    for file in tmp_path.glob("*.png"):
        assert file.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    for file in tmp_path.glob("*.svg"):
        drawing = file.read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
        assert "NaN" not in drawing
    goodput = (tmp_path / "goodput.svg").read_text(encoding="utf-8")
    for text in ("download: MPTCP, lia", "goodput (Mbit/s)", "time (s)", "wifi", "lte"):
        assert text in goodput
