"""What an agent has changed on its machine, in a file that is written before each change.

An agent puts everything back when a session ends, however it ends. One that is killed cannot; the next finds the file.
After a restart of the machine nothing is left to put back, as none of these changes outlives the kernel.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mptcplab.agent import system
from mptcplab.errors import EngineUnavailableError

Entry = Mapping[str, Any]

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/net")


class Undo:
    """The list of what is to be put back, the last first."""

    def __init__(self, path: Path) -> None:
        """With the file `path`, which no other agent may use. Raises EngineUnavailableError when one does."""
        self._path = path
        self._entries: list[Entry] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EngineUnavailableError(
                f"another agent works with {path}; end it, or choose another file with --state"
            ) from None
        except OSError as error:
            raise EngineUnavailableError(
                f"{path}: {error.strerror}; choose a place that can be written with --state"
            ) from None

    def left_over(self) -> list[str]:
        """Restore what a killed agent left changed; returns what could not be restored."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        try:
            document = json.loads(text)
            if document["boot"] == _boot() and document["namespace"] == _namespace():
                self._entries = list(document["entries"])
        except (ValueError, KeyError, TypeError):
            self._path.unlink()
            return [f"{self._path} cannot be read, so what it lists was not put back"]
        return self.put_back()

    def add(self, **entry: Any) -> None:  # noqa: ANN401 - JSON
        """Note, before a change is made, how to take it back: `kind` names the way (`system.put_back`)."""
        self._entries.append(entry)
        self._write()

    def put_back(self) -> list[str]:
        """Take every change back; answers what could not be, which is not tried again."""
        problems = []
        while self._entries:
            try:
                system.put_back(self._entries[-1])
            except (OSError, KeyError, TypeError, ValueError) as error:
                problems.append(f"{self._entries[-1].get('kind')}: {error}")
            self._entries.pop()
            self._write()
        return problems

    def close(self) -> None:
        """Let others use the file."""
        os.close(self._lock)

    def _write(self) -> None:
        if not self._entries:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            return
        document = {"boot": _boot(), "namespace": _namespace(), "entries": self._entries}
        part = self._path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._path)


def _boot() -> str:
    return _BOOT.read_text(encoding="ascii").strip()


def _namespace() -> int:
    """The network namespace that the changes are in; the machine's own has the same number until it restarts."""
    return _NAMESPACE.stat().st_ino
