"""The process of `mptcplab lab`: how it begins, what others see of it, and that it ends when it is told to."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import url2pathname

import pytest
from mptcplab.lab.impatience import MOST_WAITING, REQUEST_S

from tests.lab.conftest import first_line
from tests.left import family

PROGRAM = str(Path(sys.executable).with_name("mptcplab"))
AT_MOST_S = 120.0
TOKEN = "a-token-that-nobody-may-see"
KILLS = int(os.environ.get("MPTCPLAB_KILLS", "3"))


@contextmanager
def started(place: Path, *words: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A server, which also ends when the test fails."""
    (place / "temporary").mkdir(exist_ok=True)
    with subprocess.Popen(
        [PROGRAM, "lab", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place / "temporary"), **variables},
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # its workers end with it


def ended(process: subprocess.Popen[str], place: Path, sign: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    """The status and what it said, once it has been told to end; nothing of it is left."""
    workers = family(process.pid)
    process.send_signal(sign)
    _, said = process.communicate(timeout=AT_MOST_S)
    until = time.monotonic() + AT_MOST_S
    while any(Path(f"/proc/{each}/cmdline").exists() for each in workers) and time.monotonic() < until:
        time.sleep(0.01)
    assert not [each for each in workers if Path(f"/proc/{each}/cmdline").exists()]
    assert not list((place / "temporary").iterdir())
    return process.returncode, said


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("turn", range(KILLS))
def test_it_ends_at_the_moment_of_its_line(tmp_path: Path, turn: int, sign: signal.Signals) -> None:
    with started(tmp_path, "--no-browser") as process:
        assert first_line(process).startswith("http://127.0.0.1:")
        time.sleep(turn * 0.05)
        assert ended(process, tmp_path, sign) == (0, "")


@pytest.mark.parametrize("turn", range(KILLS))
def test_it_ends_before_its_line(tmp_path: Path, turn: int) -> None:
    with started(tmp_path, "--no-browser") as process:
        time.sleep(0.2 + turn * 0.4)
        status, said = ended(process, tmp_path)
    assert status in (0, -signal.SIGTERM)
    assert said == ""


def test_no_one_sees_the_token_in_what_the_browser_is_started_with(tmp_path: Path) -> None:
    """The browser gets a page that only its user can read, and that leads to the address; it goes with the server."""
    browser = tmp_path / "browser"
    # It says what it was started with once that is complete, and stays, as some browsers do.
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/said.part\nmv {tmp_path}/said.part {tmp_path}/said\nread x\n'
    )
    browser.chmod(0o755)
    with started(tmp_path, "--token", TOKEN, BROWSER=f"{browser} %s") as process:
        address = first_line(process)
        until = time.monotonic() + AT_MOST_S
        while not (tmp_path / "said").exists() and time.monotonic() < until:
            time.sleep(0.01)
        said = (tmp_path / "said").read_text(encoding="utf-8").strip()
        assert said.startswith("file:///")
        assert TOKEN not in said
        page = Path(url2pathname(said.removeprefix("file://")))
        assert f'url={address}"' in page.read_text(encoding="utf-8")
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        for started_with in Path("/proc").glob("[0-9]*/cmdline"):
            if int(started_with.parent.name) == process.pid:
                continue  # its own has the token, as it was given
            with suppress(OSError):
                assert TOKEN.encode() not in started_with.read_bytes()
        assert ended(process, tmp_path) == (0, "")


def test_the_documentation_has_the_limits_of_connections() -> None:
    text = (Path(__file__).parents[2] / "docs/lab.md").read_text(encoding="utf-8")
    found = re.search(r"within (\d+) s, and of (\d+) connections", " ".join(text.split()))
    assert found is not None
    assert found.groups() == (f"{REQUEST_S:g}", str(MOST_WAITING))
