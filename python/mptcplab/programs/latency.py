"""Round trips of small messages over TCP or UDP, where ICMP is blocked or a socket's view is wanted.

`server ADDRESS` answers on a TCP and a UDP port; `client ADDRESS [--udp]` sends one message after another and prints
what their round trips came to, as JSON.
"""

import argparse
import json
import socket
import statistics
import sys
import threading
import time
from typing import Final

PORT: Final = 5301
_TIMEOUT_S: Final = 2.0


def serve(address: str, port: int, bound: threading.Event | None = None) -> None:
    """Answer until killed."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, port))
    threading.Thread(target=_echo_datagrams, args=(udp,), daemon=True).start()
    with socket.create_server((address, port)) as listener:
        if bound is not None:
            bound.set()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_echo_stream, args=(connection,), daemon=True).start()


def _echo_datagrams(udp: socket.socket) -> None:
    while True:
        message, sender = udp.recvfrom(65_536)
        udp.sendto(message, sender)


def _echo_stream(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while message := connection.recv(65_536):
            connection.sendall(message)


def measure(address: str, port: int, *, udp: bool, count: int, interval_s: float, size: int) -> dict[str, object]:
    """Round trips in milliseconds; what was not answered within two seconds is lost."""
    times_ms = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        began_s = time.perf_counter()
        connection.connect((address, port))
        connect_ms = None if udp else (time.perf_counter() - began_s) * 1e3
        if not udp:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(count):
            began_s = time.perf_counter()
            if _is_answered(connection, number.to_bytes(8, "big").ljust(size, b"\0"), udp=udp):
                times_ms.append((time.perf_counter() - began_s) * 1e3)
            time.sleep(max(0.0, interval_s - (time.perf_counter() - began_s)))
    return {
        "protocol": "udp" if udp else "tcp",
        "sent": count,
        "answered": len(times_ms),
        "connect_ms": connect_ms,
        **(
            {
                "min_ms": min(times_ms),
                "mean_ms": statistics.fmean(times_ms),
                "median_ms": statistics.median(times_ms),
                "max_ms": max(times_ms),
            }
            if times_ms
            else {}
        ),
    }


def _is_answered(connection: socket.socket, message: bytes, *, udp: bool) -> bool:
    """Sends a message and waits for its answer."""
    try:
        connection.sendall(message)
        answer = b""
        while len(answer) < len(message):
            part = connection.recv(65_536)
            if not part:
                return False
            # A datagram that comes late is an earlier one's.
            answer = answer + part if not udp else part if part == message else b""
    except OSError:
        return False
    return True


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("end", choices=("server", "client"))
    parser.add_argument("address")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--udp", action="store_true", help="use datagrams instead of a connection")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--interval", type=float, default=0.1, help="interval between messages, in seconds")
    parser.add_argument("--bytes", type=int, default=64, help="size of a message, at least 8")
    given = parser.parse_args()
    if given.bytes < 8:
        parser.error(f"--bytes: found {given.bytes}; expected at least 8")
    if given.end == "server":
        serve(given.address, given.port)
        return
    found = measure(
        given.address, given.port, udp=given.udp, count=given.count, interval_s=given.interval, size=given.bytes
    )
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
