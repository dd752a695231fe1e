"""The file of the command line: read at the beginning, and written back when the page says so."""

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
        """Write it whole or not at all. Raises ChangedError, TargetError, OSError."""
        if self._now() != self._digest:
            raise ChangedError(f"{self.file.name} was changed by another program since it was opened")
        files.write_text(self.file, text)
        self.text = text
        self._digest = self._now()

    def _now(self) -> str:
        return sha256(files.read(self.file)).hexdigest()
