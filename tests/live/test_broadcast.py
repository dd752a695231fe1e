"""What the kernel connects to, and what a peer may announce to our transport: docs/security.md has the difference."""

import socket

import pytest
from mptcplab import machine
from mptcplab.engines.live import Namespace, set_up
from mptcplab.stack.tun import ip

MISSING = [finding for finding in machine.live() if not finding.good]
pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)
PREFIX = "10.9.0.1/20"
REFUSED = {
    "10.9.15.255": True,  # of its own network
    "255.255.255.255": True,
    "224.0.0.1": True,
    "10.9.0.255": False,  # a host in a /20
    "192.0.2.255": False,  # of another network, or a host there
}


def test_the_kernel_refuses_the_broadcast_addresses_of_its_own_networks() -> None:
    host = Namespace("broadcast")

    def work() -> dict[str, bool]:
        ip("link", "add", "near", "type", "veth", "peer", "name", "far")
        ip("address", "add", PREFIX, "dev", "near")
        for device in ("near", "far"):
            ip("link", "set", device, "up")
        ip("route", "add", "default", "via", "10.9.0.2")
        found = {}
        for address in REFUSED:
            with socket.socket() as client:
                client.setblocking(False)
                try:
                    client.connect((address, 80))
                except BlockingIOError:
                    found[address] = False  # its SYN is on the way
                except OSError as error:
                    found[address] = error.strerror == "Network is unreachable"
        return found

    try:
        set_up(host)
        assert host.run(work) == REFUSED
    finally:
        host.close()
