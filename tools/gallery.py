"""The pictures of the gallery: `python -m tools.gallery [NOTEBOOK…]` runs notebooks and keeps a small picture of each.

It shows the first figure or table of a notebook, or what it prints where there is neither. Needs Chromium.
"""

import html
import sys
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser

from tools.lab.browser import chromium
from tools.notebooks import NOTEBOOKS, ROOT, executed, texts

PLACE: Final = ROOT / "docs" / "images" / "gallery"
WIDTH, HEIGHT = 320, 200
_STYLE: Final = f"""
body {{ margin: 0; width: {WIDTH}px; height: {HEIGHT}px; overflow: hidden; background: white; color: #222; }}
img {{ width: 100%; height: 100%; object-fit: contain; }}
pre, div, table {{ margin: 10px; font-size: 9px; line-height: 1.4; white-space: pre-wrap; }}
"""


def shown(notebook: Any) -> str:  # noqa: ANN401 - nbformat has no types
    """HTML of what stands for a notebook that was run."""
    data = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    for figure in (each["image/png"] for each in data if "image/png" in each):
        return f'<img alt="" src="data:image/png;base64,{figure}">'
    for table in (each["text/html"] for each in data if "text/html" in each):
        return f"<div>{table}</div>"
    return f"<pre>{html.escape(''.join(texts(notebook)))}</pre>"


def draw(browser: Browser, name: str, notebook: Any) -> Path:  # noqa: ANN401
    """Write the picture of a notebook that was run."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5)
    page.set_content(f"<style>{_STYLE}</style>{shown(notebook)}")
    file = PLACE / f"{name}.png"
    page.screenshot(path=file)
    page.close()
    return file


def main(files: list[str]) -> int:
    """Draw all, or those that are named."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for path in [Path(file) for file in files] or NOTEBOOKS:
            sys.stdout.write(f"{draw(browser, path.stem, executed(path))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
