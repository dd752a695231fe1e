"""docs/results.md says what the schema says."""

import re
from pathlib import Path

import pytest
from mptcplab.results.columns import FRAMES

DOCUMENT = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.mark.parametrize("frame", FRAMES)
def test_every_column_is_documented_as_it_is(frame: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    section = re.search(rf"^### `{frame}`$(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| (.+) \|$", section[1], re.MULTILINE)
    documented = [(name, unit, meaning) for name, _, unit, meaning in rows]
    assert documented == [(column.name, column.unit or "–", column.meaning) for column in FRAMES[frame]]
