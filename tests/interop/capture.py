"""A capture of what goes over interfaces of this namespace, as tshark reads it: classic pcap, raw IP packets."""

import contextlib
import socket
import struct
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_ETH_P_ALL = 3
_SO_RCVBUFFORCE = 33
_LINKTYPE_RAW = 101


class Capture:
    """Captures while it is open."""

    def __init__(self, path: Path, interfaces: list[str]) -> None:
        self._file = path.open("wb")
        self._file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, _LINKTYPE_RAW))
        self._lock = threading.Lock()
        self._open = True
        self._threads = []
        for interface in interfaces:
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
            tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
            tap.bind((interface, _ETH_P_ALL))
            tap.settimeout(0.1)
            thread = threading.Thread(target=self._take, args=(tap,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _take(self, tap: socket.socket) -> None:
        with tap:
            while self._open:
                with contextlib.suppress(TimeoutError):
                    packet = tap.recv(65_535)
                    now_ns = time.time_ns()
                    record = struct.pack("=IIII", now_ns // 10**9, now_ns % 10**9 // 1000, len(packet), len(packet))
                    with self._lock:
                        self._file.write(record + packet)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        for thread in self._threads:
            thread.join()
        self._file.close()
