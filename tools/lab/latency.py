"""How long it takes from the change of a slider to the picture, in the browser."""

import statistics
from typing import Any

from tools.lab import browser

CHANGES = 50
SCENARIO = """
title = "Two paths"
duration = "30 s"
[link.one]
rate = "20 Mbit/s"
delay = "10 ms"
[link.two]
rate = "20 Mbit/s"
delay = "25 ms"
[connection.m]
paths = ["one", "two"]
"""

# One change after another, each when the picture of the last is there; the time is the browser's own.
_MEASURE = """async (changes) => {
  const slider = document.querySelector('[data-key="link.one.delay"]').parentElement.querySelector('input[type=range]');
  const times = [];
  for (let at = 0; at < changes; at += 1) {
    const root = document.documentElement;
    const before = root.dataset.drawn;
    const began = performance.now();
    slider.value = String(200 + ((at * 37) % 500));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    while (root.dataset.drawn === before) await new Promise((next) => requestAnimationFrame(next));
    times.push(performance.now() - began);
    // As a hand moves: a little later than the picture; and long enough for nothing to be left over.
    await new Promise((next) => setTimeout(next, 60));
  }
  return times;
}"""


def measure(changes: int = CHANGES) -> dict[str, float]:
    """Median and 95th percentile in ms, of a run of 30 s over two paths of 20 Mbit/s."""
    with browser.served() as address, browser.chromium() as chromium:
        page = browser.open_page(chromium, address)
        page.get_by_text("File and export").click()
        page.get_by_role("button", name="As TOML").click()
        page.locator("#toml").fill(SCENARIO)
        before = int(page.locator("html").get_attribute("data-details") or 0)
        page.get_by_role("button", name="Use this text").click()
        browser.wait_for_details(page, before + 1)
        page.evaluate(_MEASURE, 5)  # the first have something to compile
        times: list[Any] = page.evaluate(_MEASURE, changes)
    return {
        "changes": float(changes),
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(sorted(times)[int(0.95 * len(times))], 1),
    }
