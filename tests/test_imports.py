"""No two source files of a crate import each other, directly or by others; no package of Python one above it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.calls import calls
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


def test_tcp_calls_nothing_of_multipath_tcp() -> None:
    """TCP is complete without it. Files of `impl` blocks import nothing, so their calls are looked at."""
    transport = CRATES / "transport" / "src"
    found = calls(transport)
    above = {transport / "mptcp", transport / "scheduler", transport / "path_manager"}
    upward = [
        (str(file.relative_to(transport)), str(each.relative_to(transport)))
        for file, called in found.items()
        for each in called
        if file.is_relative_to(transport / "tcp") and any(each.is_relative_to(place) for place in above)
    ]
    assert not upward
    # What is there to be seen is seen.
    assert transport / "tcp" / "subflow" / "sender.rs" in found[transport / "mptcp" / "connection" / "receive.rs"]


def test_only_the_data_level_looks_at_what_it_goes_over() -> None:
    """Other files ask what follows from it, so that what TCP and Multipath TCP do differently stands in one place."""
    multipath = CRATES / "transport" / "src" / "mptcp"
    rooms = multipath / "connection"
    own = {multipath / "state" / "data_level.rs", rooms / "data_level.rs", *(rooms / "data_level").iterdir()}
    looking = {file for file in multipath.rglob("*.rs") if "Over::" in file.read_text(encoding="utf-8")}
    assert looking == own


def visible_fields(file: str, struct: str) -> list[str]:
    """The fields of a struct of the transport that other files see."""
    text = (CRATES / "transport" / "src" / file).read_text(encoding="utf-8")
    body = text.split(f"pub struct {struct}<", 1)[1].split("\n}\n", 1)[0]
    fields = re.findall(r"^    (pub\S* )?(?:r#)?(\w+):", body, re.M)
    assert len(fields) > 20  # What is there to be seen is seen.
    return [name for visible, name in fields if visible]


def test_only_rooms_see_the_fields_of_a_subflow_and_of_a_connection() -> None:
    """The rooms are the files of the folder beside the struct; others ask for what they want by what it does."""
    assert visible_fields("tcp/subflow.rs", "Subflow") == []
    assert visible_fields("mptcp/connection.rs", "Connection") == []


def test_circles_of_calls_are_no_larger_than_they_were() -> None:
    """A path manager ends subflows, and hears of those that end; bytes are verified where they are mapped."""
    found = circles(calls(CRATES / "transport" / "src"))
    assert [len(circle) for circle in found] == [5, 2]


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


PACKAGE = Path(__file__).parents[1] / "python" / "mptcplab"
FLOORS = (
    (
        "_core",
        "errors",
        "files",
        "hints",
        "machine",
        "profiles",
        "provenance",
        "registry",
        "routers",
        "shipped",
        "sources",
        "testbed",
    ),
    ("analysis", "bpf", "kernels", "metrics", "stack"),
    ("designs", "plugins", "scenario"),
    ("capture", "models", "plots", "render", "results"),
    ("engines",),
    (),
    ("lab",),
    ("cli",),
)
"""The packages and modules of Python, from the bottom; one imports what is on its own floor or below. What is not named
here is on the empty floor: it uses engines, and only the page and the commands use it."""
UPWARD = {
    ("plugins/loading.py", "results"): "the columns that a plug-in's own must not be called like",
    ("plots/comparisons.py", "comparison"): "what is compared, to draw it",
}


def floor(package: str) -> int:
    return next((number for number, packages in enumerate(FLOORS) if package in packages), FLOORS.index(()))


def imported(tree: ast.Module) -> Iterator[str]:
    """Packages and modules of mptcplab that a file imports when it runs, at once or later."""
    for_types = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inside in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "mptcplab":
            _, *rest = (node.module or "").split(".")
            # What `from mptcplab import` takes is a module, or a name of the facade, which loads what it needs.
            yield from rest[:1] or (each.name for each in node.names if exists(each.name))
        elif isinstance(node, ast.Import):
            names = [each.name.split(".") for each in node.names]
            yield from (name[1] for name in names if name[0] == "mptcplab" and len(name) > 1)


def exists(name: str) -> bool:
    return (PACKAGE / name / "__init__.py").is_file() or (PACKAGE / f"{name}.py").is_file() or name == "_core"


SOURCES = sorted(
    file
    for file in PACKAGE.rglob("*.py")
    if file.relative_to(PACKAGE).parts[0] not in ("__init__.py", "papers", "programs", "scenarios")
)


def test_no_package_of_python_imports_one_above_it() -> None:
    upward = {}
    for file in SOURCES:
        name = file.relative_to(PACKAGE)
        own = name.parts[0].removesuffix(".py")
        for package in imported(ast.parse(file.read_text(encoding="utf-8"))):
            if floor(package) > floor(own) and (str(name), package) not in UPWARD:
                upward[str(name)] = package
    assert not upward


def test_agent_and_engines_do_not_import_each_other_in_a_circle() -> None:
    engines = [file for file in SOURCES if file.is_relative_to(PACKAGE / "engines")]
    assert not [file for file in engines if "agent" in imported(ast.parse(file.read_text(encoding="utf-8")))]


def test_later_imports_count_and_those_for_types_do_not() -> None:
    code = """
from typing import TYPE_CHECKING
from mptcplab import registry, Scenario
from mptcplab.results.result import Run
import mptcplab.cli.run
if TYPE_CHECKING:
    from mptcplab.lab import app
def late():
    from mptcplab import engines
"""
    assert list(imported(ast.parse(code))) == ["registry", "results", "cli", "engines"]
