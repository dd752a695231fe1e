"""docs/add-a-queue.md, followed word for word in a copy of the tree; and what a new parameter of a queue touches.

Only the small crates are compiled. Python is told what they declare in place of the tables of the compiled core.
"""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mptcplab import _core, registry
from mptcplab.scenario import Scenario, ScenarioError, declared

from tests.contributor import BUILT, ROOT, apply, compile_quickly, content, copied
from tools import algorithms

PAGE = (ROOT / "docs" / "add-a-queue.md").read_text(encoding="utf-8").split("## Outside the tree")[0]
PLACE = ROOT / "target" / "contributor-queue"
"""Kept from run to run, so that only what has changed is compiled."""
TEXT = """
duration = "1 s"
connection.c.paths = ["a"]
[link.a]
rate = "10 Mbit/s"
delay = "1 ms"
queue = {queue}
"""


def cargo(tree: Path, *arguments: str) -> str:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILT)}
    command = ["cargo", *arguments[:1], "--locked", "--offline", *arguments[1:]]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture
def tree() -> Path:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    tree = copied(PLACE)
    compile_quickly(tree)
    return tree


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    caches = (registry._declared, declared._tables, declared._setting)
    for cache in caches:
        cache.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def tell(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    """What the copy's crates declare in place of what the core does."""
    tables = json.dumps(json.loads(_core.algorithms()) | json.loads(cargo(tree, *EXAMPLE)))
    monkeypatch.setattr(_core, "algorithms", lambda: tables)


EXAMPLE = ("run", "--quiet", "-p", "network", "--example", "declared")


def changed(tree: Path, before: dict[str, bytes], new: str) -> set[str]:
    after = content(tree, new)
    return {name for name in after if after[name] != before.get(name)}


def test_the_page_is_all_that_a_contributor_needs(tree: Path, told: pytest.MonkeyPatch) -> None:
    before = content(tree, "sparse")
    commands = apply(PAGE, tree)
    assert [shlex.split(command)[:2] for command in commands] == [["cargo", "test"]] * 2
    for command in commands:
        cargo(tree, *shlex.split(command)[1:])
    assert changed(tree, before, "sparse") == {f"crates/network/src/queue{name}.rs" for name in ("", "/sparse")}

    tell(told, tree)
    scenario = Scenario.from_toml(TEXT.format(queue='{ kind = "sparse", from = "5 packets", probability = "25 %" }'))
    described = scenario.description()["links"][0]["down"]["queue"]
    assert described == {"kind": "sparse", "limit": {"packets": 100}, "from_packets": 5, "probability": 0.25}
    assert "Sparse(Config { limit: Packets(100), from_packets: 5" in cargo(tree, *EXAMPLE, "--", json.dumps(described))
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_toml(TEXT.format(queue='{ kind = "sparse", form = "5 packets", probability = 2 }'), "x.toml")
    assert sorted(str(problem) for problem in wrong.value.problems) == [
        'x.toml:7: link.a.queue.form: found an unknown key "form"; expected one of the keys '
        'limit, at_least, kind, from, probability; did you mean "from"?',
        "x.toml:7: link.a.queue.probability: found 2 (a bare number); "
        'expected a percentage with its unit, such as "1 %"',
    ]
    assert not [problem for problem in scenario.unsupported("linux") if "queue" in problem.key]
    (refused,) = (problem for problem in scenario.unsupported("model") if "queue" in problem.key)
    assert refused.expected == "one that the model engine supports: drop-tail or red"
    row = '| `from` | sparse | packets in the queue from which arrivals are dropped, packets | `"20 packets"` |'
    assert row in algorithms.kinds("queues")


def test_a_new_parameter_of_pie_touches_one_file(tree: Path, told: pytest.MonkeyPatch) -> None:
    before = content(tree, "pie")
    file = tree / "crates" / "network" / "src" / "queue" / "pie.rs"
    text = file.read_text(encoding="utf-8")
    field = '        ecn: bool = flag("ecn", false),\n'
    assert text.count(field) == 1
    new = '        /// greatest drop probability\n        most: f64 = percentage("most", 1.0),\n'
    text = text.replace(field, field + new).replace("clamp(0.0, 1.0)", "clamp(0.0, self.control.most)")
    text = text.replace("limit, number, time}", "limit, number, percentage, time}")
    file.write_text(text, encoding="utf-8")
    tell(told, tree)
    assert changed(tree, before, "pie") == {"crates/network/src/queue/pie.rs"}
    scenario = Scenario.from_toml(TEXT.format(queue='{ kind = "pie", most = "30 %" }'))
    described = scenario.description()["links"][0]["up"]["queue"]
    assert described["most"] == 0.3
    assert "most: 0.3" in cargo(tree, *EXAMPLE, "--", json.dumps(described))
    row = '| `most` | pie | greatest drop probability, a percentage | `"100 %"` | 0 % to 100 % |'
    assert row in algorithms.kinds("queues")
    assert 'most = "30 %"' in scenario.to_toml()
