"""The script that draws a page's figures, kept in the user's cache: to put it together takes two seconds."""

import contextlib
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from mptcplab import files


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, as this version of vl-convert has them."""
    try:
        kept = files.cache() / f"vega-{version('vl-convert-python')}.js"
    except RuntimeError:  # no home directory
        return _made()
    found = _read(kept)
    if found is not None:
        return found
    made = _made()
    # A cache that cannot be written costs time, not the page.
    with contextlib.suppress(OSError, files.TargetError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(kept, f"// {_digest(made)}\n{made}")
    return made


def _made() -> str:
    # Its stub wants an argument that it does not need, and has no type for the result.
    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]


def _read(kept: Path) -> str | None:
    """What is kept; None where there is nothing, or not what was written."""
    try:
        head, _, found = files.read(kept).decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return found if head == f"// {_digest(found)}" else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
