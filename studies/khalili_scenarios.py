"""Scenarios A, B and C of Khalili 2013 over the paper's grid, LIA and OLIA, beside the closed forms.

The scenario files scenarios/khalili-2013-{a,b,c}.toml with the grid's numbers put in. Throughputs are normalised as in
the paper, x/C, with goodput counted as the packets that carried it (1,500 bytes each). The closed forms are those of
`models.khalili_2013` at the paper's 150 ms: LIA's fixed point, and the optimum when one segment a round trip is sent on
every path.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mptcplab.models import khalili_2013 as theory

from .runs import PACKET_BYTES, Flow, flow, link_loss, run, scenario_text, show

RTT_S = 0.15
SEGMENTS_PER_MBIT = 1e6 / 8 / PACKET_BYTES
GRID_A = tuple((n1, c1) for n1 in (10, 20, 30) for c1 in (0.75, 1.0, 1.5))
GRID_C = tuple((n1, c1) for n1 in (5, 10, 20, 30) for c1 in (1.0, 2.0))
PUBLISHED_B = {
    "before": (2.5, 1.5, 59.8),
    "lia": (2.0, 1.4, 52.0),
    "olia before": (2.2, 1.8, 59.3),
    "olia": (2.2, 1.7, 57.8),
}
"""Tables I and II: Blue, Red, aggregate in Mbit/s."""
_RED_SINGLE = 'connection.red={ paths = ["red-y"], protocol = "tcp", count = 15, start = ["0 s", "5 s"] }'


@dataclass(frozen=True)
class Point:
    """One run of scenario A or C: the kinds of users by their paths, and the two bottlenecks' losses."""

    first: tuple[Flow, Flow]
    """The users with two paths."""
    second: Flow
    """The TCP users."""
    losses: tuple[float, float]
    c1: float
    """Segments/s."""

    @property
    def normalised(self) -> tuple[float, float]:
        """(x₁ + x₂)/C₁ and y/C₂, C₂ = 1 Mbit/s."""
        return (self.first[0].rate + self.first[1].rate) / self.c1, self.second.rate / SEGMENTS_PER_MBIT


def text(name: str) -> str:
    """The ready-made scenario of this letter."""
    return scenario_text(f"khalili-2013-{name}")


def measure_a(control: str, n1: int, c1: float, *, seeds: int = 5, seconds: int = 120, engine: str = "sim") -> Point:
    """Scenario A with N₂ = 10, C₂ = 1 Mbit/s."""
    overrides = [
        f"connection.type1.congestion={control}",
        f"connection.type1.count={n1}",
        f"link.server.rate={n1 * c1:g} Mbit/s",
        f"duration={seconds + 30} s",
        "measure.sample=never",
    ]
    result = run(text("a"), seeds=seeds, overrides=overrides, engine=engine)
    return Point(
        (flow(result, "type1", "own"), flow(result, "type1", "public")),
        flow(result, "type2", "single"),
        (link_loss(result, "server"), link_loss(result, "shared")),
        c1 * SEGMENTS_PER_MBIT,
    )


def measure_c(control: str, n1: int, c1: float, *, seeds: int = 5, seconds: int = 120, engine: str = "sim") -> Point:
    """Scenario C with N₂ = 10, C₂ = 1 Mbit/s."""
    overrides = [
        f"connection.multi.congestion={control}",
        f"connection.multi.count={n1}",
        f"link.ap1.rate={n1 * c1:g} Mbit/s",
        f"duration={seconds + 30} s",
        "measure.sample=never",
    ]
    result = run(text("c"), seeds=seeds, overrides=overrides, engine=engine)
    return Point(
        (flow(result, "multi", "ap1"), flow(result, "multi", "ap2")),
        flow(result, "single", "ap2"),
        (link_loss(result, "ap1"), link_loss(result, "ap2")),
        c1 * SEGMENTS_PER_MBIT,
    )


def measure_b(
    control: str, *, upgraded: bool, seeds: int = 5, seconds: int = 120, engine: str = "sim"
) -> tuple[float, float, float]:
    """Scenario B: rates of a Blue and a Red user and the aggregate, in Mbit/s on the wire."""
    red = f"connection.red.congestion={control}" if upgraded else _RED_SINGLE
    overrides = [f"connection.blue.congestion={control}", red, f"duration={seconds + 30} s", "measure.sample=never"]
    result = run(text("b"), seeds=seeds, overrides=overrides, engine=engine)
    blue = flow(result, "blue", "blue-x").rate + flow(result, "blue", "blue-y").rate
    others = ("red-y", "red-x") if upgraded else ("red-y",)
    single = sum(flow(result, "red", path).rate for path in others)
    blue, single = blue / SEGMENTS_PER_MBIT, single / SEGMENTS_PER_MBIT
    return blue, single, 15 * (blue + single)


def _grid(scenario: str, control: str) -> Iterator[Mapping[str, str]]:
    grid, measure = (GRID_A, measure_a) if scenario == "a" else (GRID_C, measure_c)
    lia = theory.scenario_a_lia if scenario == "a" else theory.scenario_c_lia
    optimum = theory.scenario_a_optimum if scenario == "a" else theory.scenario_c_optimum
    for n1, c1 in grid:
        point = measure(control, n1, c1)
        arguments = (n1, 10, c1 * SEGMENTS_PER_MBIT, SEGMENTS_PER_MBIT, RTT_S)
        fixed, best = lia(*arguments), optimum(*arguments)
        p1, p2 = fixed.losses or (float("nan"), float("nan"))
        first, second = point.normalised
        yield {
            "N₁": str(n1),
            "C₁, Mbit/s": f"{c1:g}",
            "two-path users": f"{first:.3f}",
            "LIA's law": f"{sum(fixed.first) / point.c1:.3f}",
            "optimum": f"{sum(best.first) / point.c1:.3f}",
            "TCP users": f"{second:.3f}",
            "LIA's law ": f"{fixed.second[0] / SEGMENTS_PER_MBIT:.3f}",
            "optimum ": f"{best.second[0] / SEGMENTS_PER_MBIT:.3f}",
            "p₁, p₂": f"{point.losses[0]:.4f}, {point.losses[1]:.4f}",
            "law's": f"{p1:.4f}, {p2:.4f}",
            "RTTs, ms": ", ".join(f"{f.rtt_s * 1e3:.0f}" for f in (*point.first, point.second)),
            "window on the second path": f"{point.first[1].cwnd:.2f}",
        }


def _table_b() -> Iterator[Mapping[str, str]]:
    x, t = 27 * SEGMENTS_PER_MBIT, 36 * SEGMENTS_PER_MBIT
    for control in ("lia", "olia"):
        for upgraded in (False, True):
            blue, red, aggregate = measure_b(control, upgraded=upgraded)
            if control == "lia" and upgraded:
                rates = theory.scenario_b_lia(x, t, 15, RTT_S)
            elif control == "lia":
                rates = theory.scenario_b_single_path(x, t, 15, RTT_S)
            else:
                rates = theory.scenario_b_optimum(x, t, 15, RTT_S, upgraded=upgraded)
            law = [sum(part) / SEGMENTS_PER_MBIT for part in (rates.first, rates.second)]
            key = control if upgraded else {"lia": "before", "olia": "olia before"}[control]
            yield {
                "control": control,
                "Red users": "two paths" if upgraded else "one path",
                "Blue, Red, aggregate": f"{blue:.2f}, {red:.2f}, {aggregate:.1f}",
                "law (LIA) or optimum (OLIA)": f"{law[0]:.2f}, {law[1]:.2f}, {15 * sum(law):.1f}",
                "published": ", ".join(map(str, PUBLISHED_B[key])),
            }


def main() -> None:
    """Print the tables."""
    for scenario in ("a", "c"):
        for control in ("lia", "olia"):
            show(f"Scenario {scenario.upper()}, {control.upper()}", _grid(scenario, control))
    show("Scenario B, Mbit/s", _table_b())
