"""How fast our stack is on real packets: through TUN devices, packets of 1500 bytes, no offload, every byte read."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mptcplab.engines.live import Namespace, set_up
from mptcplab.stack import Stack, Tun

SECONDS: Final = 5.0
_PIECE: Final = bytes(1 << 18)
_IPPROTO_MPTCP: Final = 262


@dataclass(frozen=True)
class Speed:
    """A transfer of `SECONDS`."""

    what: str
    goodput_bps: float
    packets_per_s: float
    """Through the devices, both directions."""
    cpu: float
    """Processor time over time, of both ends and of the kernel's work for them."""


def main() -> None:
    """Print the table of docs/engines/stack.md."""
    for what, measure in _CASES.items():
        with Namespace("speed") as namespace:
            set_up(namespace)
            namespace.set_controls(
                {"net/ipv4/ip_forward": 1, "net/ipv4/tcp_congestion_control": "reno", "net/mptcp/enabled": 1}
            )
            speed = namespace.run(measure, what)
        sys.stdout.write(
            f"{speed.what:<44}{speed.goodput_bps / 1e9:6.2f} Gbit/s {speed.packets_per_s / 1e3:6.0f} k packets/s"
            f"{speed.cpu:6.2f} processors\n"
        )
        sys.stdout.flush()


def _devices(count: int) -> list[Tun]:
    return [
        Tun(f"speed{number}", host=f"10.77.{number}.1/24", stack=f"10.77.{number}.2") for number in range(1, count + 1)
    ]


def _timed(what: str, stacks: list[Stack], write: Callable[[], None], read: Callable[[], int]) -> Speed:
    """`write` until told to stop, `read` until the end; measured in the middle."""
    stop = threading.Event()
    read_bytes = [0]

    # What is measured is cut off in the end, which is an error on one end and on the other.
    def writing() -> None:
        with contextlib.suppress(OSError):
            while not stop.is_set():
                write()

    def reading() -> None:
        with contextlib.suppress(OSError):
            while piece := read():
                read_bytes[0] += piece

    threads = [threading.Thread(target=each, daemon=True) for each in (writing, reading)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    packets = _packets(stacks)
    began_s, began_bytes, began_cpu_s = time.monotonic(), read_bytes[0], time.process_time()
    time.sleep(SECONDS)
    took_s = time.monotonic() - began_s
    speed = Speed(
        what,
        8 * (read_bytes[0] - began_bytes) / took_s,
        (_packets(stacks) - packets) / took_s,
        (time.process_time() - began_cpu_s) / took_s,
    )
    stop.set()
    return speed


def _packets(stacks: list[Stack]) -> int:
    # Of two stacks of ours each packet is counted once, at the end that receives it.
    own = sum(each["received"] for stack in stacks for each in stack.counters())
    return own if len(stacks) > 1 else own + sum(each["sent"] for each in stacks[0].counters())


def _ours(what: str, *, checksum: bool = False, protocol: str = "mptcp") -> Speed:
    near, far = _devices(2)
    with near, far, Stack([near]) as one, Stack([far]) as other:
        listener = other.listen(5001, checksum=checksum, protocol=protocol)
        sender = one.connect(other.addresses[0], 5001, checksum=checksum, protocol=protocol)
        receiver = listener.accept(10)
        speed = _timed(what, [one, other], lambda: sender.send(_PIECE, 10), lambda: len(receiver.recv(1 << 20, 10)))
        sender.abort()
        return speed


def _to_kernel(what: str) -> Speed:
    (device,) = _devices(1)
    with (
        device,
        Stack([device]) as stack,
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP) as listener,
    ):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("10.77.1.1", 5002))
        listener.listen(1)
        sender = stack.connect("10.77.1.1", 5002)
        receiver, _ = listener.accept()
        buffer = bytearray(1 << 20)
        speed = _timed(what, [stack], lambda: sender.send(_PIECE, 10), lambda: receiver.recv_into(buffer))
        sender.abort()
        return speed


def _from_kernel(what: str) -> Speed:
    (device,) = _devices(1)
    with device, Stack([device]) as stack:
        listener = stack.listen(5003)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP) as sender:
            sender.connect((stack.addresses[0], 5003))
            receiver = listener.accept(10)
            speed = _timed(what, [stack], lambda: sender.sendall(_PIECE), lambda: len(receiver.recv(1 << 20, 10)))
            receiver.abort()
            return speed


_CASES: Final[dict[str, Callable[[str], Speed]]] = {
    "both ends ours, MPTCP": _ours,
    "both ends ours, MPTCP with checksums": lambda what: _ours(what, checksum=True),
    "both ends ours, TCP": lambda what: _ours(what, protocol="tcp"),
    "ours to the kernel, MPTCP": _to_kernel,
    "the kernel to ours, MPTCP": _from_kernel,
}
