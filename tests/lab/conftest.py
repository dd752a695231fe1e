"""A laboratory to ask without a browser, and one that a browser can open."""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mptcplab.lab.app import build
from mptcplab.lab.limits import Limits
from mptcplab.lab.opened import Opened
from starlette.testclient import TestClient

TOKEN = "the-token-of-the-tests"
SMALL = """# A comment that stays.
title = "Two paths"
duration = "3 s"   # short
seed = 4

[link.a]
rate = "20 Mbit/s"
delay = "10 ms"

[link.b]
rate = "10 Mbit/s"
delay = "30 ms"
queue = "60 packets"

[connection.m]
paths = ["a", "b"]
congestion = "olia"
"""
CHROMIUM = next((place for name in ("chromium", "chromium-browser") if (place := shutil.which(name))), None)

Ask = Callable[..., Any]


def lab(*, opened: Path | None = None, limits: Limits | None = None) -> TestClient:
    """A laboratory that nobody has been let into."""
    held = None if opened is None else Opened(opened, writable=True)
    return TestClient(build(TOKEN, opened=held, limits=limits), base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A laboratory with somebody in it."""
    with lab() as client:
        assert client.get("/", params={"token": TOKEN}).status_code == 200
        yield client


def request(text: str = SMALL, **more: Any) -> dict[str, Any]:
    """The body of a request."""
    return {"page": "test", "text": text, "data": None, "origin": None, **more}


def first_line(process: subprocess.Popen[str]) -> str:
    """The first line that a process prints, within five minutes: the machine may be busy."""
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], 300.0)[0]:
        process.kill()
        raise TimeoutError("nothing is printed")
    return process.stdout.readline().strip()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """What `mptcplab lab` prints, while it serves."""
    program = Path(sys.executable).with_name("mptcplab")
    command = [str(program), "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        try:
            yield first_line(process)
        finally:
            process.terminate()
            try:
                assert process.wait(60) is not None
            finally:
                process.kill()
