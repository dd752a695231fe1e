"""`run --engine linux-virtual` killed at any moment: what is left is counted, and the next run removes it.

MPTCPLAB_KILLS is how often (3).
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.live.test_linux_virtual import ENGINE, virtual

KILLS = int(os.environ.get("MPTCPLAB_KILLS", "3"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
AT_MOST_S = 600.0
SCENARIO = """
duration = "1 s"
[link.a]
rate = "1 Mbit/s"
delay = "5 ms"
[connection.c]
paths = ["a"]
protocol = "tcp"
[measure]
sample = "never"
"""


def inside(place: Path) -> dict[int, str]:
    """The processes whose working directory is under `place`."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(place):
                found[int(process.name)] = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    return found


@virtual
def test_a_run_that_is_killed_leaves_no_guest(tmp_path: Path) -> None:
    temporary, file = tmp_path / "temporary", tmp_path / "a.toml"
    temporary.mkdir()
    file.write_text(SCENARIO, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("mptcplab")), "run", str(file), "--engine", ENGINE]
    command += ["--out", str(tmp_path / "out")]

    def begin() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(temporary)},
        )

    def whole() -> float:
        began = time.monotonic()
        with begin() as process:
            try:
                assert process.wait(AT_MOST_S) == 0
            finally:
                process.kill()
        return time.monotonic() - began

    lasts_s = whole()
    settled = {entry.name for entry in temporary.iterdir()}
    assert all(name.startswith("mptcplab-cores-") for name in settled)
    dice = random.Random(SEED)
    found: Counter[str] = Counter()
    for turn in range(KILLS):
        with begin() as process:
            if turn % 2:
                time.sleep(dice.uniform(0.1, 0.95) * lasts_s)
            else:
                while not inside(temporary) and process.poll() is None:
                    time.sleep(0.01)
                time.sleep(dice.uniform(0, 0.1) * lasts_s)
            sign = dice.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
            found["killed with a guest"] += bool(inside(temporary))
            process.send_signal(sign)
            try:
                process.wait(AT_MOST_S)
            finally:
                process.kill()
        found[f"{sign.name}: {process.returncode}"] += 1
        until = time.monotonic() + AT_MOST_S
        while (left := inside(temporary)) and time.monotonic() < until:
            time.sleep(0.02)
        assert not left, left
        names = {entry.name for entry in temporary.iterdir()} - settled
        found["directories left"] += len(names)
        assert len(names) <= 1 or sign is signal.SIGKILL
    whole()
    assert {entry.name for entry in temporary.iterdir()} == settled
    assert found["killed with a guest"]
    sys.stdout.write(f"\n{KILLS} times: {dict(sorted(found.items()))}\n")
