"""docs/add-an-algorithm.md, followed word for word in a copy of the tree: green, and no other file is touched."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import mptcplab
import pytest
from mptcplab import Scenario

from tests.contributor import BUILT, ROOT, apply, compile_quickly, content, copied

PAGE = (ROOT / "docs" / "add-an-algorithm.md").read_text(encoding="utf-8").split("## Outside the tree")[0]
PLACE = ROOT / "target" / "contributor"
"""Kept from run to run, so that only what has changed is compiled."""
WRITTEN = {"docs/algorithms/README.md", "docs/scenario-format.md"}
"""Tables that `tools.algorithms` fills."""


def test_the_page_is_all_that_a_contributor_needs() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    tree = copied(PLACE)
    compile_quickly(tree)
    before = content(tree, "gentle")
    commands = apply(PAGE, tree)
    assert [shlex.split(command)[0] for command in commands] == ["python", "cargo", "cargo", "python", "mptcplab"]
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(BUILT),
        "PYTHONPATH": str(tree / "python"),
    }

    def run(*command: str, given: str = "", **more: str) -> str:
        done = subprocess.run(
            command, cwd=tree, env=environment | more, input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    # `make setup`, without its optimisation.
    run("cargo", "build", "--locked", "--offline", "-p", "mptcplab-python")
    shutil.copy2(BUILT / "debug" / "lib_core.so", tree / "python" / "mptcplab" / "_core.abi3.so")
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "python":
            run(sys.executable, *arguments, *(["-p", "no:cacheprovider"] if "pytest" in arguments else []))
        elif program == "mptcplab":
            run(sys.executable, "-c", "from mptcplab.cli import main; main()", *arguments)
        else:
            run(program, arguments[0], "--locked", "--offline", *arguments[1:])

    after = content(tree, "gentle")
    changed = {name for name in after if after[name] != before.get(name)}
    expected = {f"crates/transport/src/congestion/{name}.rs" for name in ("gentle", "mod")} | {
        "docs/algorithms/gentle.md"
    }
    assert changed == expected | WRITTEN

    # The same control from outside the tree, by a program of its own, is the same to the last digit.
    path = "examples/outside-plugin/Cargo.toml"
    scenario = Scenario.load(ROOT / "scenarios" / "one-link.toml", ["duration=10 s", "measure.warmup=2 s"])
    described = json.dumps(scenario.description())
    program = ("cargo", "run", "--locked", "--offline", "--manifest-path", path, "--", "0.5", "0.8")
    # As the workspace has it: what others wrote is compiled already.
    profile = {"CARGO_PROFILE_DEV_OPT_LEVEL": "1", "CARGO_PROFILE_DEV_DEBUG": "line-tables-only"}
    printed = run(*program, given=described, **profile)
    half, more = (float(line.split()[1]) for line in printed.splitlines())
    assert half == round(mptcplab.run(scenario).connections["goodput_bps"][0] / 1e6, 4), "with a half it is Reno"
    code = """
import sys, mptcplab
scenario = mptcplab.Scenario.load(sys.argv[1], sys.argv[2:])
print(mptcplab.run(scenario).connections["goodput_bps"][0])
"""
    gentle = ["duration=10 s", "measure.warmup=2 s", 'connection.flow.congestion={ name = "gentle", beta = 0.8 }']
    inside = run(sys.executable, "-c", code, "scenarios/one-link.toml", *gentle)
    assert more == round(float(inside) / 1e6, 4)
