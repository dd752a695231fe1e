"""Pictures for README and the documentation: a report, and the page of `mptcplab lab` in both themes.

The numbers that can be read in them are kept in docs/images/numbers.json, for a test that compares them with the
program's.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from tools.lab import browser

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs/images"
NUMBERS = PLACE / "numbers.json"
SCENARIO = "wifi-lte"
TOUR_STEP = 2
"""The step of the tour, from 0, that lab-compare.png shows."""

_seen: dict[str, list[list[str]]] = {}
"""Of each picture, the rows of the first table in it."""


def take() -> list[Path]:
    """Write them, and say where."""
    _seen.clear()
    with browser.chromium() as chromium:
        taken = [_report(chromium)]
    with browser.served() as address, browser.chromium() as chromium:
        for theme in ("light", "dark"):
            page = browser.open_page(chromium, address, dark=theme == "dark", size=(1280, 1080))
            _play(page)
            taken.append(_shot(page, f"lab-{theme}.png"))
            page.context.close()
        page = browser.open_page(chromium, address, dark=True, size=(1440, 1080))
        page.get_by_role("button", name="Guided tour").click()
        for _ in range(TOUR_STEP):
            browser.wait_for_details(page, int(page.locator("html").get_attribute("data-details") or 0) + 1)
            page.get_by_role("button", name="Next").click()
        browser.wait_for_details(page, int(page.locator("html").get_attribute("data-details") or 0) + 1)
        page.wait_for_timeout(300)
        taken.append(_shot(page, "lab-compare.png"))
        page.context.close()
        page = browser.open_page(chromium, address, size=browser.PHONE)
        taken.append(_shot(page, "lab-phone.png"))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows, ensure_ascii=False)}" for name, rows in _seen.items())
    NUMBERS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return [*taken, NUMBERS]


def _report(chromium: Browser) -> Path:
    """The top of the report of a ready-made scenario."""
    with tempfile.TemporaryDirectory() as name:
        program = Path(sys.executable).with_name("mptcplab")
        subprocess.run([program, "run", SCENARIO, "--out", f"{name}/run"], check=True, capture_output=True)
        page = chromium.new_page(viewport={"width": 1100, "height": 1340})
        page.goto((Path(name) / "run" / "report.html").as_uri())
        page.locator("canvas, svg").first.wait_for()
        page.wait_for_timeout(1000)
        file = _shot(page, "report.png", "table")
        page.close()
    return file


def _play(page: Page) -> None:
    """Some packets on their way, and the cursor in a chart."""
    seen = int(page.locator("html").get_attribute("data-details") or 0)
    page.locator('[data-chart="goodput"]').focus()
    for _ in range(67):
        page.keyboard.press("ArrowRight")
    browser.wait_for_details(page, seen + 1)
    page.wait_for_timeout(1000)
    page.get_by_role("button", name="Play packets").click()
    page.wait_for_timeout(4000)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(200)


def _shot(page: Page, name: str, table: str = "#table table") -> Path:
    file = PLACE / name
    page.screenshot(path=file)
    rows = page.locator(table).first.locator("tr").all()
    _seen[name] = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]
    return file
