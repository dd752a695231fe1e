"""What is not looked up is never taken for harmless."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import audit

GOOD = {"name": "good", "version": "1.0", "vulns": []}
BAD = {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("told", "status", "says"),
    [
        ([GOOD, GOOD], 0, "Python advisories: 0 in 2 packages"),
        ([GOOD, BAD], 1, "bad 2.0: PYSEC-1; mended in: 2.1"),
        ([GOOD, UNKNOWN], 3, "NOT CHECKED; the index says nothing of 1 of 2 packages: unknown"),
        ([BAD, UNKNOWN], 1, "NOT CHECKED"),
        ([UNKNOWN] * 9, 3, "9 of 9 packages: unknown, unknown, unknown, unknown, unknown and 4 more"),
        ([], 3, "NOT CHECKED; the index says nothing of 0 of 0 packages"),
        (None, 3, "NOT CHECKED; no network"),
    ],
)
def test_advisories(
    told: list[dict[str, Any]] | None,
    status: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pip-audit that answers as the real one does."""
    (tmp_path / "answer").write_text("" if told is None else json.dumps({"dependencies": told, "fixes": []}))
    program = tmp_path / "pip-audit"
    program.write_text(
        f"#!{sys.executable} -S\nimport sys\nprint(open({str(tmp_path / 'answer')!r}).read())\n"
        f"print('WARNING', file=sys.stderr); print('no network', file=sys.stderr)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert audit.main() == status
    assert says in capsys.readouterr().out


def test_without_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert audit.main() == audit.NOT_CHECKED
    assert "pip-audit is not installed" in capsys.readouterr().out
