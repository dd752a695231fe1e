"""Reno (RFC 5681) as a plug-in: the rule of the built-in `reno`, and the same results."""

from mptcplab.plugins import Rule, Subflows


class Reno(Rule):
    """w ← w + 1/w for each segment acknowledged, w ← w/2 on loss."""

    def increase(self, subflows: Subflows, r: int) -> float:
        """One segment a window."""
        return 1 / subflows[r].cwnd

    def decrease(self, subflows: Subflows, r: int) -> float:
        """Half the window."""
        return subflows[r].cwnd / 2
