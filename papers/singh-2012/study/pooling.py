"""Resource pooling: links shared as if they were one."""

from mptcplab.models.equilibrium import equilibrium
from mptcplab.models.link_laws import Capacity
from mptcplab.models.network import Network, Route, User, capacity_segments_per_s
from mptcplab.models.optimum import optimum
from mptcplab.reproduce import Claim, Context, Outcome, compare

_MBPS = (10.0, 12.0, 14.0)
"""Unequal links, 36 Mbit/s in all; the figure's own capacities are not printed."""


def _ring(control: str, k: float) -> Network:
    """Three users over three links, each over two of them."""
    links = {f"link {n}": Capacity(capacity_segments_per_s(rate * 1e6)) for n, rate in enumerate(_MBPS)}
    users = [
        User(
            f"user {n}",
            control,
            (Route((f"link {n}",), 0.04), Route((f"link {(n + 1) % 3}",), 0.04)),
            parameters={"k": k} if control == "mppert" else {},
        )
        for n in range(3)
    ]
    return Network(links, users)


def figure_1(context: Context) -> Outcome:
    """Every user gets a third of the pool."""
    pooled = sum(_MBPS)
    unit = capacity_segments_per_s(1e6)
    best = optimum(_ring("reno", 0.0), floor_segments=0).user_rates / unit
    mppert = {k: equilibrium(_ring("mppert", k)).user_rates / unit for k in (0.0, -0.9)}
    published = context.published
    farthest = max(best, key=lambda rate: abs(rate - published["each"]))
    seen = "; ".join(f"k = {k:g}: {', '.join(f'{rate:.2f}' for rate in rates)}" for k, rates in mppert.items())
    return Outcome(
        [
            Claim(
                "each",
                "With links of 36 Mbit/s in all, each of three users over two links can have 12 Mbit/s",
                published["each"],
                float(farthest),
                compare(published["each"], float(farthest), 0.01, 0.05),
                covers=("pooled",),
            )
        ],
        notes=[
            f"The figure illustrates the principle; we take links of 10, 12 and 14 Mbit/s, {pooled:g} in all. "
            f"The law of MPPERT gives the users, in Mbit/s, with {seen}."
        ],
    )
