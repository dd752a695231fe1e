"""W6: one Multipath TCP transfer of 2 MB over Wi-Fi and LTE, again and again, each a run with a seed of its own."""

import hashlib
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import mptcplab

SCENARIO = """
title    = "2 MB over Wi-Fi and LTE"
duration = "60 s"
seed     = 1

[link.wifi]
rate  = "25 Mbit/s"
delay = "12.5 ms"
queue = "40 ms"

[link.lte]
down.rate = "30 Mbit/s"
up.rate   = "5 Mbit/s"
delay = "32.5 ms"
queue = { limit = "40 ms", at_least = "20 packets" }

[connection.download]
paths       = ["wifi", "lte"]
protocol    = "mptcp"
congestion  = "lia"
application = { kind = "file", size = "2 MB" }

[measure]
warmup = "0 s"
sample = "never"
"""


def main(count: int) -> None:
    """Runs `count` transfers on one core and prints what they took."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "transfer.toml"
        path.write_text(SCENARIO)
        scenario = mptcplab.Scenario.load(path)
    mptcplab.run(scenario)
    began_s = time.process_time()
    result = mptcplab.run(scenario, repeat=count)
    cpu_s = time.process_time() - began_s
    times = result.connections["completion_s"].to_list()
    answer = {
        "transfers": count,
        "cpu_s": cpu_s,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": hashlib.sha256(json.dumps(times).encode()).hexdigest()[:16],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


main(int(sys.argv[1]))
