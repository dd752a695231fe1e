"""A release is what its files say: one version, one day, and notes."""

from pathlib import Path

import pytest

from tools.release.__main__ import ROOT, NotReadyError, notes, released, versions


def test_all_files_have_one_version_and_one_day() -> None:
    (version,) = set(versions(ROOT).values())
    day = released(ROOT, version)
    assert day is not None
    assert f"date-released: {day}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_day_and_the_notes_of_a_version_are_found(tmp_path: Path) -> None:
    text = "# Changes\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0 (2026-01-02)\n\n- old\n"
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    assert [released(tmp_path, version) for version in ("0.1.0", "0.2.0", "0.3.0")] == ["2026-01-02", None, None]
    assert notes(text, "0.1.0") == "- old\n"
    assert notes(text, "0.2.0") == "- new\n"
    with pytest.raises(NotReadyError, match=r"0\.3\.0"):
        notes(text, "0.3.0")


def test_the_changelog_of_a_release_is_short() -> None:
    (version,) = set(versions(ROOT).values())
    assert len(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version).splitlines()) <= 30
