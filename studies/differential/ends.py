"""One way to call the kernel's sockets and our stack's, and threads that carry out programs with them."""

import socket
import struct
import threading
import time
from typing import Protocol

from mptcplab.stack import Connection

from .program import Ending, Program, Seen, Step

_LARGE = Step(0.0, 1 << 16)


class End(Protocol):
    """One end of a connection; all that waits gives up with TimeoutError at the deadline that it was made with."""

    def send(self, data: bytes) -> None:
        """Write; ConnectionError when the connection was reset."""

    def recv(self, most_bytes: int) -> bytes:
        """Read; empty at the end of the stream."""
        ...

    def shutdown(self) -> None:
        """Write no more."""

    def abort(self) -> None:
        """Reset the connection."""


class KernelEnd:
    """A socket."""

    def __init__(self, own: socket.socket, deadline_s: float) -> None:
        self._socket, self._deadline_s = own, deadline_s

    def _limit(self) -> None:
        self._socket.settimeout(max(0.01, self._deadline_s - time.monotonic()))

    def send(self, data: bytes) -> None:
        """Write."""
        self._limit()
        self._socket.sendall(data)

    def recv(self, most_bytes: int) -> bytes:
        """Read."""
        self._limit()
        return self._socket.recv(most_bytes)

    def shutdown(self) -> None:
        """Write no more."""
        self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Reset the connection."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The kernel resets when nobody is in a call any more: this ends one that reads.
        self._socket.shutdown(socket.SHUT_RD)
        self._socket.close()

    def leave(self) -> None:
        """Give it back."""
        self._socket.close()


class OurEnd:
    """A connection of our stack."""

    def __init__(self, own: Connection, deadline_s: float) -> None:
        self._own, self._deadline_s = own, deadline_s
        self._held = b""

    def _left_s(self) -> float:
        return max(0.01, self._deadline_s - time.monotonic())

    def send(self, data: bytes) -> None:
        """Write."""
        self._own.send(data, self._left_s())

    def recv(self, most_bytes: int) -> bytes:
        """Read."""
        if not self._held:
            self._held = self._own.recv(most_bytes, self._left_s())
        piece, self._held = self._held[:most_bytes], self._held[most_bytes:]
        return piece

    def shutdown(self) -> None:
        """Write no more."""
        self._own.close()

    def abort(self) -> None:
        """Reset the connection."""
        self._own.abort()

    def leave(self) -> None:
        """It goes with its stack."""


class Player:
    """Carries out one side of a program at one end, on two threads."""

    def __init__(self, program: Program, side: str, end: End) -> None:
        self._program, self._side, self._end = program, side, end
        self._received: list[bytes] = []
        self._ending: Ending = "unfinished"
        self._heard = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write, self._read)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def finish(self, deadline_s: float) -> Seen:
        """What it saw, at the latest at the deadline."""
        for thread in self._threads:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        return Seen(b"".join(self._received), self._ending)

    def _write(self) -> None:
        side = self._program.sides[self._side]
        content, at = self._program.content(self._side), 0
        aborts_after = (
            self._program.aborts[1] if self._program.aborts and self._program.aborts[0] == self._side else None
        )
        try:
            for number, step in enumerate(side.writes):
                if number == aborts_after:
                    break
                time.sleep(step.pause_s)
                self._end.send(content[at : at + step.size_bytes])
                at += step.size_bytes
            if aborts_after is not None:
                self._end.abort()
                return
            if side.closes_last:
                self._heard.wait()
            self._end.shutdown()
        except OSError:
            pass  # The reader tells how the connection ended.

    def _read(self) -> None:
        reads, number = self._program.sides[self._side].reads, 0
        try:
            while True:
                # Once over the list with its pauses; then on in larger reads, or a slow program would take minutes.
                step = reads[number] if number < len(reads) else _LARGE
                number += 1
                time.sleep(step.pause_s)
                piece = self._end.recv(step.size_bytes)
                if not piece:
                    self._ending = "end of stream"
                    break
                self._received.append(piece)
        except TimeoutError:
            pass
        except OSError:
            self._ending = "reset"
        finally:
            self._heard.set()
