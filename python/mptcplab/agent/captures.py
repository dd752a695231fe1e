"""Captures of a run on real interfaces, by dumpcap or tcpdump."""

import contextlib
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mptcplab.agent.system import Refused

LARGEST_KB: Final = 4_000_000
"""Of one file; the rest of a longer capture is left out."""
_READY_WITHIN_S: Final = 5.0


class Captures:
    """One program for each interface, from `start` until it is closed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, interfaces: Sequence[str], snap_length: int, selection: str) -> None:
        """Capture what `selection`, a filter of pcap, selects. Raises Refused when that cannot be done."""
        for interface in interfaces:
            file, words = _words(interface, snap_length, selection, self._directory / interface_file(interface))
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._running.append(process)
            until_s = time.monotonic() + _READY_WITHIN_S
            while not file.exists() or not file.stat().st_size:
                if process.poll() is not None or time.monotonic() > until_s:
                    raise Refused(f"nothing is captured on {interface} by: {' '.join(words)}")
                time.sleep(0.02)

    def stop(self) -> list[str]:
        """End them, and answer the names of the files."""
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        for process in self._running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()
        return sorted(file.name for file in self._directory.glob("*.pcap*"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def interface_file(interface: str) -> str:
    """The name of an interface as that of a file."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", interface)


def _words(interface: str, snap_length: int, selection: str, place: Path) -> tuple[Path, list[str]]:
    """The file that is written, and the program that writes it."""
    # The kernel kills it with the agent, however that ends.
    contained = ["setpriv", "--pdeathsig", "KILL"]
    if shutil.which("dumpcap"):
        file = place.with_name(f"{place.name}.pcapng")
        words = ["dumpcap", "-q", "-i", interface, "-s", str(snap_length), "-a", f"filesize:{LARGEST_KB}"]
        return file, [*contained, *words, "-f", selection, "-w", str(file)]
    if shutil.which("tcpdump"):
        file = place.with_name(f"{place.name}.pcap")
        words = ["tcpdump", "-i", interface, "-s", str(snap_length), "-U", "-Z", "root", "-w", str(file)]
        return file, [*contained, *words, selection]
    raise Refused("captures need dumpcap or tcpdump; on Debian: apt-get install tcpdump")
