"""Our stack beside the kernel over a device with the largest MTU that IPv4 has: segments of up to 65,495 bytes."""

import itertools
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from mptcplab import machine
from mptcplab.engines.live import Namespace, set_up
from mptcplab.stack import Stack, Tun

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
pytestmark = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"), reason=f"no live system here: {MISSING}"
)
MTU_BYTES = 65_535
HEADERS_BYTES = 40
MPTCP = 262
PORT = 5001
SIZE = 3_000_000
AT_MOST_S = 60.0
DATA = bytes(range(256)) * (SIZE // 256)
# Linux sends segments of at most half the largest window it has seen (tcp_bound_to_half_wnd).
# A fixed buffer is announced whole with the first acknowledgment, one that grows is not.
LARGE_WINDOW_BYTES = 1 << 20


def in_a_namespace(work: Callable[[], Any]) -> Any:
    host = Namespace("largest")
    try:
        set_up(host)
        host.set_controls({"net/mptcp/enabled": 1})
        return host.run(work)
    finally:
        host.close()


def served(stack: Stack, port: int, *, mss: int | None, protocol: int, **options: object) -> int:
    """A client of the kernel sends all and gets it back; the MSS that it has."""
    listener = stack.listen(port, **options)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as client:
        client.settimeout(AT_MOST_S)
        if mss is not None:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        client.connect(("10.213.0.2", port))
        ours = listener.accept(AT_MOST_S)
        ours.wait_established(AT_MOST_S)

        def echo() -> None:
            while data := ours.recv(1 << 20, AT_MOST_S):
                ours.send(data, AT_MOST_S)
            ours.close()

        echoing = threading.Thread(target=echo)
        echoing.start()
        sending = threading.Thread(target=lambda: (client.sendall(DATA), client.shutdown(socket.SHUT_WR)))
        sending.start()
        got = bytearray()
        while part := client.recv(1 << 20):
            got += part
        sending.join()
        echoing.join()
        assert got == DATA
        return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


@pytest.mark.parametrize("offloads", [True, False])
@pytest.mark.parametrize("window", [{}, {"receive_buffer": LARGE_WINDOW_BYTES}], ids=["auto", "large"])
def test_clients_with_the_largest_segments_leave_the_stack_to_others(offloads: bool, window: dict[str, object]) -> None:
    """In turn with small ones, with each scheduler that looks at segments' sizes, over TCP and Multipath TCP."""
    cases = list(itertools.product(("linux", "min-rtt", "round-robin"), (0, MPTCP), (None, 536, 32_767)))

    def work() -> list[int]:
        with (
            Tun("largest0", host="10.213.0.1/30", stack="10.213.0.2", mtu_bytes=MTU_BYTES, offloads=offloads) as device,
            Stack([device], seed=1) as stack,
        ):
            return [
                served(stack, PORT + number, mss=mss, protocol=protocol, scheduler=scheduler, **window)
                for number, (scheduler, protocol, mss) in enumerate(cases)
            ]

    found = in_a_namespace(work)
    largest = [has for has, (_, _, mss) in zip(found, cases, strict=True) if mss is None]
    # TCP's options take some of it. How far a window grows depends on the moments at which we read.
    expected = MTU_BYTES - HEADERS_BYTES - 40 if window else MTU_BYTES // 2 - 40
    assert min(largest) > expected, found
