"""A NAT before the emulator that forgets: from a moment on, the client's packets have another address outside.

The engine's own NAT (a middlebox of scenarios) never forgets.
"""

import os
import selectors
import socket
import struct
import threading
import time
from ipaddress import IPv4Address
from typing import Final

_TCP: Final = 6


class Rebinding:
    """Hands packets of a TUN device without offloads to the emulator and back, and translates an address."""

    def __init__(self, tun: int, inside: str, outside: tuple[str, str], after_s: float) -> None:
        """`outside[0]` is what the server sees first, and `outside[1]` from `after_s` on; `tun` stays the caller's."""
        self._tun = tun
        self._inside = IPv4Address(inside).packed
        self._outside = tuple(IPv4Address(each).packed for each in outside)
        self._ours, self.port = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """`port` is for the emulator, in place of the device."""
        for each in (self._ours, self.port):
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        os.set_blocking(tun, False)
        self._changes_s = time.monotonic() + after_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rebinding", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._stop.set()
        self._thread.join()
        self._ours.close()
        self.port.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._tun, selectors.EVENT_READ)
            waiting.register(self._ours, selectors.EVENT_READ)
            while not self._stop.is_set():
                for key, _ in waiting.select(0.05):
                    try:
                        self._one(key.fileobj is self._ours)
                    except (BlockingIOError, OSError):
                        continue  # as full as a queue can be: the packet is lost

    def _one(self, inwards: bool) -> None:
        now = self._outside[time.monotonic() >= self._changes_s]
        if inwards:
            packet = bytearray(self._ours.recv(65536))
            if packet[16:20] == now:  # what comes to the old address has no mapping any more
                os.write(self._tun, translated(packet, 16, self._inside))
            return
        packet = bytearray(os.read(self._tun, 65536))
        if packet[12:16] == self._inside:
            self._ours.send(translated(packet, 12, now))


def translated(packet: bytearray, at: int, address: bytes) -> bytes:
    """The packet with another address at this place, and both checksums computed anew: the emulator leaves TCP's to
    whoever needs it."""
    packet[at : at + 4] = address
    header = 4 * (packet[0] & 15)
    packet[10:12] = bytes(2)
    struct.pack_into("!H", packet, 10, _checksum(bytes(packet[:header])))
    if packet[9] == _TCP:
        packet[header + 16 : header + 18] = bytes(2)
        pseudo = bytes(packet[12:20]) + struct.pack("!HH", _TCP, len(packet) - header)
        struct.pack_into("!H", packet, header + 16, _checksum(pseudo + bytes(packet[header:])))
    return bytes(packet)


def _checksum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
