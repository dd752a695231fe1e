"""No two source files of a crate import each other, directly or by others."""

from pathlib import Path

import pytest

from tools.imports import CRATES, Crate, circles

NAMES = sorted(source.parent.name for source in CRATES.glob("*/src"))


def test_every_crate_is_looked_at() -> None:
    assert {
        "algorithm",
        "conformance",
        "live",
        "network",
        "python",
        "scenario",
        "simulator",
        "transport",
        "wire",
    } <= set(NAMES)


@pytest.mark.parametrize("crate", NAMES)
def test_files_do_not_import_each_other_in_a_circle(crate: str) -> None:
    source = CRATES / crate / "src"
    found = circles(Crate(source).imports())
    assert not found, [[str(file.relative_to(source)) for file in circle] for circle in found]


def made_up(tmp_path: Path, files: dict[str, str]) -> list[list[str]]:
    """The circles of a crate with these files."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [[str(file.relative_to(tmp_path)) for file in each] for each in circles(Crate(tmp_path).imports())]


def test_a_circle_is_found_through_exports_and_others(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\nmod sub;\npub use sub::C;\n",
        "a.rs": "use crate::{C, b::{self, B as Other}};\n\npub struct A;\n",
        "b.rs": "pub struct B;\n",
        "sub/mod.rs": "mod c;\npub use c::C;\n",
        "sub/c.rs": "use super::super::a::A; // the way back\n\npub struct C;\n",
    }
    assert made_up(tmp_path, files) == [["a.rs", "sub/c.rs"]]


def test_a_path_in_the_code_is_an_import(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\n",
        "a.rs": "pub const LIMIT: u32 = crate::b::HALF * 2;\n",
        "b.rs": "pub const HALF: u32 = 1;\npub fn whole() -> u32 {\n    super::a::LIMIT\n}\n",
    }
    assert made_up(tmp_path, files) == [["a.rs", "b.rs"]]


def test_tests_and_lists_of_parts_do_not_count(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::A;\n",
        "a.rs": "use crate::b::B;\n\npub struct A;\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n",
        "b.rs": "pub struct B;\n\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        "b_tests.rs": "use crate::a::A;\n",
    }
    assert made_up(tmp_path, files) == []
