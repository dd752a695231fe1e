"""The mutants of `python -m tools.mutation`: every operator and number of the code is changed, nothing in comments."""

import ast
from pathlib import Path

import pytest

from tools.mutation import python, rust
from tools.mutation.operators import mutations


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a.min(2)", ["a.max(2)", "a.min(3)"]),
        ("x -= 1.5", ["x += 1.5", "x -= 2.5"]),
        ("if !done && ok", ["if done && ok", "if !done || ok"]),
        ("let name: Vec<u8> = f(true); // not < here, nor 1", ["let name: Vec<u8> = f(false); // not < here, nor 1"]),
        ('say("1 < 2")  # true', []),
        ("view.rtt2 == x0", ["view.rtt2 != x0"]),
    ],
)
def test_one_operator_or_number_changes_at_a_time(text: str, changed: list[str]) -> None:
    assert [text[:begin] + other + text[end:] for begin, end, other in mutations(text)] == changed


def test_mutants_of_rust_are_bodies_of_functions_before_the_tests() -> None:
    file = "crates/transport/src/scheduler/ecf.rs"
    text = (rust.ROOT / file).read_text(encoding="utf-8")
    found = list(rust.mutants(file, 5))
    assert [mutant.number for mutant in found] == list(range(5, 5 + len(found)))
    assert max(mutant.line for mutant in found) < text[: text.index("#[cfg(test)]")].count("\n")
    deviation = next(mutant for mutant in found if mutant.before.startswith("let deviation"))
    assert deviation.after == deviation.before.replace(".max(", ".min(")
    begin, end = deviation.function
    assert text[begin:end] == deviation.body.replace("rttvar_ns.min(", "rttvar_ns.max(")


def test_mutants_of_python_compile_and_name_their_module() -> None:
    file = "python/mptcplab/models/queues.py"
    found = list(python.mutants(file))
    assert found
    for mutant in found:
        assert mutant.module == "mptcplab.models.queues"
        ast.parse(mutant.text)
        assert mutant.text != (python.ROOT / file).read_text(encoding="utf-8")


def test_a_mutant_that_its_tests_notice_does_not_survive(tmp_path: Path) -> None:
    test = tmp_path / "test_double.py"
    test.write_text("from mptcplab import effects\n\ndef test():\n    assert effects.__doc__\n", encoding="utf-8")
    file = "python/mptcplab/effects.py"
    text = (python.ROOT / file).read_text(encoding="utf-8")
    harmless = python.Mutant(file, 1, "", "", text + "\n")
    broken = python.Mutant(file, 1, "", "", "pass\n")
    assert python.survives(harmless, [str(test)], 60)
    assert not python.survives(broken, [str(test)], 60)
