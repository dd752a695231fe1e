"""Ten open pages for some minutes: no error, and no more memory at the end than at the beginning."""

import time
from pathlib import Path

from playwright.sync_api import Page

from tools.lab import browser

PAGES = 10
_MOVE = """(at) => {
  const slider = document.querySelector('[data-key="link.wifi.rate"]').parentElement.querySelector('input[type=range]');
  slider.value = String(300 + ((at * 53) % 400));
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  slider.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def family(process: int) -> list[int]:
    """The process and its descendants."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [process, *(each for child in children for each in family(int(child)))]


def memory_mb(process: int) -> float:
    """What a process and its descendants hold."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text(encoding="ascii").split()[1]) for each in family(process))
    return pages * 4096 / 1e6


def soak(minutes: float) -> dict[str, float]:
    """Move a slider of each page in turn; memory of the server with its workers, and of a page's heap."""
    with browser.served_process() as (process, address), browser.chromium() as chromium:
        pages = [browser.open_page(chromium, address) for _ in range(PAGES)]
        began = time.monotonic()
        measured: list[tuple[float, float]] = []
        moves = 0
        while time.monotonic() - began < minutes * 60:
            for page in pages:
                page.evaluate(_MOVE, moves)
                page.wait_for_timeout(200)
            moves += 1
            measured.append((memory_mb(process.pid), sum(_heap_mb(page) for page in pages)))
        errors = [error for page in pages for error in page.errors]  # type: ignore[attr-defined]
    part = max(1, len(measured) // 4)
    first, last = measured[part : 2 * part] or measured, measured[-part:]
    return {
        "minutes": minutes,
        "moves": float(moves * PAGES),
        "errors": float(len(errors)),
        "server_mb_second_quarter": _mean([each[0] for each in first]),
        "server_mb_last_quarter": _mean([each[0] for each in last]),
        "pages_mb_second_quarter": _mean([each[1] for each in first]),
        "pages_mb_last_quarter": _mean([each[1] for each in last]),
    }


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 1)


def _heap_mb(page: Page) -> float:
    return float(page.evaluate("performance.memory.usedJSHeapSize")) / 1e6
