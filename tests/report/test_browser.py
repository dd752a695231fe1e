"""The report's JavaScript, in a browser: every plot is drawn, and nothing is refused or fails."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mptcplab import Result

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium (Debian: apt-get install chromium)"),
]


def shown(page: str, place: Path) -> tuple[str, list[str]]:
    """The document as the browser has it in the end, and the errors on its console."""
    file = place / "page.html"
    file.write_text(page, encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    command = [str(BROWSER), *options, "--enable-logging=stderr", f"--user-data-dir={place / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout, re.findall(r"CONSOLE.*(?:Error|Refused).*", done.stderr)


def drawn(document: str) -> bool:
    return re.search(r'<body[^>]* data-drawn="yes"', document) is not None


def test_every_plot_is_drawn(result: Result, tmp_path: Path) -> None:
    page = result.report()
    found = re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    panels = len(json.loads(found[1])["panels"])
    document, errors = shown(page, tmp_path)
    assert errors == []
    assert drawn(document)
    assert len(re.findall(r'<svg[^>]* class="marks"', document)) == panels > 4
    assert "download" in document


def test_a_script_that_fails_is_seen(result: Result, tmp_path: Path) -> None:
    document, errors = shown(result.report().replace("vegaEmbed(document", "vegaEmbedded(document"), tmp_path)
    assert not drawn(document)
    assert any("vegaEmbedded is not defined" in error for error in errors)
