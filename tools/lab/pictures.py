"""Pictures of the page for README and the documentation, in both themes."""

from pathlib import Path

from playwright.sync_api import Page

from tools.lab import browser

PLACE = Path(__file__).parents[2] / "docs/images"


def take() -> list[Path]:
    """Write them, and say where."""
    taken = []
    with browser.served() as address, browser.chromium() as chromium:
        for theme in ("light", "dark"):
            page = browser.open_page(chromium, address, dark=theme == "dark", size=(1280, 1080))
            _play(page)
            taken.append(_shot(page, f"lab-{theme}.png"))
            page.context.close()
        page = browser.open_page(chromium, address, dark=True, size=(1280, 1180))
        page.get_by_role("button", name="Guided tour").click()
        for _ in range(2):
            browser.wait_for_details(page, int(page.locator("html").get_attribute("data-details") or 0) + 1)
            page.get_by_role("button", name="Next").click()
        browser.wait_for_details(page, int(page.locator("html").get_attribute("data-details") or 0) + 1)
        page.wait_for_timeout(300)
        taken.append(_shot(page, "lab-compare.png"))
        page.context.close()
        page = browser.open_page(chromium, address, size=browser.PHONE)
        taken.append(_shot(page, "lab-phone.png"))
    return taken


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


def _shot(page: Page, name: str) -> Path:
    file = PLACE / name
    page.screenshot(path=file)
    return file
