"""Install the wheel into empty environments and try it there, with the oldest dependencies it allows and the newest.

`python -m tools.release.install WHEEL [--python P …] [--resolution R …] [--tests]`; `make check-install` runs it on the
wheel in target/wheels. No checkout and no Rust is visible to what is tried.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS: Final = {"oldest": "lowest-direct", "newest": "highest"}
TESTS: Final = ("scenario", "result", "report", "cli", "models", "model_engine", "designs", "analysis")
"""Folders of tests/ that need neither a compiler nor privileges."""
TEST_PACKAGES: Final = ("pytest>=9", "hypothesis>=6.100", "jsonschema>=4.20", "nbformat>=5.10")
TRIED: Final = (
    ("mptcplab", "--version"),
    ("mptcplab", "list", "scenarios"),
    ("mptcplab", "run", "wifi-lte", "--out", "out/wifi-lte"),
    ("mptcplab", "run", "wifi-lte", "--engine", "model"),
    ("mptcplab", "compare", "wifi-lte", "--vary", "connection.download.congestion=lia,olia", "--repeat", "2"),
    ("mptcplab", "advise", "--path", "fibre: 20/5 Mbit/s, 8 ms", "--path", "lte: 10/5 Mbit/s, 45 ms"),
    ("mptcplab", "reproduce", "khalili-2013", "--quick", "--item", "figure-9"),
    ("python", "-W", "error", "-c", "import mptcplab; mptcplab.Scenario.load('two-paths')"),
)


def interpreter(python: str) -> str | None:
    """The path of an interpreter, given as a version or a path; None when this machine does not have it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    # Interpreters of pyenv that are not its current one hide behind shims that refuse: ask for them by path.
    for asked in (python, *(str(each) for each in sorted(pyenv.glob(f"{python}.*/bin/python")))):
        command = [uv(), "python", "find", "--no-python-downloads", asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return None


def uv() -> str:
    """The uv of the environment that runs this."""
    return str(Path(sys.executable).parent / "uv")


def check(wheel: Path, python: str, resolution: str, *, tests: bool) -> bool:
    """Whether the wheel installs with this interpreter and these dependencies, and works."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        environment = {
            "PATH": f"{place / 'venv' / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(place),
            "VIRTUAL_ENV": str(place / "venv"),
        }

        def run(*command: str, where: Path = place, inherit: bool = False) -> bool:
            variables = os.environ | environment if inherit else environment
            done = subprocess.run(command, cwd=where, env=variables, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.stdout.write(f"  failed ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}\n")
            return done.returncode == 0

        packages = [str(wheel), *(TEST_PACKAGES if tests else ())]
        install = ("pip", "install", "--quiet", "--resolution", RESOLUTIONS[resolution], "--only-binary", ":all:")
        make = ("venv", "--quiet", "--no-python-downloads", "--python", python)
        good = run(uv(), *make, str(place / "venv"), inherit=True)
        good = good and run(uv(), *install, *packages, inherit=True)
        if not good:
            return False
        failed = [command for command in TRIED if not run(*command)]
        good = not failed
        if tests:
            folders = [str(ROOT / "tests" / folder) for folder in TESTS]
            good &= run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders, where=ROOT)
        return good


def check_uvx(wheel: Path, python: str) -> bool:
    """Whether `uvx --from WHEEL mptcplab` runs a scenario."""
    with tempfile.TemporaryDirectory() as name:
        command = [uv(), "tool", "run", "--python", python, "--from", str(wheel), "mptcplab", "run", "wifi-lte"]
        done = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stdout.write(f"{done.stdout}{done.stderr}\n")
        return done.returncode == 0


def check_sdist(sdist: Path, python: str) -> bool:
    """Whether the source distribution builds, runs a scenario and repeats a figure; takes Rust and minutes."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "venv"
        commands = (
            (uv(), "venv", "--quiet", "--no-python-downloads", "--python", python, str(place)),
            (uv(), "pip", "install", "--quiet", "--python", str(place), "--no-binary", "mptcplab", str(sdist)),
            (str(place / "bin" / "mptcplab"), "run", "wifi-lte"),
            (str(place / "bin" / "mptcplab"), "reproduce", "khalili-2013", "--quick", "--item", "figure-9"),
        )
        for command in commands:
            done = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.stdout.write(f"  failed ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}\n")
                return False
        return True


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every combination works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", nargs="+", default=list(PYTHONS), help="versions or paths of interpreters")
    parser.add_argument("--resolution", nargs="+", choices=list(RESOLUTIONS), default=list(RESOLUTIONS))
    parser.add_argument("--tests", action="store_true", help="run the tests that need no compiler too")
    parser.add_argument("--sdist", type=Path, help="build and try this source distribution too")
    chosen = parser.parse_args(arguments)
    found = {python: interpreter(python) for python in chosen.python}
    failed = not any(found.values())
    for python, path in found.items():
        if path is None:
            sys.stdout.write(f"Python {python}: not on this machine, not tried\n")
            continue
        for resolution in chosen.resolution:
            good = check(chosen.wheel.resolve(), path, resolution, tests=chosen.tests)
            sys.stdout.write(f"Python {python}, {resolution} dependencies: {'works' if good else 'FAILS'}\n")
            sys.stdout.flush()
            failed |= not good
    path = next((path for path in found.values() if path), None)
    if path is not None:
        good = check_uvx(chosen.wheel.resolve(), path)
        sys.stdout.write(f"uvx --from the wheel: {'works' if good else 'FAILS'}\n")
        failed |= not good
        if chosen.sdist is not None:
            good = check_sdist(chosen.sdist.resolve(), path)
            sys.stdout.write(f"source distribution: {'builds and works' if good else 'FAILS'}\n")
            failed |= not good
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
