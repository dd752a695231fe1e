"""W6: one Multipath TCP transfer of 2 MB over Wi-Fi and LTE, again and again, each a run with a seed of its own."""

import hashlib
import json
import resource
import sys
import time

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
    """Runs `count` transfers on one core, looks at all of their times, and prints what it took."""
    scenario = mptcplab.Scenario.from_toml(SCENARIO)
    mptcplab.run(scenario)
    began_s = time.process_time()
    times = mptcplab.run(scenario, repeat=count).connections["completion_s"].to_list()
    cpu_s = time.process_time() - began_s
    answer = {
        "transfers": count,
        "cpu_s": cpu_s,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "digest": hashlib.sha256(json.dumps(times).encode()).hexdigest()[:16],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
