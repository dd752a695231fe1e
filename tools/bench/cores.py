"""Two installed copies of mptcplab in turn: which one simulates faster, and whether their results are the same.

python -m tools.bench.cores FOLDER FOLDER [ROUNDS]

A folder is what a wheel unpacks to, or python/ of a checkout that `make setup` has been run in.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tools.bench.measure import ROOT

ROUNDS: Final = 11
"""The median of so many ratios is taken."""


def one(name: str) -> None:
    """One run of a workload with the mptcplab that is first on PYTHONPATH: its CPU time and a digest of its result."""
    import mptcplab

    from tools.release import training

    scenario, repeat = training.scenarios()[name]
    began_s = time.process_time()
    result = mptcplab.run(scenario, repeat=repeat, jobs=1)
    cpu_s = time.process_time() - began_s
    rows = [frame.write_json() for frame in (result.connections, result.subflows, result.links)]
    digest = hashlib.sha256("".join(rows).encode()).hexdigest()[:16]
    sys.stdout.write(json.dumps({"cpu_s": cpu_s, "digest": digest, "core": mptcplab.__file__}) + "\n")


def _run(folder: str, name: str) -> tuple[float, str]:
    command = [sys.executable, "-m", "tools.bench.cores", "one", name]
    environment = os.environ | {"PYTHONPATH": folder}
    answer = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    parsed = json.loads(answer.stdout)
    if not str(parsed["core"]).startswith(str(Path(folder).resolve())):
        raise RuntimeError(f"{parsed['core']} was measured, which is not in {folder}")
    return float(parsed["cpu_s"]), str(parsed["digest"])


def compare(first: str, second: str, rounds: int) -> int:
    """Prints for each workload how many times as fast `second` is. Exit status: 0 done, 1 results differ."""
    from tools.release import training

    status = 0
    for name in training.scenarios():
        times: list[tuple[float, float]] = []
        digests: set[str] = set()
        for _ in range(rounds):
            (first_s, first_digest), (second_s, second_digest) = _run(first, name), _run(second, name)
            times.append((first_s, second_s))
            digests |= {first_digest, second_digest}
        ratios = sorted(before / after for before, after in times)
        same = "results the same" if len(digests) == 1 else "RESULTS DIFFER"
        status |= len(digests) > 1
        middle = [statistics.median(column) for column in zip(*times, strict=True)]
        spread = f"{ratios[rounds // 4]:.2f} to {ratios[-1 - rounds // 4]:.2f}"
        sys.stdout.write(f"{name}: {middle[0]:.3f} s and {middle[1]:.3f} s, ")
        sys.stdout.write(f"{statistics.median(ratios):.2f} times as fast ({spread}), {same}\n")
        sys.stdout.flush()
    return status


if __name__ == "__main__":
    if sys.argv[1] == "one":
        one(sys.argv[2])
    else:
        sys.exit(compare(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS))
