"""One end of a transfer, run as a program of its own in a host's namespace: `python transfer.py JSON`.

Keys: `address`, `port`, `listen`, `protocol` ("mptcp" or "tcp"), `send` (or receive), `rate_bps` (at most), `compute`
(it works for each byte), `buffer_bytes` (SO_SNDBUF or SO_RCVBUF), `twice` (a short connection comes first) and
`everywhere` (it listens on all addresses).
"""

import json
import socket
import sys
import time
import zlib
from typing import Any

_MPTCP = 262
_BLOCK = bytes(range(256)) * 64


def main() -> None:
    """Listen or call, then send or receive until the other end is gone."""
    asked = json.loads(sys.argv[1])
    made = _made(asked)
    size = asked.get("buffer_bytes")
    if size:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF if asked["send"] else socket.SO_RCVBUF, size)
    try:
        if asked["listen"]:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(("" if asked.get("everywhere") else asked["address"], asked["port"]))
            made.listen()
            while True:
                one, _ = made.accept()
                with one:
                    _work(one, asked)
        if asked.get("twice"):
            with _made(asked) as first:
                first.connect((asked["address"], asked["port"]))
                first.recv(1)
        made.connect((asked["address"], asked["port"]))
        _work(made, asked)
    except OSError as error:
        sys.exit(f"{error}")


def _made(asked: dict[str, Any]) -> socket.socket:
    if asked["protocol"] == "mptcp":
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP)
        except OSError:  # as programs do that try Multipath TCP first
            pass
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def _work(one: socket.socket, asked: dict[str, Any]) -> None:
    try:
        (_send if asked["send"] else _receive)(one, asked)
    except OSError:
        return


def _send(one: socket.socket, asked: dict[str, Any]) -> None:
    rate = asked.get("rate_bps")
    began, sent = time.monotonic(), 0
    while True:
        if asked.get("compute"):
            for _ in range(20):
                zlib.compress(_BLOCK, 9)
        if rate:
            time.sleep(max(0.0, began + sent * 8 / rate - time.monotonic()))
        block = _BLOCK if rate is None or rate > 1_000_000 else _BLOCK[:1000]
        one.sendall(block)
        sent += len(block)


def _receive(one: socket.socket, asked: dict[str, Any]) -> None:
    rate = asked.get("rate_bps")
    began, got = time.monotonic(), 0
    while data := one.recv(16384):
        got += len(data)
        if asked.get("compute"):
            for _ in range(20):
                zlib.compress(_BLOCK, 9)
        if rate:
            time.sleep(max(0.0, began + got * 8 / rate - time.monotonic()))
    one.close()


if __name__ == "__main__":
    main()
