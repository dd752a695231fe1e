"""The interoperation matrix: every case with IPv4 and IPv6, with checksums and without, our stack as client and server.

`python -m tests.interop.matrix [--size BYTES]` prints it. Status 1: a case fails; 3: the machine cannot run it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
SETTINGS: Final = ((4, False), (4, True), (6, False), (6, True))
DEFAULT_SIZE_BYTES: Final = 2_000_000

Row = dict[str, Any]


def missing() -> str | None:
    """What this machine lacks to run it; None when it has all."""
    if sys.platform != "linux" or not Path("/proc/sys/net/mptcp/enabled").exists():
        return "Multipath TCP in the kernel (Linux 5.6 or later with CONFIG_MPTCP)"
    if os.geteuid() != 0:
        return "root, for network namespaces and TUN devices"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun (modprobe tun; in a container --device /dev/net/tun)"
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(program) is None:
            return f"the program {program} (apt-get install {package})"
    return None


def run(
    family: int,
    checksum: bool,
    size_bytes: int,
    only: str | None = None,
    capture: Path | None = None,
    offloads: bool = True,
) -> Iterator[Row]:
    """The rows of one setting, as they come, from a process in a namespace of its own."""
    command = ["unshare", "--net", sys.executable, "-m", "tests.interop.child", "--family", str(family)]
    command += ["--checksum"] * checksum + ["--size", str(size_bytes)] + (["--only", only] if only else [])
    command += ["--capture", str(capture)] if capture else []
    command += [] if offloads else ["--no-offloads"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        for line in child.stdout:
            yield json.loads(line)
        errors = child.stderr.read()
    if child.returncode != 0 or errors:
        raise RuntimeError(f"IPv{family}, checksum {checksum}: status {child.returncode}: {errors}")


def table(rows: Iterable[Row]) -> str:
    """The matrix: one line a case and role, one column a setting."""
    cells: dict[tuple[str, str], dict[tuple[int, bool], str]] = {}
    for row in rows:
        cell = "FAILS" if row["problem"] else "ok"
        if row["figures"]:
            cell += f" {row['figures']['took_s']:.1f} s"
        cells.setdefault((row["case"], row["role"]), {})[row["family"], row["checksum"]] = cell
    heads = [f"IPv{family}{' checksum' if checksum else ''}" for family, checksum in SETTINGS]
    lines = [f"{'case':<26}{'ours is':<9}" + "".join(f"{head:<15}" for head in heads)]
    for (case, role), by_setting in cells.items():
        lines.append(f"{case:<26}{role:<9}" + "".join(f"{by_setting.get(each, '–'):<15}" for each in SETTINGS).rstrip())
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=DEFAULT_SIZE_BYTES, help="bytes each way in loss-and-reordering")
    parser.add_argument("--only", help="cases, separated by commas")
    given = parser.parse_args(arguments)
    lacking = missing()
    if lacking is not None:
        sys.stderr.write(f"error: the interoperation matrix needs {lacking}\n")
        return 3
    rows = [row for family, checksum in SETTINGS for row in run(family, checksum, given.size, given.only)]
    sys.stdout.write(table(rows) + "\n")
    failed = [row for row in rows if row["problem"]]
    for row in failed:
        setting = f"IPv{row['family']}{' with checksum' if row['checksum'] else ''}"
        sys.stdout.write(f"\n{row['case']}, ours is the {row['role']}, {setting}: {row['problem']}\n")
    sys.stdout.write(f"\n{len(rows) - len(failed)} of {len(rows)} ok\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
