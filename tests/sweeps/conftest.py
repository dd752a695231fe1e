"""A small sweep, and the program that runs it."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from mptcplab import cli

SCENARIO = """
duration = "2 s"

[link.one]
rate = "5 Mbit/s"
delay = "5 ms"
queue = "50 ms"

[link.two]
rate = "5 Mbit/s"
delay = "5 ms"
queue = "50 ms"
loss = "0.5 %"

[connection.m]
paths = ["one", "two"]
congestion = "lia"
"""

SWEEP = """
scenario = "base.toml"
repeat = 2

[design]
kind = "lhs"
points = 5

[factor]
"link.one.rate" = ["1 Mbit/s", "5 Mbit/s"]
"link.two.delay" = ["1 ms", "25 ms"]

[variant]
"connection.m.congestion" = ["lia", "olia"]
"""


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(SCENARIO, encoding="utf-8")
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP, encoding="utf-8")
    return file


class Program:
    """The command, and what it left."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-c", "from mptcplab.cli import main; main()", *map(str, arguments)]

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """In this process."""
        self._capsys.readouterr()
        status = cli.invoke(list(map(str, arguments)))
        captured = self._capsys.readouterr()
        return subprocess.CompletedProcess(list(map(str, arguments)), status, captured.out, captured.err)

    def dataset(self, directory: Path) -> dict[str, bytes]:
        """Everything but the journal, by name."""
        return {
            str(file.relative_to(directory)): file.read_bytes()
            for file in sorted(directory.rglob("*"))
            if file.is_file() and file.relative_to(directory).parts[0] != "runs"
        }

    def records(self, directory: Path) -> list[str]:
        """The names of all runs in the journal's files, as often as they are there."""
        header = struct.Struct("<II32s")
        names = []
        for file in sorted((directory / "runs").glob("*.journal")):
            content, at = file.read_bytes(), 0
            while at + header.size <= len(content):
                length, _, name = header.unpack_from(content, at)
                at += header.size + length
                if at <= len(content):
                    names.append(name.hex())
        return names


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(capsys)
