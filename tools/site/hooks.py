"""Hooks of mkdocs: pages made from files outside of docs/, and links that lead to such files.

The files in docs/ link to each other and to scenarios, papers and sources as they lie in the repository, so that they
can be read there too. Here such links are turned into links to pages of the site, or into plain text where it has none.
"""

import posixpath
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
LINK: Final = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^)\s]+)\)")
FENCE: Final = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)

_origins: dict[str, str] = {}
"""Of a page that is made here: where in the repository its text lies, for the links in it."""


def pages_made() -> dict[str, tuple[str, str]]:
    """Pages that are not in docs/: from their address to (file in the repository, text)."""
    made = {
        "changes.md": ("CHANGELOG.md", _read("CHANGELOG.md")),
        "contributing.md": ("CONTRIBUTING.md", _read("CONTRIBUTING.md")),
        "reference/commands.md": ("docs/reference/commands.md", _commands()),
    }
    for paper in sorted(ROOT.glob("papers/*/README.md")):
        name = paper.parent.name
        made[f"papers/{name}.md"] = (f"papers/{name}/README.md", paper.read_text(encoding="utf-8"))
    scenarios = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("scenarios/sweeps/*.toml")])
    for file in scenarios:
        text = file.read_text(encoding="utf-8")
        address = file.relative_to(ROOT).with_suffix(".md").as_posix()
        title = tomllib.loads(text).get("title", file.stem)
        name = file.relative_to(ROOT).as_posix()
        made[address] = (name, f"# {title}\n\n`{name}`\n\n```toml\n{text}```\n")
    made["scenarios/index.md"] = ("docs/scenarios.md", _scenario_index(scenarios))
    return made


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _scenario_index(files: list[Path]) -> str:
    rows = []
    for file in files:
        name = file.relative_to(ROOT / "scenarios").with_suffix("").as_posix()
        title = tomllib.loads(file.read_text(encoding="utf-8")).get("title", "a sweep")
        rows.append(f"| [{name}]({name}.md) | {title} |")
    return "\n".join(
        [
            "# Ready-made scenarios",
            "",
            "The package contains these files. `mptcplab run wifi-lte` runs one by its name; `mptcplab list scenarios`",
            "lists them.",
            "",
            "| name | title |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _commands() -> str:
    """The help of every command, as it prints it."""
    parts = ["# Command line", "", "The help texts of all commands. Exit status: 0 success, 1 the run failed,"]
    parts += ["2 invalid input, 3 not supported by the engine or by this machine.", ""]
    pending: list[tuple[str, ...]] = [()]
    while pending:
        words = pending.pop(0)
        shown = _help(words)
        pending += [(*words, name) for name in _subcommands(shown)]
        parts += [f"## `{' '.join(('mptcplab', *words))}`", "", "```text", shown.strip(), "```", ""]
    return "\n".join(parts)


def _help(words: tuple[str, ...]) -> str:
    command = [str(Path(sys.executable).parent / "mptcplab"), *words, "--help"]
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def _subcommands(shown: str) -> list[str]:
    return re.findall(r"^  ([a-z][a-z-]*) ", shown.partition("\nCommands:\n")[2], re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation with the pages that directories hold."""
    decisions = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    papers = sorted(path.parent.name for path in ROOT.glob("papers/*/README.md"))
    scenarios = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("scenarios/sweeps/*.toml")])
    named = re.findall(r"[\w./-]+\.md", _read("mkdocs.yml"))
    # A page that nobody has put into the navigation is found under this heading all the same.
    others = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in named)
    filled = {
        "Scenarios": [
            "scenarios/index.md",
            *(file.relative_to(ROOT).with_suffix(".md").as_posix() for file in scenarios),
        ],
        "More": others,
        "Decisions": [f"decisions/{name}" for name in decisions],
        "Papers": [f"papers/{name}.md" for name in papers],
        "Gallery": ["notebooks/README.md", *_gallery()],
        "Algorithms": _algorithms(),
    }
    config.nav = [entry for entry in _fill(config.nav or [], filled) if entry != {"More": []}]
    return config


def _gallery() -> list[Any]:
    """In the order of the page that lists them, by their titles there."""
    listed = re.findall(r"^    \[([^\]]+)\]\(([\w-]+\.ipynb)\)", _read("docs/notebooks/README.md"), re.MULTILINE)
    return [{title: f"notebooks/{name}"} for title, name in listed]


def _algorithms() -> list[Any]:
    """As docs/algorithms/README.md groups them."""
    sections: list[Any] = ["algorithms/README.md"]
    for line in _read("docs/algorithms/README.md").splitlines():
        if heading := re.match(r"\| (congestion control|scheduler|path manager|queue)s? \|", line):
            sections.append({heading[1].capitalize(): []})
        elif (page := re.match(r"\| \[[^\]]+\]\((\w[\w-]*\.md)\)", line)) and isinstance(sections[-1], dict):
            next(iter(sections[-1].values())).append(f"algorithms/{page[1]}")
    return sections


def _fill(nav: list[Any], filled: dict[str, list[Any]]) -> list[Any]:
    whole = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, value),) = entry.items()
            within = _fill(value, filled) if isinstance(value, list) else value
            whole.append({title: filled.get(title, within)})
        else:
            whole.append(entry)
    return whole


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files, and the schemas."""
    for address, (origin, text) in pages_made().items():
        _origins[address] = origin
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links at pages of the site."""
    address = page.file.src_uri
    if address.endswith(".ipynb"):
        return markdown
    origin = _origins.get(address, f"docs/{address}")
    places = {where: name for name, where in _origins.items()}
    places |= {"README.md": "index.md", "papers/README.md": "reproduce.md"}

    def point(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        if "://" in target or not target or target.startswith(("mailto:", "/")):
            return match[0]
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        there = places.get(meant) or (meant.removeprefix("docs/") if meant.startswith("docs/") else None)
        if meant in ("scenarios", "docs/scenarios"):
            there = "scenarios/index.md"
        if there is None or files.get_file_from_path(there) is None:
            if (ROOT / meant).exists():
                return match["text"].removeprefix("!")[1:-1]  # a file of the repository that is no page
            return match[0]  # mkdocs reports it
        relative = posixpath.relpath(there, posixpath.dirname(address) or ".")
        return f"{match['text']}({relative}{'#' + anchor if anchor else ''})"

    parts, at = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(point, markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    parts.append(LINK.sub(point, markdown[at:]))
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Links in notebooks lead to pages; the script of the search comes from here, not from the network."""
    if page.file.src_uri.endswith(".ipynb"):
        output = re.sub(r'href="(?![a-z]+:)([^"#]+)\.(?:md|ipynb)(#[^"]*)?"', r'href="\1.html\2"', output)
    up = "../" * page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}iframe-worker.js")


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:  # noqa: ARG001
    """The same for the pages that mkdocs makes by itself."""
    return output_content.replace("https://unpkg.com/iframe-worker/shim", "iframe-worker.js")
