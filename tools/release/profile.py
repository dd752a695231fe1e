"""Profile of the release: builds the core instrumented, lets it run what `training` has, and merges what was counted.

`python -m tools.release.profile PROFILE`; `make wheel` does so before it builds. Needs rustup's component llvm-tools.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TARGET: Final = "x86_64-unknown-linux-gnu"
MISSING: Final = """llvm-profdata is missing: install it with `rustup component add llvm-tools`, or build a wheel
without a profile, whose results are the same: make wheel PROFILE="""


def profdata() -> Path | None:
    """The program that merges profiles, of the same LLVM as the compiler's."""
    answer = subprocess.run(["rustc", "--print", "target-libdir"], cwd=ROOT, check=True, capture_output=True, text=True)
    tool = Path(answer.stdout.strip()).parent / "bin" / "llvm-profdata"
    return tool if tool.exists() else None


def make(profile: Path) -> int:
    """Writes `profile`. Exit status: 0 done, 2 a tool is missing."""
    tool = profdata()
    if tool is None:
        sys.stderr.write(f"{MISSING}\n")
        return 2
    work = profile.parent / "work"
    shutil.rmtree(work, ignore_errors=True)
    site, counts = work / "site", work / "counts"
    # The same target as the wheel's, or functions have other names. Without zig: only the wheel needs an old glibc.
    build = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--target", TARGET]
    build += ["--target-dir", str(profile.parent / "target"), "--compatibility", "linux", "--out", str(work)]
    instrumented = os.environ | {"RUSTFLAGS": f"-Cprofile-generate={counts}", "MPTCPLAB_COMMIT": "instrumented"}
    subprocess.run(build, cwd=ROOT, check=True, env=instrumented)
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    training = [sys.executable, "-m", "tools.release.training"]
    subprocess.run(training, cwd=ROOT, check=True, env=os.environ | {"PYTHONPATH": str(site)})
    raw = sorted(str(each) for each in counts.glob("*.profraw"))
    subprocess.run([str(tool), "merge", "--output", str(profile), *raw], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(make(Path(sys.argv[1]).resolve()))
