"""The script of the figures is put together once and kept, and never used when it is not what was kept."""

from pathlib import Path

import pytest
from mptcplab.render import vega


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put together, in a cache of its own."""
    done: list[str] = []

    def make() -> str:
        done.append("let vega = 'é';\n")
        return done[-1]

    monkeypatch.setattr(vega, "_made", make)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return done


def test_it_is_put_together_once(made: list[str], tmp_path: Path) -> None:
    scripts = {vega.script.__wrapped__() for _ in range(3)}
    assert scripts == {"let vega = 'é';\n"}
    assert len(made) == 1
    [kept] = (tmp_path / "cache/mptcplab").iterdir()
    assert kept.name.startswith("vega-")


@pytest.mark.parametrize("damage", [b"", b"let vega = 1;", b"\xff\xff"])
def test_what_is_damaged_is_made_again(made: list[str], tmp_path: Path, damage: bytes) -> None:
    first = vega.script.__wrapped__()
    [kept] = (tmp_path / "cache/mptcplab").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content[:-1] if damage else damage)
    assert vega.script.__wrapped__() == first
    kept.write_bytes(content.replace(b"vega", damage or b"x"))
    assert vega.script.__wrapped__() == first
    assert len(made) == 3
    assert kept.read_bytes() == content


def test_without_a_cache_the_page_is_drawn(made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert vega.script.__wrapped__() == made[0]
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home directory")))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert vega.script.__wrapped__() == made[1]
