"""Profile of the release: builds the core instrumented, lets it run what `training` has, and merges what was counted.

`python -m tools.release.profile PROFILE`; `make wheel` does so before it builds, and afterwards asks with
`python -m tools.release.profile PROFILE WHEEL` whether the wheel has the functions that were counted. Needs rustup's
component llvm-tools.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
COMPATIBILITY: Final = "manylinux2014"
HOTTEST: Final = 100
"""So many of the functions that were executed most often are looked for in the wheel."""
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
    # As the wheel is built, zig and all: Cargo puts a hash of how it builds into the names of functions, and the
    # compiler ignores what was counted under another name without a word.
    build = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--zig"]
    # Only zig's linker is left out: it has no option that the counters need. The copy runs here alone.
    build += [
        "--compatibility",
        COMPATIBILITY,
        "--auditwheel",
        "skip",
        "--target-dir",
        str(profile.parent / "target"),
        "--out",
        str(work),
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where zig is
    flags = {"RUSTFLAGS": f"-Cprofile-generate={counts} -Clinker=cc", "MPTCPLAB_COMMIT": "instrumented", "PATH": path}
    subprocess.run(build, cwd=ROOT, check=True, env=os.environ | flags)
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    training = [sys.executable, "-m", "tools.release.training"]
    subprocess.run(training, cwd=ROOT, check=True, env=os.environ | {"PYTHONPATH": str(site)})
    raw = sorted(str(each) for each in counts.glob("*.profraw"))
    subprocess.run([str(tool), "merge", "--output", str(profile), *raw], check=True)
    return 0


def hottest(profile: Path) -> set[str]:
    """The functions that were executed most often, by their mangled names."""
    shown = _output("llvm-profdata", "show", f"--topn={HOTTEST}", str(profile))
    return set(re.findall(r"([^\s;]+), max count", shown))


def check(profile: Path, wheel: Path) -> int:
    """Whether the wheel was built with the profile. Exit status: 0 yes, 1 no, 2 a tool is missing.

    Most of the hottest functions must be there by name; some are not, because they are part of others.
    """
    if profdata() is None:
        sys.stderr.write(f"{MISSING}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        core = next(name for name in archive.namelist() if re.fullmatch(r"mptcplab/_core\..*so", name))
        there = set(_output("llvm-nm", "--format=just-symbols", archive.extract(core, folder)).split())
    wanted = hottest(profile)
    found = len(wanted & there)
    sys.stdout.write(f"{found} of the {len(wanted)} functions that were executed most often are in the wheel\n")
    if 2 * found > len(wanted):
        return 0
    sys.stderr.write("The profile is of functions with other names: this wheel is no faster than one without it.\n")
    return 1


def _output(tool: str, *arguments: str) -> str:
    merge = profdata()
    assert merge is not None
    command = [str(merge.with_name(tool)), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    paths = [Path(each).resolve() for each in sys.argv[1:]]
    sys.exit(make(*paths) if len(paths) == 1 else check(*paths))
