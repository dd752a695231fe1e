"""Scenarios A, B and C of Khalili et al. 2013 in closed form: LIA's fixed point and the optimum with probing cost.

Independent of the solvers, which are tested against it. All rates are segments/s of one connection, capacities
segments/s per user as in the paper (link 1 carries N₁C₁), losses are fractions, RTTs seconds, equal on all paths.

R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP is not Pareto-optimal", IEEE/ACM ToN 2013, §III, appendices A
and B.
Misprints corrected here are named at the code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from .checks import ParameterError, positive
from .link_laws import Capacity
from .network import Network, Route, User


@dataclass(frozen=True)
class Rates:
    """Rates of one connection by path, in segments/s, and losses of the two bottlenecks (none at an optimum)."""

    first: tuple[float, float]
    """The connection with two paths: (x₁, x₂)."""
    second: tuple[float, ...]
    """The other: (y,), or (y₁, y₂) in scenario B."""
    losses: tuple[float, float] | None = None
    """(p₁, p₂) in A and C, (p_X, p_T) in B."""


def _check(**values: float) -> None:
    for name, value in values.items():
        positive(name, value)


def _positive_root(coefficients: Sequence[float]) -> float:
    """The only positive root of a polynomial, highest power first, whose value at 0 is negative."""
    polynomial = np.polynomial.Polynomial(list(reversed(coefficients)))
    # Cauchy's bound on the size of any root.
    bound = 1 + max(abs(c) for c in coefficients[1:]) / abs(coefficients[0])
    return float(brentq(polynomial, 0.0, bound, xtol=1e-300, rtol=8.9e-16, maxiter=300))


def scenario_a_lia(n1: float, n2: float, c1: float, c2: float, rtt_s: float) -> Rates:
    """Type 1 (two paths, both through the server's link) with LIA, type 2 with TCP on the shared access point.

    Raises ParameterError. Source: appendix A 1, eq. 10, cleared of fractions: 2z³ + (ν − 2κ)z² + z − κ = 0 with
    z = √(p₁/p₂), ν = N₁/N₂, κ = C₂/C₁. The text below eq. 10 prints y/C₂ = √(p₁/p₂)√(2/p₁) = zC₁; that is y.
    """
    _check(n1=n1, n2=n2, c1=c1, c2=c2, rtt_s=rtt_s)
    ratio = c2 / c1
    z = _positive_root([2, n1 / n2 - 2 * ratio, 1, -ratio])
    p1 = 2 / (c1 * rtt_s) ** 2
    x2 = c1 / (2 + 1 / z**2)
    return Rates((c1 - x2, x2), (z * c1,), (p1, p1 / z**2))


def scenario_a_optimum(n1: float, n2: float, c1: float, c2: float, rtt_s: float) -> Rates:
    """Scenario A with one segment per RTT on the path that does not help.

    Raises ParameterError (also where probing alone fills a link). Source: appendix A 2.
    """
    _check(n1=n1, n2=n2, c1=c1, c2=c2, rtt_s=rtt_s)
    probe = 1 / rtt_s
    y = c2 - n1 / n2 * probe
    if c1 <= 2 * probe or y <= 0:
        raise ParameterError(f"probing at {probe:g} segments/s per path fills a link of scenario A")
    return Rates((c1 - probe, probe), (y,))


def scenario_b_lia(c_x: float, c_t: float, n: float, rtt_s: float) -> Rates:
    """Blue and Red, n connections each, all with LIA on two paths; links X and T carry ``c_x`` and ``c_t`` in all.

    Raises ParameterError. Source: appendix B 1. Misprints: "ISP X and Y are bottlenecks" are X and T; N is missing in
    the second form of the capacity constraints; and in the fifth-order polynomial, for p_T > p_X, z is √(p_X/p_T), not
    the p_X/p_T of the second-order one.
    """
    _check(c_x=c_x, c_t=c_t, n=n, rtt_s=rtt_s)
    ratio = c_t / c_x
    if ratio >= 9 / 5:
        share = _positive_root([2, 5 - 2 * ratio, 2 - 3 * ratio])
    else:
        share = _positive_root([1, 1, 3 - ratio, 2 - ratio, 2 - ratio, -2 * ratio]) ** 2
    # share = p_X/p_T; Red always has T's price on its best path, Blue the cheaper of X and T.
    blue_in_red = max(1.0, 1 / np.sqrt(share))
    red = c_t / n / (blue_in_red * share / (1 + share) + 1)
    blue = red * blue_in_red
    p_t = 2 / (red * rtt_s) ** 2
    return Rates(
        (blue / (1 + share), blue * share / (1 + share)),
        (red / (2 + share), red * (1 + share) / (2 + share)),
        (share * p_t, p_t),
    )


def scenario_b_single_path(c_x: float, c_t: float, n: float, rtt_s: float) -> Rates:
    """Scenario B before Red upgrades: Blue with LIA, Red with TCP through Y to T. It is scenario C (§III B).

    Raises ParameterError.
    """
    return scenario_c_lia(n, n, c_x / n, c_t / n, rtt_s)


def scenario_b_optimum(c_x: float, c_t: float, n: float, rtt_s: float, *, upgraded: bool) -> Rates:
    """The fair allocation with probing, before and after Red activates its path through X.

    Raises ParameterError (also where probing alone fills a link). Source: appendix B 2, eq. 11–14. Misprints: in case 1
    the fair share ends at C_X = C_T − 2N·MSS/rtt (the text has N·MSS/rtt; eq. 11 and 12 are right); in case 2 "MMSS" is
    N·MSS, and a Blue user's rate is x₁ + x₂, not x₁ + y₂.
    """
    _check(c_x=c_x, c_t=c_t, n=n, rtt_s=rtt_s)
    probe = 1 / rtt_s
    if c_x / n <= 2 * probe or c_t / n <= 3 * probe:
        raise ParameterError(f"probing at {probe:g} segments/s per path fills a link of scenario B")
    if not upgraded:
        total = max(c_x / n + probe, (c_t + c_x) / (2 * n))
        return Rates((c_x / n, total - c_x / n), (c_t / n - (total - c_x / n),))
    total = max(c_x / n, (c_t + c_x) / (2 * n) - probe / 2)
    x1 = c_x / n - probe
    return Rates((x1, total - x1), (probe, c_t / n - (total - x1) - probe))


def scenario_c_lia(n1: float, n2: float, c1: float, c2: float, rtt_s: float) -> Rates:
    """N₁ connections with LIA on both access points, N₂ with TCP on the second.

    Raises ParameterError. Source: §III C, z³ + (N₁/N₂)z² + z − C₂/C₁ = 0, z = √(p₁/p₂) ≤ 1. Misprints: the common rate
    where p₁ > p₂ is (N₁C₁ + N₂C₂)/(N₁ + N₂), printed (C₁ + C₂)/2; the shared constraint is N₁x₂ + N₂y = N₂C₂, printed
    x₂ + y = C₂; y = √(2/p₂)/rtt lacks its rtt; (1 + p₁/p₂)/C₁ should read 1 + p₁/p₂.
    """
    _check(n1=n1, n2=n2, c1=c1, c2=c2, rtt_s=rtt_s)
    if c1 * (2 + n1 / n2) <= c2:
        common = (n1 * c1 + n2 * c2) / (n1 + n2)
        p2 = 2 / (common * rtt_s) ** 2
        # x₁ : x₂ = 1/p₁ : 1/p₂ with x₁ = C₁
        return Rates((c1, common - c1), (common,), (p2 * (common - c1) / c1, p2))
    z = _positive_root([1, n1 / n2, 1, -c2 / c1])
    p1 = 2 / (c1 * (1 + z**2) * rtt_s) ** 2
    return Rates((c1, c1 * z**2), (c1 * (z + z**3),), (p1, p1 / z**2))


def scenario_c_optimum(n1: float, n2: float, c1: float, c2: float, rtt_s: float) -> Rates:
    """Scenario C: equal rates as far as probing allows.

    Raises ParameterError (also where probing alone fills a link). Source: §III C, as appendix B 2 case 1.
    """
    _check(n1=n1, n2=n2, c1=c1, c2=c2, rtt_s=rtt_s)
    probe = 1 / rtt_s
    x2 = max(probe, (n1 * c1 + n2 * c2) / (n1 + n2) - c1)
    y = c2 - n1 / n2 * x2
    if c1 <= probe or y <= probe:
        raise ParameterError(f"probing at {probe:g} segments/s per path fills a link of scenario C")
    return Rates((c1, x2), (y,))


def network_a(n1: float, n2: float, c1: float, c2: float, rtt_s: float, control: str = "lia") -> Network:
    """Scenario A as a `Network`: links ``server``, ``shared``; users ``type1``, ``type2``. Raises ParameterError."""
    links = {"server": Capacity(n1 * c1), "shared": Capacity(n2 * c2)}
    type1 = User("type1", control, (Route(("server",), rtt_s), Route(("server", "shared"), rtt_s)), n1)
    return Network(links, [type1, User("type2", "reno", (Route(("shared",), rtt_s),), n2)])


def network_b(
    c_x: float, c_t: float, n: float, rtt_s: float, control: str = "lia", *, upgraded: bool = True
) -> Network:
    """Scenario B as a `Network`: links ``X`` and ``T``, users ``blue`` and ``red``. Raises ParameterError."""
    blue = User("blue", control, (Route(("X",), rtt_s), Route(("T",), rtt_s)), n)
    both = (Route(("X", "T"), rtt_s), Route(("T",), rtt_s))
    red = User("red", control, both, n) if upgraded else User("red", "reno", both[1:], n)
    return Network({"X": Capacity(c_x), "T": Capacity(c_t)}, [blue, red])


def network_c(n1: float, n2: float, c1: float, c2: float, rtt_s: float, control: str = "lia") -> Network:
    """Scenario C as a `Network`: links ``ap1`` and ``ap2``, users ``multi`` and ``single``. Raises ParameterError."""
    links = {"ap1": Capacity(n1 * c1), "ap2": Capacity(n2 * c2)}
    multi = User("multi", control, (Route(("ap1",), rtt_s), Route(("ap2",), rtt_s)), n1)
    return Network(links, [multi, User("single", "reno", (Route(("ap2",), rtt_s),), n2)])
