"""`python -m studies.diagnose DIR [NAME …]`: make the situations, keep what was gathered, print what was found."""

import sys
from pathlib import Path

from studies.diagnose import ALL, record, table

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    _, directory, *names = sys.argv
    record([each for each in ALL if not names or each.name in names], Path(directory))
    sys.exit(0 if names or table(Path(directory)) else 1)
