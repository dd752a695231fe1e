"""The send buffers of hosts that run Linux are what the scenario says."""

import pytest
from mptcplab.engines import linux_virtual
from mptcplab.engines.linux import buffers
from mptcplab.engines.linux import refusals as linux
from mptcplab.engines.linux.engine import described
from mptcplab.export import netns
from mptcplab.scenario import Scenario, describe

MIB = 1 << 20
TEXT = """\
duration = "1 s"
[link.a]
rate = "10 Mbit/s"
delay = "1 ms"
[link.b]
rate = "10 Mbit/s"
delay = "1 ms"
[connection.c]
paths = ["a", "b"]
congestion = "reno"
"""
TCP = TEXT.replace('paths = ["a", "b"]', 'paths = ["a"]\nprotocol = "tcp"')
SIZES = [("", 4 * MIB), ('scheduler = "linux"', 4 * MIB)] + [
    (f'scheduler = {{ name = "linux", send_buffer = {mib} }}', round(mib * MIB)) for mib in (0.0625, 1.3, 16, 2047)
]


def scenario(line: str) -> Scenario:
    return Scenario.from_toml(f"{TEXT}{line}\n", "x.toml")


@pytest.mark.parametrize(("line", "expected"), SIZES)
def test_it_is_the_schedulers(line: str, expected: int) -> None:
    given = scenario(line)
    assert linux.unsupported(given, controls=("reno",)) == []
    (connection,) = described(given, 1)["connections"]
    assert buffers.send_bytes(connection) == expected
    assert f"'net.ipv4.tcp_wmem=4096 16384 {expected}'" in netns.script(
        describe.description(given.document, 1, False), "x"
    )


def test_plain_tcp_has_a_fixed_one() -> None:
    (connection,) = described(Scenario.from_toml(TCP), 1)["connections"]
    assert buffers.send_bytes(connection) == 16 * MIB


def test_a_host_of_several_connections_has_the_largest() -> None:
    small, large = (described(scenario(line), 1)["connections"][0] for line, _ in (SIZES[2], SIZES[4]))
    assert buffers.send_bytes(small, large) == buffers.send_bytes(large, small) == 16 * MIB


@pytest.mark.parametrize("mib", [2048, 65_536])
def test_more_than_a_kernel_holds_is_refused(mib: int) -> None:
    given = scenario(f'scheduler = {{ name = "linux", send_buffer = {mib} }}')
    assert given.unsupported("sim") == []
    (problem,) = linux_virtual.unsupported(given)
    assert str(problem) == (
        f"x.toml:11: connection.c.scheduler.send_buffer: found {mib}; expected less than 2048 MiB, the kernel's limit"
    )
