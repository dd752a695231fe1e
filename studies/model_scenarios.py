"""Khalili's scenarios A, B and C four ways: the paper's polynomial, the solver, the engine `model`, the simulator.

The polynomial and the solver answer the same question: hard capacities and equal RTTs of 150 ms. They must be equal.
The engine and the simulator answer another: the scenario file with its RED queues, whose delay makes the RTTs. They
should be close.
"""

from collections.abc import Iterator, Mapping, Sequence

from mptcplab.models import khalili_2013 as theory
from mptcplab.models.equilibrium import Equilibrium, equilibrium
from mptcplab.models.network import Network
from mptcplab.models.optimum import optimum

from .khalili_scenarios import RTT_S, SEGMENTS_PER_MBIT, measure_a, measure_b, measure_c
from .runs import show

SCENARIOS = ("a", "b", "c")
USERS = {"a": ("type 1", "type 2"), "b": ("Blue", "Red"), "c": ("multipath", "single path")}
_N, _C = 10, SEGMENTS_PER_MBIT
_B = (27 * SEGMENTS_PER_MBIT, 36 * SEGMENTS_PER_MBIT, 15, RTT_S)


def closed_form(scenario: str, control: str) -> tuple[float, float]:
    """Rates of the two kinds of users in Mbit/s: LIA's fixed point; for OLIA the optimum with probing (theorem 3)."""
    numbers = (_N, _N, _C, _C, RTT_S)
    if scenario == "b":
        rates = theory.scenario_b_lia(*_B) if control == "lia" else theory.scenario_b_optimum(*_B, upgraded=True)
    elif scenario == "a":
        rates = (theory.scenario_a_lia if control == "lia" else theory.scenario_a_optimum)(*numbers)
    else:
        rates = (theory.scenario_c_lia if control == "lia" else theory.scenario_c_optimum)(*numbers)
    return sum(rates.first) / SEGMENTS_PER_MBIT, sum(rates.second) / SEGMENTS_PER_MBIT


def _network(scenario: str, control: str) -> Network:
    if scenario == "b":
        return theory.network_b(*_B, upgraded=True, control=control)
    build = theory.network_a if scenario == "a" else theory.network_c
    return build(_N, _N, _C, _C, RTT_S, control)


def solved(scenario: str, control: str) -> tuple[float, float]:
    """The same by the general solver."""
    network = _network(scenario, control)
    found: Equilibrium = equilibrium(network) if control == "lia" else optimum(network)
    first, second = found.user_rates
    return float(first) / SEGMENTS_PER_MBIT, float(second) / SEGMENTS_PER_MBIT


def measured(scenario: str, control: str, engine: str, *, seeds: int = 5) -> tuple[float, float]:
    """The same by an engine, from the scenario file."""
    if scenario == "b":
        blue, red, _ = measure_b(control, upgraded=True, engine=engine, seeds=seeds)
        return blue, red
    measure = measure_a if scenario == "a" else measure_c
    return measure(control, _N, 1.0, engine=engine, seeds=seeds).normalised


def rows(scenario: str, *, controls: Sequence[str] = ("lia", "olia"), seeds: int = 5) -> Iterator[Mapping[str, str]]:
    """One row a control and kind of user."""
    for control in controls:
        polynomial, solver = closed_form(scenario, control), solved(scenario, control)
        model, sim = (measured(scenario, control, engine, seeds=seeds) for engine in ("model", "sim"))
        for kind, p, s, m, x in zip(USERS[scenario], polynomial, solver, model, sim, strict=True):
            yield {
                "control": control,
                "users": kind,
                "polynomial": f"{p:.4f}",
                "solver": f"{s:.4f}",
                "solver − polynomial": f"{s / p - 1:+.0e}",
                "model": f"{m:.3f}",
                "sim": f"{x:.3f}",
                "model − polynomial": f"{m / p - 1:+.1%}",
                "model − sim": f"{m / x - 1:+.1%}",
            }


def main() -> None:
    """Print a table for each scenario: Mbit/s of one connection, packets of 1500 bytes."""
    for scenario in SCENARIOS:
        show(f"Scenario {scenario.upper()}, Mbit/s a connection", rows(scenario))
