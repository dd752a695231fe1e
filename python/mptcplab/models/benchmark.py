"""How fast the models are, on one core: ``python -m mptcplab.models.benchmark`` prints seconds.

Nothing here is a test: no time is asserted.
"""

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from .equilibrium import equilibrium
from .fluid import trajectory
from .link_laws import Capacity, PowerLaw
from .network import Network, Route, User
from .optimum import optimum
from .pareto import pareto_gain
from .predict import CONTROLS, predict
from .queues import DropTail, settle
from .rounds import RoundModel, RoundPath, after_rounds, multipath


def _network(controls: list[str], links: int, users: int, seed: int, *, hard: bool = True) -> Network:
    random = np.random.default_rng(seed)
    capacities = 10 ** random.uniform(4, 6, links)
    laws = {f"l{i}": Capacity(c) if hard else PowerLaw(c) for i, c in enumerate(capacities)}
    population = []
    for u in range(users):
        routes = tuple(
            Route(
                tuple(f"l{i}" for i in random.choice(links, min(links, int(random.integers(1, 4))), replace=False)),
                float(random.uniform(0.01, 0.2)),
            )
            for _ in range(int(random.integers(1, 4)))
        )
        population.append(User(f"u{u}", controls[int(random.integers(len(controls)))], routes))
    return Network(laws, population)


def _time(label: str, work: Callable[[], object], repeat: int = 3) -> None:
    times = []
    for _ in range(repeat):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    sys.stdout.write(f"{label:<58} {min(times):8.3f} s\n")


def main() -> None:
    """Print one line a measurement: the best of three."""
    random = np.random.default_rng(1)
    p, rtt = 10 ** random.uniform(-5, -1, (1_000_000, 2)), random.uniform(0.005, 0.3, (1_000_000, 2))
    for control in CONTROLS:
        _time(f"a million two-path predictions: {control}", partial(predict, p, rtt, control))
    every = ["reno", "uncoupled", "ewtcp", "lia", "lia-capped", "balia", "olia", "coupled", "mppert"]
    for name, controls in (("lia", ["lia"]), ("olia", ["olia"]), ("coupled", ["coupled"]), ("all controls", every)):
        big = _network(controls, 200, 1000, 7)
        _time(f"equilibrium, 1000 users on 200 links: {name}", partial(equilibrium, big))
        # 50 ms of the link's rate.
        queues = {link: DropTail(0.05 * law.segments_per_s) for link, law in big.links.items()}
        _time(f"the same with drop-tail queues: {name}", partial(settle, big, queues, ack_wait_s=0.04))
    big = _network(["lia"], 200, 1000, 7)
    _time("optimum with probing, 1000 users on 200 links", lambda: optimum(big, floor_segments=0.1))
    rates = equilibrium(big).rates
    _time("Pareto test, 1000 users on 200 links", lambda: pareto_gain(big, rates))
    soft = _network(["olia"], 5, 10, 7, hard=False)
    start = np.full(len(soft.rtt_s), 100.0)
    _time("fluid OLIA, 10 users on 5 links, 1000 s", lambda: trajectory(soft, start, 1000.0))
    model = RoundModel(initial_threshold=64, restart_window=1)
    _time("round model, TCP, 1000 rounds", lambda: after_rounds(RoundPath(0.02, 0.01), 1000, model))
    pair = [RoundPath(0.02, 0.01), RoundPath(0.03, 0.02)]
    _time("round model, MPTCP, 10 s at 20 and 30 ms", lambda: multipath(pair, 10.0, model))


if __name__ == "__main__":
    main()
