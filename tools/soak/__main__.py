"""Long tests of what must hold at any moment.

python -m tools.soak kill [COUNT] [COMMAND…]  kill each command that writes COUNT (100) times at random moments
python -m tools.soak full [COMMAND [PART…]]   run it on disks with room for each PART of what it writes; as root, in a
                                              mount namespace of its own (unshare --mount)
"""

import os
import random
import sys
import tempfile
import time
from pathlib import Path

import mptcplab.advice
import mptcplab.capture
import mptcplab.engines.runner
import mptcplab.plots
import mptcplab.render.report
import mptcplab.sweeps.dataset  # noqa: F401 - all that is slow to load, once

from tools.soak import full, kill
from tools.soak.writers import WRITERS


def main(arguments: list[str]) -> int:
    """Exit status: 0 all held, 1 something did not, 2 arguments that make no sense."""
    if arguments[:1] not in (["kill"], ["full"]):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="mptcplab-soak-") as name:
        os.chdir(name)
        failed = (_kill if arguments[0] == "kill" else _full)(Path(name), arguments[1:])
        os.chdir("/")
    return failed


def _kill(place: Path, arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 100
    seed = int(os.environ.get("SOAK_SEED", time.time()))
    sys.stdout.write(f"seed {seed}\n")
    failed = 0
    for writer in arguments[1:] or WRITERS:
        try:
            found = kill.kill(writer, count, place, random.Random(f"{seed} {writer}"))
        except kill.MixtureError as error:
            sys.stdout.write(f"FAILED {error}\n")
            failed = 1
        else:
            sys.stdout.write(f"{writer}: {', '.join(f'{number} {what}' for what, number in found.items())}\n")
        sys.stdout.flush()
    return failed


def _full(place: Path, arguments: list[str]) -> int:
    parts = [float(part) for part in arguments[1:]] or full.PARTS
    failed = 0
    for writer in arguments[:1] or WRITERS:
        try:
            for said in full.fill(writer, place, parts):
                sys.stdout.write(f"{writer}: {said}\n")
        except AssertionError as error:
            sys.stdout.write(f"FAILED {writer}: {error}\n")
            failed = 1
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
