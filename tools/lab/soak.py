"""Ten open pages for some minutes: no error, and no more memory at the end than at the beginning."""

import time
from pathlib import Path

from playwright.sync_api import Page

from tools.lab import browser

PAGES = 10
RESTS = 10
REST_S = 4.0
"""A worker gives back what it has freed once it has had nothing to do for a second."""
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
    """What a process and its descendants hold; what several of them share counts once."""
    texts = (Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii") for each in family(process))
    return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("Pss:")) / 1e3


def soak(minutes: float) -> dict[str, float]:
    """Move a slider of each page in turn; ten times let all rest, and see what server and pages then still hold."""
    with browser.served_process() as (process, address), browser.chromium() as chromium:
        pages = [browser.open_page(chromium, address) for _ in range(PAGES)]
        measured: list[tuple[float, float]] = []
        moves = 0
        for _ in range(RESTS):
            began = time.monotonic()
            while time.monotonic() - began < minutes * 60 / RESTS - REST_S:
                for page in pages:
                    page.evaluate(_MOVE, moves)
                    page.wait_for_timeout(200)
                moves += 1
            time.sleep(REST_S)
            measured.append((memory_mb(process.pid), sum(_heap_mb(page) for page in pages)))
        errors = [error for page in pages for error in page.errors]  # type: ignore[attr-defined]
    half = RESTS // 2
    return {
        "minutes": minutes,
        "moves": float(moves * PAGES),
        "errors": float(len(errors)),
        **{f"server_mb_rest_{at}": round(server, 1) for at, (server, _) in enumerate(measured, 1)},
        **{f"pages_mb_rest_{at}": round(heap, 1) for at, (_, heap) in enumerate(measured, 1)},
        "server_mb_growth_of_second_half": round(_mean(measured[half:], 0) - _mean(measured[1:half], 0), 1),
        "pages_mb_growth_of_second_half": round(_mean(measured[half:], 1) - _mean(measured[1:half], 1), 1),
    }


def _mean(values: list[tuple[float, float]], which: int) -> float:
    return sum(each[which] for each in values) / len(values)


def _heap_mb(page: Page) -> float:
    """What the page's scripts hold once what nobody refers to is collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.detach()
    return float(page.evaluate("performance.memory.usedJSHeapSize")) / 1e6
