"""That one quantity goes with another: Spearman's rank correlation over many samples."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, Self

from scipy import stats

from mptcplab.reproduce.judge.verdict import CHANCE, CONFIDENCE, NO_INFLUENCE, Check, Verdict, graded

_Z: Final = float(stats.norm.ppf((1 + CONFIDENCE) / 2))
_FIELLER: Final = 1.06
"""Of a rank correlation's variance on Fisher's scale: 1.06 / (n − 3) (Fieller, Hartley and Pearson 1957)."""


@dataclass(frozen=True)
class Trend(Check):
    """How one quantity goes with another over many samples."""

    sense: Literal["rises", "falls", "flat"]
    rho: float
    """Spearman's rank correlation."""
    p: float
    """Probability of as much by chance."""
    first: float
    """Median of the lowest batch."""
    last: float
    """Median of the highest."""
    samples: int | None = None
    """How many. Without it the interval is what `p` implies."""
    kind: ClassVar[str] = "trend"

    @property
    def _half(self) -> float:
        """Half of the 95 % interval of artanh ρ."""
        if self.samples is not None:
            return _Z * math.sqrt(_FIELLER / (self.samples - 3)) if self.samples > 3 else math.inf
        if self.rho == 0 or self.p >= 1:
            return 0.0
        return _Z * abs(self._z) / float(stats.norm.isf(self.p / 2)) if self.p > 0 else 0.0

    @property
    def _z(self) -> float:
        return math.atanh(max(-0.999999, min(0.999999, self.rho)))

    @property
    def verdict(self) -> Verdict:
        """By sign and chance; *flat* by how much of the ranks' variance is explained.

        A trend that chance could have made differs only if the interval leaves no room for one that counts: with too
        few samples for that, it is not known.
        """
        if math.isnan(self.rho) or math.isnan(self.p):
            return "differs"
        counts = math.atanh(NO_INFLUENCE)
        if self.sense == "flat":
            return graded(abs(self._z), counts, counts, self._half)
        sign = 1 if self.sense == "rises" else -1
        if sign * self.rho > 0 and self.p < CHANCE:
            return "holds" if sign * (self.last - self.first) > 0 else "holds in part"
        by_chance = self.p >= CHANCE
        return "not known precisely" if by_chance and sign * self._z + self._half >= counts else "differs"

    def text(self) -> str:
        """`ρ = -0.71 (p < 0.001), medians 0.9 → 0.5`."""
        p = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        rule = f"|ρ| ≤ {NO_INFLUENCE}" if self.sense == "flat" else f"{self.sense} with p < {CHANCE}"
        of = "" if self.samples is None else f", {self.samples} samples"
        return f"ρ = {self.rho:+.2f} ({p}{of}), medians {self.first:.3g} → {self.last:.3g} ({rule})"

    def counterexample(self) -> Self:
        """The opposite sense."""
        rho = -0.9 if self.sense == "rises" else 0.9
        return replace(self, rho=rho, p=1e-9, first=0.0, last=rho, samples=None)
