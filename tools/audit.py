"""`python -m tools.audit`: security advisories of the packages in requirements.lock; needs pip-audit.

Exit status: 0 all were looked up and none has an advisory, 1 some have, 3 not looked up, which is said.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

LOCK: Final = Path(__file__).resolve().parents[1] / "requirements.lock"
FOUND: Final = 1
NOT_CHECKED: Final = 3
_SHOWN: Final = 5


def main() -> int:
    """Ask pip-audit, and say what it found."""
    if shutil.which("pip-audit") is None:
        return _not_checked("pip-audit is not installed: pip install pip-audit")
    command = ["pip-audit", "--requirement", str(LOCK), "--no-deps", "--disable-pip", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or [f"pip-audit ends with status {done.returncode}"])[-1]
        return _not_checked(reason)
    advisories = [_line(package, each) for package in packages for each in package.get("vulns", ())]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    for line in advisories:
        sys.stdout.write(f"{line}\n")
    if not packages or skipped:
        rest = "" if len(skipped) <= _SHOWN else f" and {len(skipped) - _SHOWN} more"
        names = ", ".join(skipped[:_SHOWN]) + rest
        status = _not_checked(f"the index says nothing of {len(skipped)} of {len(packages)} packages: {names}")
        return FOUND if advisories else status
    sys.stdout.write(f"Python advisories: {len(advisories)} in {len(packages)} packages\n")
    return FOUND if advisories else 0


def _line(package: dict[str, Any], advisory: dict[str, Any]) -> str:
    fixed = ", ".join(advisory.get("fix_versions") or []) or "none yet"
    return f"{package['name']} {package['version']}: {advisory['id']}; mended in: {fixed}"


def _not_checked(why: str) -> int:
    sys.stdout.write(f"Python advisories: NOT CHECKED; {why}\n")
    return NOT_CHECKED


if __name__ == "__main__":
    sys.exit(main())
