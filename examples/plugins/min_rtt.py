"""Smallest RTT first as a plug-in: the built-in `min-rtt`, and the same results."""

from mptcplab.plugins import Context, Demand, Scheduler, Subflows


class MinRtt(Scheduler):
    """Among the subflows with room: active before backup, one that has not carried the data before one that has, then
    the smallest smoothed RTT; ties go to the subflow opened first.
    """

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | None:
        """The subflow for one segment."""
        tried = demand.tried
        each = list(subflows)
        # A backup is used when no active subflow works at all, not when they are merely full (RFC 8684 §3.3.8).
        only_backups = not any(s.active and not s.potentially_failed and not s.backup for s in each)
        usable = [s for s in each if s.usable and (only_backups or not s.backup)]
        best = min(usable, key=lambda s: (s.id in tried, s.srtt_ns), default=None)
        return None if best is None else best.id
