"""The engines on real packets for an ordinary user: the command enters a user namespace by itself."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest
from mptcplab import machine

from tests.networks import FAST_AND_SLOW

MISSING = [f"{each.what} {each.found}" for each in (*machine.live(), machine.kernel_mptcp()) if not each.good]
MISSING += [name for name in ("ip", "tc", "unshare", "setpriv", "mount") if shutil.which(name) is None]
MISSING += [] if os.geteuid() == 0 else ["root, which becomes another user"]
pytestmark = pytest.mark.skipif(bool(MISSING), reason="it needs " + "; ".join(MISSING))

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
# What nobody must reach, which may lie where only root may look.
READ = (Path(sys.base_prefix), Path(__file__).parents[2])
COMMAND = (sys.executable, "-c", "from mptcplab.cli import main; main()")
SCENARIO = (
    'duration = "2 s"'
    + FAST_AND_SLOW
    + """
[connection.m]
paths = ["fast", "slow"]
scheduler = "linux"
congestion = "reno"
"""
)


def mounts(shelf: Path) -> str:
    """Commands that show READ to nobody, and a TUN device as most distributions have it; for a mount namespace."""
    lines = ["mount -t tmpfs none /dev/net", "mknod -m 666 /dev/net/tun c 10 200"]
    closed = {next((up for up in reversed(path.parents) if not up.stat().st_mode & 0o001), None): None for path in READ}
    for hidden in filter(None, closed):
        inside = [path for path in READ if path.is_relative_to(hidden)]
        for number, path in enumerate(inside):
            lines += [f"mkdir -p {shelf}/{number}", f"mount --bind {quote(str(path))} {shelf}/{number}"]
        lines += [f"mount -t tmpfs -o mode=755 none {quote(str(hidden))}"]
        for number, path in enumerate(inside):
            lines += [f"mkdir -p {quote(str(path))}", f"mount --bind {shelf}/{number} {quote(str(path))}"]
    return " && ".join([*lines, 'exec "$@"'])


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that any user may write, below directories that all may pass."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-nobody-") as name:
        (Path(name) / "shelf").mkdir()
        (Path(name) / "home").mkdir(mode=0o777)
        for directory in (Path(name), Path(name) / "home"):
            directory.chmod(0o777)
        yield Path(name)


def begun(place: Path, *words: str) -> "subprocess.Popen[str]":
    """The command in a session of its own, which reads its standard input."""
    home = str(place / "home")
    return subprocess.Popen(
        ["unshare", "--mount", "sh", "-ec", mounts(place / "shelf"), "-", *NOBODY, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=home,
        env={**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache", "TMPDIR": home},
    )


def nobody(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command's end, with the scenario on its standard input."""
    with begun(place, *words) as process:
        try:
            out, said = process.communicate(SCENARIO, timeout=100)
        finally:
            process.kill()
    return subprocess.CompletedProcess(words, process.returncode, out, said)


@pytest.fixture
def allowed(place: Path) -> None:
    """Leave the test out where the kernel keeps user namespaces from ordinary users."""
    tried = nobody(place, *machine.USER_NAMESPACE, "--net", "true")
    if tried.returncode != 0:
        pytest.skip(f"user namespaces are not allowed here: {tried.stderr}")


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("engine", ["linux", "stack"])
def test_it_runs_and_leaves_no_files(engine: str, place: Path) -> None:
    done = nobody(place, *COMMAND, "run", "-", "--engine", engine, "--json", "--out", "result")
    assert done.returncode == 0, done.stderr
    (connection,) = json.loads(done.stdout)["connections"]
    assert all(subflow["goodput_bps"] > 0 for subflow in connection["subflows"])
    assert 10e6 < connection["goodput_bps"] < 30e6, done.stdout
    assert (place / "home" / "result" / "report.html").is_file()
    assert {each.name for each in (place / "home").iterdir()} <= {"result", ".cache", ".config"}


def of_session(leader: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(stat.parent.name)
    return found


def devices(process: int) -> int:
    """How many TUN devices it has open."""
    found = 0
    for each in Path(f"/proc/{process}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed since
            found += each.readlink() == Path("/dev/net/tun")
    return found


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("engine", ["linux", "stack"])
def test_an_interruption_leaves_nothing(engine: str, place: Path) -> None:
    words = ("run", "-", "--engine", engine, "--set", "duration=60 s", "--capture", "packets", "--out", "result")
    with begun(place, *COMMAND, *words) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(SCENARIO)
            process.stdin.close()
            tuns = 0
            until = time.monotonic() + 60
            # The hosts are made: two paths and a server, at least.
            while tuns < 3 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                tuns = devices(process.pid)
            assert tuns >= 3, process.stderr and process.stderr.read()
            time.sleep(1)
            # As Ctrl-C at a terminal does: all of the foreground's processes.
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 1
            assert process.stderr is not None
            assert "interrupted after 0 of 1 runs" in process.stderr.read()
        finally:
            process.kill()
    # Namespaces have no names; they go with the processes that are in them.
    assert not of_session(process.pid)
    assert {each.name for each in (place / "home").iterdir()} <= {".cache", ".config"}


def test_a_kernel_that_refuses_is_said(place: Path) -> None:
    refusing = place / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare: Operation not permitted' >&2; exit 1\n")
    refusing.chmod(0o755)
    path = f"PATH={place}:{os.environ['PATH']}"
    done = nobody(place, "env", path, *COMMAND, "run", "-", "--engine", "stack")
    assert done.returncode == 3, done.stderr
    assert "user namespaces, which are not allowed (unshare: Operation not permitted)" in done.stderr


def test_a_wrong_scenario_is_told_first(place: Path) -> None:
    done = nobody(place, *COMMAND, "run", "-", "--engine", "stack", "--set", "link.one.rate=fast")
    assert done.returncode == 2, done.stderr
