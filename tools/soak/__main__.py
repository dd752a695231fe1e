"""Long tests of what must hold at any moment.

python -m tools.soak kill [COUNT] [COMMAND…]  kill each command that writes COUNT (100) times at random moments
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

from tools.soak import kill
from tools.soak.writers import WRITERS


def main(arguments: list[str]) -> int:
    """Exit status: 0 all held, 1 something did not, 2 arguments that make no sense."""
    if arguments[:1] != ["kill"]:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    count = int(arguments[1]) if len(arguments) > 1 else 100
    seed = int(os.environ.get("SOAK_SEED", time.time()))
    sys.stdout.write(f"seed {seed}\n")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="mptcplab-soak-") as name:
        os.chdir(name)
        for writer in arguments[2:] or WRITERS:
            try:
                found = kill.kill(writer, count, Path(name), random.Random(f"{seed} {writer}"))
            except kill.MixtureError as error:
                sys.stdout.write(f"FAILED {error}\n")
                failed = 1
            else:
                sys.stdout.write(f"{writer}: {', '.join(f'{number} {what}' for what, number in found.items())}\n")
            sys.stdout.flush()
        os.chdir("/")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
