"""What every HTML page of the laboratory shares: one file, all of it inside, drawn by the browser without a network."""

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

import vl_convert

# The browser enforces it: not even a mistake in a page can load or send anything. Vega compiles expressions with eval.
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
)


def render(title: str, body: str, plots: Mapping[str, Any], *, script: str, style: str = "", hint: str = "") -> str:
    """The page: `plots` is what the asset `script` draws; `style` names an asset beside report.css."""
    data = json.dumps(plots, separators=(",", ":")).replace("<", "\\u003c")  # nothing in it can end the script element
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)} – mptcplab</title>
<style>
{_asset("report.css")}{_asset(style) if style else ""}</style>
</head>
<body>
{body}
<noscript><p>The plots need JavaScript; {hint}</p></noscript>
<script type="application/json" id="plots">{data}</script>
<script>{_bundle()}</script>
<script>
{_asset(script)}</script>
</body>
</html>
"""


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    script: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub wants an argument it does not need
    return script.replace("</script", "<\\/script")


def _asset(name: str) -> str:
    return files("mptcplab.render").joinpath("assets", name).read_text(encoding="utf-8")
