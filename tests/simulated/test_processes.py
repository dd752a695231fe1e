"""Two processes give the same result, byte for byte, whatever is drawn in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("mptcplab")
ROOT = Path(__file__).parents[2]
TEXT = """
    duration = "10 s"
    seed = 3
    link.a = { rate = "10 Mbit/s", delay = "10 ms", loss = "1 %", queue = { kind = "codel" } }
    link.b = { rate = "10 Mbit/s", delay = "20 ms", loss = { kind = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %" } }
    [connection.f]
    paths = ["a", "b"]
    application = { kind = "flows", size = { distribution = "pareto", mean = "50 kB", shape = 1.5 }, arrivals = { distribution = "poisson", rate = "5 /s" } }
    [connection.r]
    paths = ["b", "a"]
    congestion = "olia"
    application = { kind = "requests", size = "80 kB" }
    count = 2
    start = ["0 s", "1 s"]
"""  # noqa: E501


def document(file: Path, hash_seed: str) -> str:
    """The standard output of `mptcplab run --json`, in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [PROGRAM, "run", file, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def test_two_processes_give_the_same_result(tmp_path: Path) -> None:
    file = tmp_path / "busy.toml"
    file.write_text(TEXT, encoding="utf-8")
    for scenario in (file, ROOT / "scenarios" / "fat-tree.toml"):
        one, two = document(scenario, "1"), document(scenario, "2")
        assert one == two
        assert all(connection["bytes_delivered"] > 0 for connection in json.loads(one)["connections"])
