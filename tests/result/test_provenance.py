"""Where a result says it comes from."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mptcplab import _core, provenance, sources


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository of one commit in the form of the project's, taken for the checkout."""
    root = tmp_path / "checkout"
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "crates/wire/Cargo.toml", "crates/wire/src/lib.rs"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    (root / "python").mkdir()
    (root / "python" / "some.py").write_text("")
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-C", root, *arguments], check=True)
    monkeypatch.setattr(provenance, "checkout", lambda: root)
    monkeypatch.setattr(_core, "build_sources", lambda: sources.digest(root))
    provenance.source_state.cache_clear()
    yield root
    provenance.source_state.cache_clear()


def state() -> tuple[str | None, bool | None]:
    provenance.source_state.cache_clear()
    return provenance.source_state()


def test_a_clean_checkout_has_a_commit_and_is_not_dirty(checkout: Path) -> None:
    head = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert state() == (head.stdout.strip(), False)


@pytest.mark.parametrize("name", ["crates/wire/src/lib.rs", "python/some.py", "python/new.py", "pyproject.toml"])
def test_changed_sources_are_dirty(checkout: Path, name: str) -> None:
    (checkout / name).write_text("changed")
    assert state()[1] is True


def test_a_scenario_that_is_not_committed_is_not_dirty(checkout: Path) -> None:
    (checkout / "mine.toml").write_text('title = "mine"')
    assert state()[1] is False


def test_a_core_of_other_sources_is_dirty(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a pull without a build: the tree equals the commit, what runs does not."""
    monkeypatch.setattr(_core, "build_sources", lambda: "0" * 64)
    assert state()[1] is True


def test_variables_of_a_running_hook_do_not_mislead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert state()[1] is False


def test_without_a_checkout_the_build_says_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "checkout", lambda: None)
    monkeypatch.setattr(_core, "build_commit", lambda: "abc")
    assert state() == ("abc", None)
    provenance.source_state.cache_clear()


def test_the_digest_depends_on_names_and_contents(checkout: Path) -> None:
    before = sources.digest(checkout)
    assert sources.digest(checkout) == before
    (checkout / "crates/wire/src/lib.rs").rename(checkout / "crates/wire/src/other.rs")
    renamed = sources.digest(checkout)
    (checkout / "crates/wire/src/other.rs").write_text("changed")
    assert len({before, renamed, sources.digest(checkout)}) == 3
