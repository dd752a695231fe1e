"""The page in a browser: what a person does with it, and what it is like without eyes or without a mouse."""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from axe_playwright_python.base import AXE_FILE_PATH
from mptcplab import Scenario
from playwright.sync_api import Browser, Page, expect

from tests.test_names import GROUPS, document
from tools.lab.browser import CHROMIUM, PHONE, chromium, open_page, runs, served, wait_for_details, wait_for_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None and not os.environ.get("MPTCPLAB_REQUIRE_CHROMIUM"),
        reason="no Chromium (Debian: apt-get install chromium)",
    ),
]
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page with its first run; at the end nothing may have gone wrong in it."""
    page = open_page(browser, address)
    yield page
    errors: list[str] = page.errors  # type: ignore[attr-defined]
    page.context.close()
    # A refused scenario is an error to the browser, and meant.
    assert [error for error in errors if "422" not in error] == []


def field(page: Page, key: str) -> Any:
    return page.locator(f'[data-key="{key}"]')


def slider(page: Page, key: str) -> Any:
    return field(page, key).locator("xpath=..").locator("input[type=range]")


def goodput(page: Page, name: str, column: int = 0) -> float:
    row = page.locator(".results tr", has=page.locator("th", has_text=f"{name} Goodput"))
    text = row.locator("td").nth(column).inner_text()
    number, unit = text.split(" ")
    return float(number) * {"Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1, "Gbit/s": 1e9}[unit]


def changed(page: Page, act: Any) -> None:
    """Do something and wait until its run is drawn."""
    before = runs(page)
    act()
    wait_for_run(page, before)
    page.wait_for_timeout(100)


def set_text(page: Page, key: str, text: str) -> None:
    def act() -> None:
        field(page, key).fill(text)
        field(page, key).press("Tab")

    changed(page, act)


def test_the_page_loads_nothing_from_elsewhere_and_its_address_has_no_token(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    wait_for_details(page, 1)
    own = address.split("/?")[0]
    assert all(url.startswith((own, "blob:")) for url in asked)
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""
    assert page.url.startswith(f"{own}/#s=")
    context.close()


def test_a_slider_answers_while_it_moves(page: Page) -> None:
    before = goodput(page, "download")
    knob = slider(page, "link.lte.down.rate")
    knob.focus()
    for _ in range(3):
        changed(page, lambda: page.keyboard.press("PageDown"))
    assert field(page, "link.lte.down.rate").input_value() != "30 Mbit/s"
    assert goodput(page, "download") < 0.9 * before


def test_a_and_b_are_compared(page: Page) -> None:
    changed(page, lambda: page.get_by_role("button", name="Compare with B").click())
    expect(page.locator("#difference")).to_contain_text("A and B are the same")
    assert set(page.locator(".results tbody td:last-child").all_inner_texts()) == {"="}
    changed(page, lambda: field(page, "connection.download.congestion").select_option("reno"))
    expect(page.locator("#difference table")).to_contain_text("connection.download.congestion")
    assert goodput(page, "download", 1) > goodput(page, "download", 0)
    assert goodput(page, "neighbour", 1) < goodput(page, "neighbour", 0)
    expect(page.locator(".results")).to_contain_text("▲ better")
    expect(page.locator('[data-chart="goodput"]')).to_have_count(2)
    # The seed is that of both.
    set_text(page, "seed", "9")
    assert page.locator(".results caption").inner_text().endswith("seed 9")


def test_colour_says_only_whether_the_goal_is_met(page: Page) -> None:
    changed(page, lambda: page.get_by_role("button", name="Compare with B").click())
    changed(page, lambda: field(page, "connection.download.congestion").select_option("reno"))
    coloured = page.locator(".results tr:has(td.better, td.worse) th")
    assert coloured.all_inner_texts() == ["download Goodput", "neighbour Goodput"]
    page.get_by_label("Goal of the comparison").select_option("Retransmissions")
    assert coloured.all_inner_texts() == ["download Retransmissions", "neighbour Retransmissions"]
    page.get_by_label("Goal of the comparison").select_option("none")
    assert coloured.count() == 0
    # Of what differs, only what is written: not the parameters that lia has without being asked.
    rows = page.locator("#difference tbody tr").all_inner_texts()
    assert rows == ["connection.download.congestion\tlia\treno"]
    # A difference of less than 1 % is not told as better or worse.
    changed(page, lambda: page.get_by_role("button", name="Undo").click())
    set_text(page, "link.wifi.rate", "25.02 Mbit/s")
    page.get_by_label("Goal of the comparison").select_option("Goodput")
    for text in page.locator(".results tbody td:last-child").all_inner_texts():
        number = re.match(r"[+−]([0-9.]+) %", text)
        assert ("▲" not in text and "▼" not in text) or (number is not None and float(number[1]) >= 1)


def test_tables_and_charts_are_seen_without_scrolling(browser: Browser, address: str) -> None:
    page = open_page(browser, address, size=(1440, 900))
    table = page.locator(".results").bounding_box()
    charts = [chart.bounding_box() for chart in page.locator("[data-chart]").all()]
    bottoms = [box["y"] + box["height"] for box in charts if box]
    assert table is not None
    assert table["y"] + table["height"] < 900
    assert sum(bottom < 900 for bottom in bottoms) >= 2
    changed(page, lambda: page.get_by_role("button", name="Compare with B").click())
    box = page.locator('[data-chart="goodput"][data-side="b"]').bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900
    page.context.close()


def places(page: Page) -> Any:
    """Where controls, tables and charts are on the page, however far it is scrolled."""
    return page.evaluate(
        """[...document.querySelectorAll("[data-key], [data-chart], .results, button, h1")].map((each) => {
          const box = each.getBoundingClientRect();
          return box.width ? [box.x, box.y + scrollY, box.width, box.height].map(Math.round).join(" ") : "hidden";
        })"""
    )


@pytest.mark.parametrize("size", [(1440, 900), PHONE], ids=["desk", "phone"])
def test_a_wrong_value_moves_nothing(browser: Browser, address: str, size: tuple[int, int]) -> None:
    page = open_page(browser, address, size=size)
    before = places(page)
    set_text(page, "link.wifi.rate", "25 Mbots")
    said = page.locator(f"#{field(page, 'link.wifi.rate').get_attribute('aria-describedby')}")
    expect(said).to_be_visible()
    expect(page.locator("#results")).to_have_class(re.compile("stale"))
    assert places(page) == before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    page.context.close()


def test_the_waiting_data_of_many_transfers_is_one_line_to_the_end(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(
        'title = "Many"\nduration = "20 s"\n[link.one]\nrate = "20 Mbit/s"\ndelay = "10 ms"\n[link.two]\n'
        'rate = "10 Mbit/s"\ndelay = "40 ms"\n[connection.page]\npaths = ["one", "two"]\n'
        'application = { kind = "requests", size = "400 kB" }\n',
        encoding="utf-8",
    )
    page.get_by_text("File and export").click()
    page.get_by_role("button", name="As TOML").click()
    seen = int(page.locator("html").get_attribute("data-details") or 0)
    changed(page, lambda: page.locator("#file").set_input_files(file))
    wait_for_details(page, seen + 1)
    page.locator('[data-name="waiting"] .numbers > summary').click()
    table = page.locator('[data-name="waiting"] table')
    expect(table.locator("thead th")).to_have_count(2)  # the table is filled when it opens
    assert float(table.locator("tbody tr").last.locator("th, td").first.inner_text()) > 18


def test_the_tour_opens_from_an_address(browser: Browser) -> None:
    with served("--tour") as address:
        assert address.endswith("#tour")
        page = open_page(browser, address)
        expect(page.locator(".tour")).to_have_attribute("data-step", "1")
        expect(page.locator(".results thead th")).to_have_count(4)
        page.context.close()


def test_the_tour_has_eight_steps(page: Page) -> None:
    changed(page, lambda: page.get_by_role("button", name="Guided tour").click())
    for step in range(1, 9):
        expect(page.locator(".tour")).to_have_attribute("data-step", str(step))
        expect(page.locator(".results caption")).to_contain_text(page_title(page))
        expect(page.locator(".results thead th")).to_have_count(4)
        if step < 8:
            changed(page, lambda: page.get_by_role("button", name="Next").click())
    page.locator(".tour").get_by_role("button", name="End the tour").click()
    expect(page.locator(".tour")).to_be_hidden()


def page_title(page: Page) -> str:
    return str(field(page, "title").input_value())


def test_a_file_is_opened_changed_and_taken_away(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '# Mine.\ntitle = "My own"\nduration = "4 s"\n[link.one]\nrate = "8 Mbit/s" # slow\ndelay = "5 ms"\n'
        '[connection.c]\npaths = ["one"]\n',
        encoding="utf-8",
    )
    page.get_by_text("File and export").click()
    page.get_by_role("button", name="As TOML").click()
    changed(page, lambda: page.locator("#file").set_input_files(file))
    expect(page.locator(".results caption")).to_contain_text("My own: 4 s")
    set_text(page, "link.one.rate", "6 Mbit/s")
    page.get_by_text("File and export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the TOML").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text == file.read_text(encoding="utf-8").replace("8 Mbit/s", "6 Mbit/s")
    assert Scenario.from_toml(text).title == "My own"
    page.get_by_text("File and export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="As figure: goodput, SVG").click()
    assert download.value.suggested_filename.endswith("-goodput.svg")


def test_an_error_is_at_its_control(page: Page) -> None:
    set_text(page, "link.wifi.rate", "25 Mbots")
    control = field(page, "link.wifi.rate")
    expect(control).to_have_attribute("aria-invalid", "true")
    said = page.locator(f"#{control.get_attribute('aria-describedby')}")
    expect(said).to_contain_text('no such unit as "Mbots"')
    expect(said).to_contain_text('expected a rate with its unit, such as "25 Mbit/s"')
    set_text(page, "link.wifi.rate", "25 Mbit/s")
    expect(control).not_to_have_attribute("aria-invalid", "true")
    expect(said).to_be_hidden()


def test_reload_back_undo_and_redo(page: Page) -> None:
    set_text(page, "link.wifi.delay", "50 ms")
    page.wait_for_timeout(600)
    page.reload()
    expect(field(page, "link.wifi.delay")).to_have_value("50 ms")
    changed(page, lambda: field(page, "connection.download.congestion").select_option("olia"))
    page.wait_for_timeout(600)
    changed(page, lambda: page.go_back())
    expect(field(page, "connection.download.congestion")).to_have_value("lia")
    changed(page, lambda: page.go_forward())
    expect(field(page, "connection.download.congestion")).to_have_value("olia")
    set_text(page, "link.wifi.delay", "70 ms")
    changed(page, lambda: page.get_by_role("button", name="Undo").click())
    expect(field(page, "link.wifi.delay")).to_have_value("50 ms")
    changed(page, lambda: page.get_by_role("button", name="Redo").click())
    expect(field(page, "link.wifi.delay")).to_have_value("70 ms")


def test_a_shared_address_is_the_same_state(page: Page, browser: Browser, address: str) -> None:
    set_text(page, "link.lte.down.rate", "12 Mbit/s")
    page.wait_for_timeout(600)
    other = open_page(browser, f"{address}#{page.url.split('#')[1]}")
    expect(field(other, "link.lte.down.rate")).to_have_value("12 Mbit/s")
    other.context.close()


def test_with_the_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.locator('[data-link="wifi"]').focus()
    expect(page.locator(".tip")).to_contain_text("rate 25 Mbit/s")
    page.keyboard.press("Enter")
    expect(page.locator("#link-wifi > summary")).to_be_focused()
    chart = page.locator('[data-chart="window"]')
    chart.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(chart).to_have_attribute("aria-valuenow", "9.000")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"^9 s: wifi [0-9.]+ segments, lte [0-9.]+ segments$"))
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="Whole run")).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Whole run")).to_be_hidden()
    page.locator('[data-card="event"] > summary').press("Enter")
    changed(page, lambda: page.get_by_role("button", name="Add an event").press("Enter"))
    mark = page.locator(".timeline .mark")
    mark.focus()
    changed(page, lambda: page.keyboard.press("ArrowLeft"))
    expect(mark).to_have_attribute("aria-valuetext", "14.7 s")


def test_the_numbers_of_a_chart_are_a_table(page: Page) -> None:
    page.get_by_text("Numbers of goodput").click()
    table = page.get_by_role("region", name="Numbers of Goodput").get_by_role("table")
    expect(table.locator("thead th")).to_have_text(["Time (s)", "together (Mbit/s)", "wifi (Mbit/s)", "lte (Mbit/s)"])
    assert table.locator("tbody tr").count() == 100


def test_packets_move(page: Page) -> None:
    page.get_by_role("button", name="Play packets").click()
    expect(page.locator("canvas.packets")).to_have_attribute("data-shown", re.compile("[1-9]"))
    page.get_by_role("button", name="Pause").click()
    page.locator("#handshake > summary").click()
    expect(page.locator(".sequence")).to_contain_text("MP_CAPABLE (version 1, both keys")
    expect(page.locator(".sequence")).to_contain_text("MP_JOIN (address 1, token")


def test_why_this_path_is_answered_at_the_cursor(page: Page) -> None:
    ask = page.get_by_role("button", name="Why this path?")
    expect(ask).to_be_hidden()
    chart = page.locator('[data-chart="goodput"]')
    chart.focus()
    for _ in range(20):
        chart.press("ArrowRight")
    ask.click()
    card = page.locator("#why")
    expect(card.locator("pre")).to_contain_text("download, server at")
    expect(card.locator("pre")).to_contain_text("min-rtt chooses")
    card.locator("details summary").click()
    first = card.locator(".decisions button").last
    time = first.inner_text()
    first.click()
    expect(page.locator(".readout")).to_have_text(f"at {float(time.split()[0]):.3g} s")
    assert violations(page) == []
    # What was said is about the scenario as it was.
    set_text(page, "link.wifi.rate", "15 Mbit/s")
    expect(card).to_be_hidden()


def test_a_long_run_can_be_stopped(page: Page) -> None:
    field(page, "measure.sample").fill("10 s")
    field(page, "measure.sample").press("Tab")
    field(page, "duration").fill("4000 s")
    field(page, "duration").press("Tab")
    expect(page.locator("#progress")).to_be_visible()
    changed(page, lambda: page.get_by_role("button", name="Stop").click())
    expect(page.locator("#progress")).to_be_hidden()
    changed(page, lambda: page.get_by_role("button", name="Undo").click())
    expect(page.locator(".results caption")).to_contain_text("30 s on sim")


def test_advice_is_asked_for_stopped_and_applied(page: Page, tmp_path: Path) -> None:
    """With the keyboard; what is recommended becomes B. The scenario is small, so that the advice takes a moment."""
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\nduration = "1 s"\n[link.one]\nrate = "4 Mbit/s"\ndelay = "5 ms"\n[link.two]\n'
        'rate = "4 Mbit/s"\ndelay = "5 ms"\n[connection.c]\npaths = ["one", "two"]\nscheduler = "redundant"\n',
        encoding="utf-8",
    )
    ask = page.get_by_role("button", name="Advise", exact=True)
    ask.press("Enter")
    page.get_by_role("button", name="Stop the advice").press("Enter")
    expect(page.get_by_role("progressbar", name="Progress of the advice")).to_be_hidden()
    expect(ask).to_be_focused()
    expect(page.locator(".advice")).to_have_count(0)
    page.get_by_text("File and export").click()
    page.get_by_role("button", name="As TOML").click()
    changed(page, lambda: page.locator("#file").set_input_files(file))
    ask.press("Enter")
    title = page.locator("#advice-title")
    expect(title).to_contain_text("Use ")
    label = title.inner_text().removeprefix("Use ")
    expect(page.locator("#said")).to_have_text(f"Advice: use {label}.")
    first = page.locator(".recommended").first
    expect(first.locator("dt").first).to_have_text("mean")
    assert first.locator("li").count() > 0
    stale = page.get_by_text("The scenario has changed since this advice was given.")
    expect(stale).to_be_hidden()
    changed(page, lambda: page.get_by_role("button", name=f"Apply to B: {label}", exact=True).press("Enter"))
    expect(page.locator("#side-b")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#difference table")).to_contain_text("connection.c.scheduler")
    assert goodput(page, "c", 1) > 1.5 * goodput(page, "c", 0)
    expect(stale).to_be_hidden()
    assert violations(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
    # Nothing to advise on: in the words of the command line.
    page.locator("#side-a").click()
    set_text(page, "link.one.rate", "3 Mbit/s")
    expect(stale).to_be_visible()
    changed(page, lambda: page.locator("#preset").select_option("one-link"))
    ask.press("Enter")
    expect(page.locator("#advice .wrong")).to_contain_text("found no connection with several paths")


def test_results_of_the_previous_scenario_are_marked_until_the_new_run_is_done(page: Page) -> None:
    held: list[Any] = []
    page.route("**/api/run", lambda route: held.append(route))
    before = runs(page)
    page.locator("#preset").select_option("one-link")
    results = page.locator("#results")
    expect(results).to_have_class(re.compile("earlier"))
    assert "previous scenario" in results.evaluate("each => getComputedStyle(each, '::before').content")
    assert violations(page) == []
    for each in held:
        each.continue_()
    page.unroute("**/api/run")
    wait_for_run(page, before)
    expect(results).not_to_have_class(re.compile("earlier"))


def violations(page: Page) -> list[str]:
    """Serious and critical findings of axe-core."""
    page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(("size", "dark"), [((1280, 960), False), (PHONE, True)], ids=["desk-light", "phone-dark"])
def test_nothing_serious_for_the_accessibility_checker(
    browser: Browser, address: str, size: tuple[int, int], dark: bool
) -> None:
    """On every view: the beginning, with details open, A and B, the tour, a wrong value, the file dialog."""
    page = open_page(browser, address, dark=dark, size=size)
    assert violations(page) == []
    for summary in page.locator("details:not([open]) > summary").all():
        if summary.is_visible() and summary.inner_text() != "File and export":
            summary.click()
    assert violations(page) == []
    # Nothing is wider than the page.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    changed(page, lambda: page.get_by_role("button", name="Guided tour").click())
    assert violations(page) == []
    set_text(page, "link.wifi.rate", "fast")
    page.get_by_text("File and export").click()
    assert violations(page) == []
    page.get_by_role("button", name="As TOML").click()
    assert violations(page) == []
    page.context.close()


def test_a_word_while_it_loads_and_a_server_that_ends_and_comes_back(browser: Browser) -> None:
    token, port = "a-course-of-this-term", free_port()
    with served("--port", str(port), "--token", token) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address, wait_until="commit")
        expect(page.locator("#loading")).to_have_text(re.compile("Loading|Running"))
        expect(page.locator("html")).to_have_attribute("data-runs", re.compile(r"\d+"))
        expect(page.locator("#loading")).to_be_hidden()
        shared = page.url
    expect(page.locator("#failure")).to_contain_text("The server has ended", timeout=10_000)
    expect(page.locator("html")).to_have_attribute("data-gone", "yes")
    assert violations(page) == []
    before = runs(page)
    with served("--port", str(port), "--token", token):
        expect(page.locator("#failure")).to_be_hidden(timeout=20_000)
        wait_for_run(page, before)
        # A link of the class stays valid: the token is the same.
        other = browser.new_context().new_page()
        other.goto(f"{address.partition('#')[0]}#{shared.partition('#')[2]}")
        expect(other.locator("html")).to_have_attribute("data-runs", re.compile(r"\d+"))
    page.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.mark.parametrize("names", GROUPS[::3], ids=range(0, len(GROUPS), 3))
def test_names_that_mean_something_elsewhere(browser: Browser, tmp_path: Path, names: list[str]) -> None:
    """None is taken for a property of an object, for HTML or for a script; each stands on the page as it is."""
    file = tmp_path / "names.toml"
    file.write_text(tomli_w.dumps(document(names)), encoding="utf-8")
    with served(str(file)) as address:
        page = open_page(browser, address)
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("typeof x") == "undefined"
        shown = page.locator("body").inner_text()
        for name in names:
            assert " ".join(name.split()) in " ".join(shown.split())
        changed(page, lambda: page.get_by_role("button", name="Compare with B").click())
        errors: list[str] = page.errors  # type: ignore[attr-defined]
        page.context.close()
        assert errors == []
