"""The tests again where no optional program is found, and as an ordinary user: `python -m tools.optional DIR COMMAND…`.

First COMMAND, which runs the tests, with a PATH on which each optional program that is installed notes which test calls
it. Then those tests, with a PATH on which none is found; they must say what they lack. As root, last, the tests of
`ORDINARY` as a user without privileges, with that PATH too.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PROGRAMS: Final = (
    *("ab", "apache2", "curl", "iperf3", "lftp", "mptcpize", "nginx", "vsftpd", "wget"),
    *("chromium", "chromium-browser", "dumpcap", "tcpdump", "tshark"),
    *("clang", "openssl", "strace", "valgrind"),
    *("bpftool", "ethtool", "ip", "ip6tables", "iptables", "nft", "nstat", "ping", "ss", "tc"),
)
"""What is not on a machine that has the toolchains only."""
ORDINARY: Final = (
    *("tests/bpf", "tests/capture/test_live.py", "tests/interop", "tests/kernels", "tests/live", "tests/probe"),
    *("tests/stack", "tests/stack_engine", "tests/testbed"),
    *("tests/cli/test_commands.py", "tests/cli/test_compare.py", "tests/cli/test_doctor.py"),
    *("tests/cli/test_lacking.py", "tests/plugins/test_faults.py", "tests/simulated/test_short_flows.py"),
)
"""The tests that look at the user's privileges."""
_NOBODY: Final = 65534
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def noting(place: Path) -> Path:
    """A directory for the PATH with the optional programs that there are; `place`/calls says which test called one."""
    calls, programs = place / "calls", place / "noting"
    calls.touch()
    calls.chmod(0o666)  # some run as another user
    programs.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name):
            wrapper = programs / name
            wrapper.write_text(f'#!/bin/sh\necho "${{PYTEST_CURRENT_TEST:-}}" >> {calls}\nexec {found} "$@"\n')
            wrapper.chmod(0o755)
    return programs


def without(place: Path) -> Path:
    """A directory that can be the PATH: every program of this one but the optional ones."""
    programs = place / "without"
    programs.mkdir()
    for directory in os.get_exec_path():
        for program in sorted(Path(directory).glob("*")):
            if program.name not in PROGRAMS and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    return programs


def noted(calls: Iterable[str]) -> list[str]:
    """The tests of the notes, each once: `FILE::NAME (PHASE)` or nothing on a line."""
    return sorted({line.rpartition(" (")[0] for line in calls if " (" in line})


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(place: Path, command: list[str]) -> int:
    """Run all; the first status that is not 0."""
    place.chmod(0o755)
    path = os.environ["PATH"]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("MPTCPLAB_REQUIRE")}
    bare["PATH"] = str(without(place))
    done = subprocess.run(command, env={**os.environ, "PATH": f"{noting(place)}{os.pathsep}{path}"}, check=False)
    if done.returncode:
        return done.returncode
    tests = noted((place / "calls").read_text(encoding="utf-8").splitlines())
    _say(f"\n{len(tests)} tests call optional programs: again without them")
    # Of a test that has gone, or that a worker names otherwise, pytest says that it is not there.
    if tests and (status := subprocess.run([*_PYTEST, *tests], env=bare, check=False).returncode):
        return status
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        _say("the tests ran as an ordinary user, or there is no setpriv: not once more")
        return 0
    _say("\nas an ordinary user, without optional programs")
    home = place / "home"
    home.mkdir()
    os.chown(home, _NOBODY, _NOBODY)
    # The tree and the environment may lie where only root may look.
    only = "-all,+dac_read_search"
    user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", f"--inh-caps={only}"]
    user += [f"--ambient-caps={only}", f"--bounding-set={only}"]
    own = {"HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*user, *_PYTEST, "-n", "2", *ORDINARY], env={**bare, **own}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
