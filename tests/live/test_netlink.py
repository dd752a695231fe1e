"""Hosts furnished by our own messages, as the system's `ip` sees them."""

import os
import subprocess
from collections.abc import Callable
from ipaddress import ip_address

import pytest
from mptcplab import machine
from mptcplab.engines.linux import kernel
from mptcplab.engines.live import Interface, Namespace, Route, add_interface, set_up

MISSING = [
    finding for finding in (*machine.live(), machine.kernel_mptcp(), machine.tool("ip", "iproute2")) if not finding.good
]
live = pytest.mark.skipif(bool(MISSING), reason=f"no live system here: {MISSING}")


def shower(host: Namespace) -> Callable[..., list[str]]:
    def show(*words: str) -> list[str]:
        done = host.run(subprocess.run, ["ip", *words], capture_output=True, text=True, check=True)
        return [line.strip() for line in done.stdout.splitlines()]

    return show


@live
def test_a_host_has_what_was_asked_for() -> None:
    with Namespace("host") as host:
        ip = shower(host)
        set_up(host)
        first = Interface("a", [ip_address("10.0.0.1"), ip_address("10.0.0.2")], [Route("10.0.9.9/32", 1)], 1400)
        second = Interface("b", [ip_address("fd00::1")], [Route("fd01::/64", 2)], 1500)
        descriptors = [add_interface(host, first), add_interface(host, second)]
        assert len(descriptors) == 2
        assert "LOOPBACK,UP" in ip("link", "show", "lo")[0]
        shown = ip("link", "show", "a")[0]
        assert "mtu 1400" in shown
        assert "qlen 10000" in shown
        assert [line.split()[:2] for line in ip("-4", "addr", "show", "a") if "inet" in line] == [
            ["inet", "10.0.0.1/32"],
            ["inet", "10.0.0.2/32"],
        ]
        assert any("inet6 fd00::1/128" in line for line in ip("-6", "addr", "show", "b"))
        assert ip("-4", "route") == ["10.0.9.9 dev a proto static metric 1"]
        # Packets from an address leave by its interface, whatever the other routes.
        tables = {line.split()[2]: line.split()[-1] for line in ip("-4", "rule") if line.startswith("32000")}
        assert set(tables) == {"10.0.0.1", "10.0.0.2"}
        (table,) = set(tables.values())
        assert ip("-4", "route", "show", "table", table) == ["10.0.9.9 dev a proto static"]
        for descriptor in descriptors:
            os.close(descriptor)


@live
def test_the_path_manager_has_its_endpoints() -> None:
    with Namespace("host") as host:
        ip = shower(host)
        endpoints = [
            kernel.Endpoint(number, ip_address(address), 0, backup=True)
            for number, address in enumerate(("10.0.0.1", "10.0.0.2", "fd00::1"))
        ]
        kernel.set_path_manager(host, endpoints, subflows=3)
        assert ip("mptcp", "limits") == ["add_addr_accepted 0 subflows 3"]
        assert ip("mptcp", "endpoint") == ["10.0.0.2 id 1 subflow backup", "fd00::1 id 2 subflow backup"]
        kernel.set_backup(host, endpoints[1], backup=False)
        kernel.withdraw(host, endpoints[2])
        assert ip("mptcp", "endpoint") == ["10.0.0.2 id 1 subflow"]
        kernel.restore(host, endpoints[2], backup=True)
        assert ip("mptcp", "endpoint") == ["10.0.0.2 id 1 subflow", "fd00::1 id 2 subflow backup"]


@live
def test_what_the_kernel_refuses_is_an_error() -> None:
    with Namespace("host") as host, pytest.raises(OSError, match=r"Numerical result out of range|Invalid argument"):
        kernel.set_path_manager(host, [], subflows=1000)
