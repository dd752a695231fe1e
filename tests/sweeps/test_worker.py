"""A worker process: quick to start, for a sweep of short runs is over before much could be loaded."""

import json
import subprocess
import sys

from mptcplab.scenario import Scenario
from mptcplab.sweeps.planned import plan

TEXT = """
duration = "2 s"
link.wifi = { rate = "10 Mbit/s", delay = "5 ms", queue = "1 BDP" }
connection.download = { paths = ["wifi"], protocol = "tcp", application = "bulk" }
"""
CODE = """
import sys
from mptcplab.sweeps.worker import execute
sys.stdout.write(execute(sys.stdin.read()).decode() + "\\n")
sys.stdout.write(" ".join({"numpy", "polars", "pydantic", "scipy"} & set(sys.modules)) + "\\n")
"""


def test_a_simulation_is_carried_out_without_what_makes_data_frames_or_reads_scenarios() -> None:
    task = plan(Scenario.from_toml(TEXT), 1).task
    command = [sys.executable, "-c", CODE]
    answer = subprocess.run(command, input=task, capture_output=True, text=True, check=True)
    rows, loaded = answer.stdout.splitlines()
    assert len(json.loads(rows)["connections"]) == 1
    assert loaded == ""
