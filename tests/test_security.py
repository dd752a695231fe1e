"""docs/security.md: each promise names a test that is there, a figure, and the day of the run that gave it."""

import datetime
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROW = re.compile(
    r"^\| (?P<promise>[^|]+) \| `(?P<file>[^`:]+)::(?P<test>\w+)` \| (?P<figure>[^|]+) \| (?P<day>\S+) \|$"
)


def rows() -> list[re.Match[str]]:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8").partition("## Promises\n")[2]
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("|")]
    found = [ROW.fullmatch(line) for line in lines[2:]]
    assert None not in found, [line for line, row in zip(lines[2:], found, strict=True) if row is None]
    return [row for row in found if row is not None]


def test_each_promise_has_a_test() -> None:
    assert len(rows()) >= 12
    for row in rows():
        source = (ROOT / row["file"]).read_text(encoding="utf-8")
        assert re.search(rf"^ *(def|fn) {row['test']}\(", source, re.MULTILINE), row["test"]
        assert re.search(r"\d", row["figure"])
        datetime.date.fromisoformat(row["day"])
