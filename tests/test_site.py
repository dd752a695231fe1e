"""The website builds, every link in it leads somewhere, and it loads nothing from the network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mptcplab.cli.app import COMMANDS

ROOT = Path(__file__).parents[1]
LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(https?:[^"'\s>]+)""")
IMPORTED = re.compile(r"""(?:@import|url\()\s*["']?(https?:[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the website needs the packages of `pip install mptcplab[docs]`")
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_every_link_leads_to_a_page(site: Path) -> None:
    """Mkdocs checks the links between pages, with their anchors, when it builds; here those of the finished site."""
    missing = []
    for page in site.rglob("*.html"):
        for target in re.findall(r"""href=["']?([^"'\s>]+)""", page.read_text(encoding="utf-8")):
            path = target.split("#")[0].split("?")[0]
            if path and not re.match(r"[a-z]+:", path) and page.name != "404.html":
                there = (page.parent / path).resolve()
                if not there.exists():
                    missing.append(f"{page.relative_to(site)}: {target}")
    assert missing == []


def test_the_reference_has_the_help_of_every_command(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for name in (*COMMANDS, "bpf load"):
        assert re.search(rf'<h2 id="[^"]*"><code>mptcplab {name}</code>', page), name


def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    loaded = {
        f"{file.relative_to(site)}: {address}"
        for file in [*site.rglob("*.html"), *site.rglob("*.css")]
        for address in (LOADED if file.suffix == ".html" else IMPORTED).findall(file.read_text(encoding="utf-8"))
    }
    assert loaded == set()


def test_every_page_and_notebook_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    notebooks = [path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")]
    assert len(notebooks) >= 8
    listing = (site / "notebooks" / "index.html").read_text(encoding="utf-8")
    assert [name for name in notebooks if f'href="{name}.html"' not in listing] == []
    assert "tutorials/first-run.html" in home
    assert (site / "search" / "search_index.js").is_file()


def test_every_notebook_has_its_picture_in_the_gallery(site: Path) -> None:
    drawn = {path.stem for path in (ROOT / "docs" / "images" / "gallery").glob("*.png")}
    assert drawn == {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    gallery = (site / "notebooks" / "index.html").read_text(encoding="utf-8")
    assert [name for name in drawn if f"images/gallery/{name}.png" not in gallery] == []


def test_the_search_finds_words_beside_punctuation(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    separator = re.compile(index["config"]["separator"])
    found = {word.lower() for page in index["docs"] for word in separator.split(page["text"])}
    assert {"cdf", "pandas", "openmptcprouter", "confidence", "pdf"} <= found


def test_examples_of_docstrings_are_code_on_the_site() -> None:
    from tools.site.doctests import fenced

    text = "What it does.\n\n>>> one()\n1\n>>> two(\n...     3\n... )\n\nRaises nothing."
    assert fenced(text) == (
        "What it does.\n\n```pycon\n>>> one()\n1\n>>> two(\n...     3\n... )\n```\n\nRaises nothing."
    )
    assert fenced(">>> last()\n2").endswith("\n```")


def test_the_plug_in_page_has_every_counter() -> None:
    interface = (ROOT / "python" / "mptcplab" / "_core.pyi").read_text(encoding="utf-8")
    fields = re.findall(r"def (\w+)\(self\)", interface.partition("class Counters:")[2].partition("@final")[0])
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert fields
    assert [name for name in fields if f"`{name}`" not in page] == []
