"""The tests of what depends on other packages, with the oldest releases of them that pyproject.toml allows.

`python -m tools.release.oldest [TEST…]` installs them beside the environment that runs this, and uses the core that is
built there. `make check-install` tries a wheel with the oldest and the newest ones, on each Python.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.release.install import RESOLUTIONS, ROOT, TEST_PACKAGES, uv

TESTS: Final = (
    *("tests/designs", "tests/report/test_plots.py", "tests/report/test_report.py", "tests/result/test_frames.py"),
    *("tests/scenario/test_reading.py", "tests/models/test_hand_checked.py", "tests/analysis/test_statistics.py"),
)


def main(tests: Sequence[str] = TESTS) -> int:
    """The first status that is not 0."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-oldest-") as name:
        place = Path(name)
        environment = {**os.environ, "VIRTUAL_ENV": str(place / "venv"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = f"{ROOT / 'python'}{os.pathsep}{ROOT}"
        resolve = ["--quiet", "--resolution", RESOLUTIONS["oldest"], "--only-binary", ":all:"]
        packages = str(place / "packages.txt")
        python = str(place / "venv" / "bin" / "python")
        for command in (
            [uv(), "venv", "--quiet", "--python", sys.executable, str(place / "venv")],
            [uv(), "pip", "compile", *resolve, str(ROOT / "pyproject.toml"), "--output-file", packages],
            [uv(), "pip", "install", "--quiet", "--requirement", packages, *TEST_PACKAGES],
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        ):
            done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or TESTS))
