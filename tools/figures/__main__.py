"""Makes what docs/algorithms shows: every study, or those that are named."""

import sys
import time

from tools.figures.studies import STUDIES
from tools.figures.study import write_tables


def main(names: list[str]) -> int:
    """Exit status: 0 made, 2 a name that is none."""
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        sys.stderr.write(f"no study {', '.join(unknown)}; choose from {', '.join(STUDIES)}\n")
        return 2
    for name in names or STUDIES:
        began_s = time.monotonic()
        STUDIES[name].make()
        sys.stderr.write(f"{name}: {time.monotonic() - began_s:.1f} s\n")
    write_tables(STUDIES)
    return 0


sys.exit(main(sys.argv[1:]))
