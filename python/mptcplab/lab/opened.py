"""The file of the command line: read at the beginning, and written back when the page says so."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path

from mptcplab import files


class ChangedError(Exception):
    """Somebody else has changed the file."""


class Opened:
    """A file that the page may write."""

    def __init__(self, file: Path, *, writable: bool) -> None:
        self.file = file
        self.writable = writable
        self.text = files.read(file).decode("utf-8-sig")
        self._digest = self._now()

    def save(self, text: str) -> None:
        """Write it whole or not at all. Raises ChangedError, OSError."""
        if self._now() != self._digest:
            raise ChangedError(f"{self.file.name} was changed by another program since it was opened")
        place = self.file.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as target:
                target.write(text)
            Path(name).chmod(place.stat().st_mode & 0o777)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self.text = text
        self._digest = self._now()

    def _now(self) -> str:
        return sha256(self.file.read_bytes()).hexdigest()
