"""The journal of finished runs: appended run by run, whole after any interruption.

A record is a header (length of the rest, CRC-32 of name and rest, the run's name) and the compressed answer. A session
appends to a file of its own, each record with a single write, so a killed process leaves whole records and at most one
that is cut short at the end of its file; such a one fails its checksum and is as if it had never been. The data reach
the disk every few seconds, for the case that the machine itself stops.
"""

import fcntl
import os
import struct
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from mptcplab.errors import BusyError

_HEADER: Final = struct.Struct("<II32s")
_SYNC_EVERY_S: Final = 5.0
_OFFSET_BITS: Final = 48


class Journal:
    """The finished runs of a directory, by their names. One process at a time; a context manager."""

    def __init__(self, directory: Path) -> None:
        """Open, and read what is there; the directory is made if need be. Raises BusyError, OSError."""
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise BusyError(f"{directory} is in use by another process; wait for it, or name another one") from None
        self._directory = directory
        self._files: list[Path] = []
        self._places: dict[bytes, int] = {}
        """Of each name the file and where its record begins, in one number: a million runs take 200 MB less so."""
        self.discarded = 0
        """Files whose last record was cut short."""
        self._next = 0
        for file in sorted(directory.glob("runs-*.journal")):
            self._scan(file)
            self._next = max(self._next, int(file.stem.removeprefix("runs-")) + 1)
        self._file: int | None = None
        self._path = directory
        self._end = 0
        self._unsynced = False
        self._synced_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __contains__(self, name: str) -> bool:
        return bytes.fromhex(name) in self._places

    def __len__(self) -> int:
        return len(self._places)

    def is_earlier(self, name: str) -> bool:
        """Whether an earlier session appended the run of this name, which is there."""
        file, _ = self._place(name)
        return file != self._path

    def append(self, name: str, answer: bytes) -> None:
        """Keep the answer of the run of this name."""
        if self._file is None:
            self._path = self._directory / f"runs-{self._next:05}.journal"
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            self._files.append(self._path)
        packed = zlib.compress(answer, 1)
        binary = bytes.fromhex(name)
        record = _HEADER.pack(len(packed), _checksum(binary, packed), binary) + packed
        written = os.write(self._file, record)
        while written < len(record):
            written += os.write(self._file, record[written:])
        self._note(binary, self._path, self._end)
        self._end += len(record)
        self._unsynced = True
        if time.monotonic() - self._synced_s > _SYNC_EVERY_S:
            self.sync()

    def read(self, name: str) -> bytes:
        """The answer of a run that is there."""
        path, offset = self._place(name)
        with path.open("rb") as file:
            file.seek(offset)
            length, _, _ = _HEADER.unpack(file.read(_HEADER.size))
            return zlib.decompress(file.read(length))

    def sync(self) -> None:
        """Have the disk take what was appended; know of a record whose `append` Ctrl-C ended after its write."""
        if self._file is not None:
            self._end = self._read_records(self._path, self._end)
        if self._file is not None and self._unsynced:
            os.fsync(self._file)
            self._unsynced = False
        self._synced_s = time.monotonic()

    def close(self) -> None:
        """End the session."""
        self.sync()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        os.close(self._lock)

    def _note(self, name: bytes, file: Path, offset: int) -> None:
        assert file == self._files[-1]
        self._places[name] = (len(self._files) - 1) << _OFFSET_BITS | offset

    def _place(self, name: str) -> tuple[Path, int]:
        """The file of a run that is there, and where its record begins."""
        which, offset = divmod(self._places[bytes.fromhex(name)], 1 << _OFFSET_BITS)
        return self._files[which], offset

    def _scan(self, file: Path) -> None:
        self._files.append(file)
        if self._read_records(file, 0) < file.stat().st_size:
            self.discarded += 1

    def _read_records(self, file: Path, offset: int) -> int:
        """Note the whole records from here on; where they end."""
        with file.open("rb") as opened:
            opened.seek(offset)
            while True:
                header = opened.read(_HEADER.size)
                if len(header) < _HEADER.size:
                    break
                length, checksum, name = _HEADER.unpack(header)
                packed = opened.read(length)
                if len(packed) < length or _checksum(name, packed) != checksum:
                    break
                self._note(name, file, offset)
                offset += _HEADER.size + length
        return offset


def _checksum(name: bytes, packed: bytes) -> int:
    return zlib.crc32(packed, zlib.crc32(name))
