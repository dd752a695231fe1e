"""A scenario with loss on two paths, for plug-ins."""

from collections.abc import Callable
from pathlib import Path

import pytest

NETWORK = """
duration = "5 s"
[link.wifi]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "50 ms"
loss = "0.5 %"
[link.lte]
rate = "10 Mbit/s"
delay = "30 ms"
queue = "100 ms"
loss = "0.1 %"
[measure]
warmup = "1 s"
[connection.download]
paths = ["wifi", "lte"]
"""


@pytest.fixture
def network() -> str:
    """Two paths with loss, and a download whose algorithms are to be added."""
    return NETWORK


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a plug-in's file `own.py` and a scenario that uses it by a line of the connection."""

    def written(plugin: str, line: str) -> Path:
        (tmp_path / "own.py").write_text(plugin, encoding="utf-8")
        file = tmp_path / "scenario.toml"
        file.write_text(f"{NETWORK}{line}\n", encoding="utf-8")
        return file

    return written
