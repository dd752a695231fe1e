"""Addresses that go at one moment: the kernel is told in the order of the scenario, like the simulator."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from mptcplab.engines.linux import addresses, kernel
from mptcplab.scenario import Scenario

TEXT = """
duration = "5 s"
link.a = { rate = "20 Mbit/s", delay = "10 ms" }
link.b = { rate = "10 Mbit/s", delay = "20 ms" }
[connection.m]
paths = ["a", "b"]
path_manager = "linux"
[[endpoint]]
host = "client"
path = "b"
[[endpoint]]
host = "client"
path = "a"
"""


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_addresses_go_in_the_order_of_the_events(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = "".join(f'[[event]]\nat = "1 s"\nlink = "{link}"\nset = {{ address = false }}\n' for link in order)
    description = Scenario.from_toml(TEXT + events).description()
    told: list[int] = []

    def withdraw(_: object, endpoint: Any) -> None:
        told.append(endpoint.link)

    monkeypatch.setattr(kernel, "withdraw", withdraw)
    with addresses.Addresses(description, [SimpleNamespace(name="client")]) as playing:  # type: ignore[list-item]
        playing.begin(time.monotonic_ns() - 2 * 10**9)
        for _ in range(500):
            if len(told) == len(order):
                break
            time.sleep(0.01)
        playing.finish()
    assert told == ["ab".index(link) for link in order]
