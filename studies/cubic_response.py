"""CUBIC against RFC 9438's response function, in its own regime (where it is not Reno-friendly).

Equation 6 of the RFC: mean window 1.054·(rtt/p)^(3/4), for losses exactly 1/p segments apart, which the loss kind
`periodic` has. Fast convergence is off there, as §4.7 advises where a flow is alone. With independent losses the
exponent stays and the constant changes: `rules.cubic_constant` plays the same epochs with both kinds, and finds 1.054
with the regular ones.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

from . import loss_throughput
from .rules import cubic_constant, random_loss_constant
from .runs import say, show

GRID = ((1e-3, 0.1), (1e-3, 0.2), (1e-4, 0.05), (1e-4, 0.1), (1e-4, 0.2), (1e-5, 0.05), (1e-5, 0.1), (1e-5, 0.2))


RFC_9438 = (0.4 * (3 + 0.7) / (4 * (1 - 0.7))) ** 0.25
"""Equation 5 with β = 0.7 and C = 0.4: 1.054."""

ALONE = '{ name = "cubic", fast_convergence = false }'
"""For a flow that has no others to give way to."""


def constant(
    p: float, rtt_s: float, *, segments: float, seeds: int = 1, regular: bool = False, congestion: str = '"cubic"'
) -> float:
    """The constant found with independent or regular losses: window·(p/rtt)^(3/4)."""
    f = loss_throughput.measure(p, rtt_s, segments=segments, seeds=seeds, congestion=congestion, regular=regular).flow
    return float(f.rate * f.rtt_s * (f.loss / f.rtt_s) ** 0.75)


def reno_share(p: float, rtt_s: float) -> float:
    """Reno's mean window over CUBIC's: above about 0.7 the Reno-friendly region takes part."""
    return float(random_loss_constant() / sqrt(p) / (1.2 * (rtt_s / p) ** 0.75))


def _grid() -> Iterator[Mapping[str, str]]:
    expected = cubic_constant(random=True)
    for p, rtt_s in GRID:
        found = constant(p, rtt_s, segments=max(1e6, 200 / p))
        yield {
            "p": f"{p:.3%}",
            "RTT": f"{rtt_s * 1e3:.0f} ms",
            "constant": f"{found:.3f}",
            f"from {expected:.3f}": f"{found / expected - 1:+.1%}",
            "Reno's window/CUBIC's": f"{reno_share(p, rtt_s):.2f}",
        }


def _regular() -> Iterator[Mapping[str, str]]:
    for p, rtt_s in GRID:
        alone, converging = (
            constant(p, rtt_s, segments=max(3e5, 100 / p), regular=True, congestion=congestion)
            for congestion in (ALONE, '"cubic"')
        )
        share = reno_share(p, rtt_s)
        yield {
            "p": f"1/{round(1 / p)}",
            "RTT": f"{rtt_s * 1e3:.0f} ms",
            "constant": f"{alone:.3f}",
            f"from {RFC_9438:.3f}": f"{alone / RFC_9438 - 1:+.1%}",
            "with fast convergence": f"{converging:.3f}",
            "Reno's window/CUBIC's": f"{share:.2f}",
        }


def main() -> None:
    """Print the tables."""
    kinds = {
        "regular losses (RFC 9438: 1.054)": cubic_constant(random=False, fast_convergence=False),
        "independent losses": cubic_constant(random=True),
        "those without fast convergence": cubic_constant(random=True, fast_convergence=False),
    }
    say("Constant: " + ", ".join(f"{name} {value:.4f}" for name, value in kinds.items()))
    show("CUBIC under regular losses", _regular())
    show("CUBIC under independent losses", _grid())
