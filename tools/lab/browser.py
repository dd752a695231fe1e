"""A laboratory that serves, and a browser that looks at it."""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next((place for name in ("chromium", "chromium-browser") if (place := shutil.which(name))), None)
"""Debian's Chromium; nothing is fetched for it."""
DESK = (1280, 960)
PHONE = (390, 844)


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """`mptcplab lab`: the address that it prints."""
    with served_process(*arguments) as (_, address):
        yield address


@contextmanager
def served_process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`mptcplab lab`, and the address that it prints."""
    program = Path(sys.executable).with_name("mptcplab")
    command = [str(program), "lab", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        try:
            if not select.select([process.stdout], [], [], 60.0)[0]:
                raise TimeoutError("mptcplab lab prints no address")
            yield process, process.stdout.readline().strip()
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def open_page(
    browser: Browser, address: str, *, size: tuple[int, int] = DESK, dark: bool = False, scale: float = 1
) -> Page:
    """The page, once its first run is drawn; whatever goes wrong in it is in `page.errors`."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        device_scale_factor=scale,
        accept_downloads=True,
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.errors = errors  # type: ignore[attr-defined]
    page.goto(address)
    wait_for_details(page, 1)
    return page


def runs(page: Page) -> int:
    """How many runs the page has shown."""
    return int(page.locator("html").get_attribute("data-runs") or 0)


def wait_for_run(page: Page, before: int) -> None:
    """Wait until there is an answer after the first `before` ones."""
    wait_for_count(page, "data-runs", before + 1)


def wait_for_details(page: Page, least: int) -> None:
    """Wait until packets have been looked at as often."""
    wait_for_count(page, "data-details", least)


def wait_for_count(page: Page, attribute: str, least: int) -> None:
    """Wait until a counter of the page has come so far."""
    # The page's policy forbids what `wait_for_function` does.
    for _ in range(1200):
        if int(page.locator("html").get_attribute(attribute) or 0) >= least:
            return
        page.wait_for_timeout(50)
    raise TimeoutError(f"{attribute} does not become {least}")
