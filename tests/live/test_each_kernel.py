"""Each guest kernel that is built, from Linux 6.1 on: what it answers, and that the simulator sends as it does."""

import os
from dataclasses import dataclass

import pytest
from mptcplab import kernels
from mptcplab.engines.runner import run
from mptcplab.scenario import Scenario

from studies import exact, kernel_infos

RECORDED = {file.stem.removeprefix("linux-"): file for file in kernel_infos.KEPT.glob("linux-*.hex")}
BUILT = {kernel_infos.branch(kernel.version): kernel for kernel in kernels.kernels()}

TWO_PATHS = """
duration = "6 s"
[link.one]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "30 ms"
[link.two]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "30 ms"
[connection.m]
paths = ["one", "two"]
congestion = "reno"
[measure]
warmup = "1 s"
"""


def built(version: str) -> kernels.Kernel:
    if version not in BUILT:
        pytest.skip(f"no guest kernel {version} is built here (mptcplab kernel build {version}, or a tree of it)")
    return BUILT[version]


@pytest.mark.parametrize("version", sorted(RECORDED))
def test_both_subflows_are_told(version: str) -> None:
    result = run(Scenario.from_toml(TWO_PATHS, "paths.toml"), f"linux-virtual:{built(version).name}")
    (whole,) = result.connections["goodput_bps"]
    assert whole == pytest.approx(19e6, rel=0.03)
    assert sum(result.subflows["goodput_bps"]) == pytest.approx(whole, rel=0.015)  # what waits at the receiver
    assert sum(result.subflows["share"]) == pytest.approx(1)
    assert all(sent > 1000 for sent in result.subflows["segments_sent"])
    assert all(again < 0.1 * sent for again, sent in result.subflows.select("retransmissions", "segments_sent").rows())
    counts_timeouts = kernel_infos.sizes(kernel_infos.answers(RECORDED[version]))["tcp_info"] >= 248
    assert all((timeouts is not None) == counts_timeouts for timeouts in result.subflows["timeouts"])


@dataclass(frozen=True)
class Narrow(exact.Case):
    """With send buffers that fill."""

    def text(self, engine: str) -> str:
        return (
            super().text(engine).replace('scheduler = "linux"', 'scheduler = { name = "linux", send_buffer = 0.0625 }')
        )


@dataclass(frozen=True)
class Upwards(exact.Case):
    """Sent by the client."""

    def text(self, engine: str) -> str:
        return super().text(engine).replace("[connection.c]\n", '[connection.c]\ndirection = "up"\n')


@pytest.mark.parametrize("paths", [1, 2])
@pytest.mark.parametrize("version", ["6.1", "6.12"])
def test_the_simulator_sends_the_same_where_it_has_its_form(version: str, paths: int) -> None:
    case = exact.Case(exact.networks(paths)[0], 0, "reno", "512 kB", lossy=False, kernel=version)
    kernel = f"linux-virtual:{built(version).name}"
    found = exact.compared(case, exact.run(case, "sim"), exact.run(case, kernel))
    assert found.first is None, (found.alike, found.cause)
    assert found.alike > 600


@pytest.mark.parametrize("version", ["6.1", "6.12"])
def test_a_client_of_tcp_sends_the_same_too(version: str) -> None:
    case = Upwards(exact.networks(1)[0], 0, "reno", "512 kB", lossy=True, kernel=version)
    found = exact.compared(case, exact.run(case, "sim"), exact.run(case, f"linux-virtual:{built(version).name}"))
    assert found.first is None, (found.alike, found.cause)
    assert found.alike > 600


def test_send_buffers_are_those_of_the_file() -> None:
    network = exact.networks(2)[0]
    narrow, usual = (kind(network, 0, "reno", "512 kB", lossy=False) for kind in (Narrow, exact.Case))
    ours = exact.run(narrow, "sim")
    assert ours.completion_s > 1.05 * exact.run(usual, "sim").completion_s
    found = exact.compared(narrow, ours, exact.run(narrow, f"linux-virtual:{built('6.12').name}"))
    assert found.first is None, (found.alike, found.cause)
    assert found.alike > 600


@pytest.mark.parametrize("version", sorted(RECORDED))
def test_its_structures_have_the_sizes_that_were_recorded(version: str) -> None:
    found = kernel_infos.parsed(kernel_infos.in_guest(built(version)))
    assert kernel_infos.sizes(found) == kernel_infos.sizes(kernel_infos.answers(RECORDED[version]))


def test_the_running_kernel_too() -> None:
    version = kernel_infos.branch(os.uname().release)
    if os.geteuid() != 0 or version not in RECORDED:
        pytest.skip(f"needs root and one of Linux {', '.join(sorted(RECORDED))}")
    found = kernel_infos.parsed(kernel_infos.running())
    assert kernel_infos.sizes(found) == kernel_infos.sizes(kernel_infos.answers(RECORDED[version]))
