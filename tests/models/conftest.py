"""Random networks for the model tests: reproducible from a seed."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from mptcplab.models.link_laws import Capacity, LinkLaw, PowerLaw
from mptcplab.models.network import Network, Route, User


def make_network(
    seed: int,
    controls: Sequence[str],
    *,
    links: tuple[int, int] = (1, 12),
    users: tuple[int, int] = (1, 20),
    equal_rtts: bool = False,
    hard: bool = True,
) -> Network:
    """Links of 10⁴–10⁶ segments/s, so that windows are above 1 and losses below; 1–3 routes of 1–3 links a user.

    RTTs are 10–200 ms, 1–3 connections a user.
    """
    random = np.random.default_rng(seed)
    n_links = int(random.integers(*links, endpoint=True))
    laws: dict[str, LinkLaw] = {}
    for i, capacity in enumerate(10 ** random.uniform(4, 6, n_links)):
        laws[f"l{i}"] = Capacity(capacity) if hard else PowerLaw(capacity, 0.01, float(random.uniform(2, 12)))
    population = []
    for u in range(int(random.integers(*users, endpoint=True))):
        control = controls[int(random.integers(len(controls)))]
        common = float(random.uniform(0.01, 0.2))
        routes = []
        for _ in range(1 if control == "reno" else int(random.integers(1, 4))):
            crossed = random.choice(n_links, size=min(n_links, int(random.integers(1, 4))), replace=False)
            rtt = common if equal_rtts else float(random.uniform(0.01, 0.2))
            routes.append(Route(tuple(f"l{i}" for i in crossed), rtt))
        population.append(
            User(f"u{u}", control, tuple(routes), float(random.integers(1, 4)), float(random.integers(1, 3)))
        )
    return Network(laws, population)


@pytest.fixture(scope="session")
def random_network() -> Callable[..., Network]:
    """The generator, for tests."""
    return make_network
