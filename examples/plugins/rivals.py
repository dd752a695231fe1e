"""Schedulers that Dong et al. (2018, §3) name beside their own, each as its authors' one idea."""

from mptcplab.plugins import Context, Demand, Scheduler, Subflow, Subflows, Wait


def candidates(demand: Demand, subflows: Subflows) -> list[Subflow]:
    """Those with room, backups only where nothing else works; for data sent before, those that have not carried it."""
    each = list(subflows)
    only_backups = not any(s.active and not s.potentially_failed and not s.backup for s in each)
    usable = [s for s in each if s.usable and (only_backups or not s.backup)]
    return [s for s in usable if s.id not in demand.tried] or usable


class FreezeSlow(Scheduler):
    """The slow path is frozen while it is slower than the fast one by more than `gap_ms` (Hwang and Yoo 2015)."""

    def __init__(self, gap_ms: float = 50.0) -> None:
        """`gap_ms`: difference of the smoothed round-trip times."""
        self.gap_ns = gap_ms * 1e6

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | Wait | None:
        """The fastest, but none that is frozen."""
        usable = candidates(demand, subflows)
        if not usable:
            return None
        best = min(usable, key=lambda s: s.srtt_ns)
        working = [s for s in subflows if s.active and not s.potentially_failed and s.backup == best.backup]
        fastest = min(working, key=lambda s: s.srtt_ns)
        frozen = best.srtt_ns - fastest.srtt_ns > self.gap_ns and demand.is_new
        return Wait(context.now_ns + fastest.srtt_ns + 1) if frozen else best.id


class HighestSendingRate(Scheduler):
    """HSR: the subflow with the largest window over round-trip time (Kimura et al. 2017)."""

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | None:
        """The fastest in bytes per second."""
        best = max(candidates(demand, subflows), key=lambda s: s.cwnd * s.mss / max(s.srtt_ns, 1), default=None)
        return None if best is None else best.id


class LargestWindowSpace(Scheduler):
    """LWS: the subflow with the most room in its window (Kimura et al. 2017)."""

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | None:
        """The emptiest."""
        best = max(candidates(demand, subflows), key=lambda s: s.cwnd - s.in_flight, default=None)
        return None if best is None else best.id


class LowestTimeSpace(Scheduler):
    """LTS: the subflow with the least round-trip time over room in its window (Kimura et al. 2017)."""

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | None:
        """The quickest for its room."""
        best = min(
            candidates(demand, subflows), key=lambda s: s.srtt_ns / max(s.cwnd - s.in_flight, 1e-9), default=None
        )
        return None if best is None else best.id


class Constraint(Scheduler):
    """CP: the slow path only if what overtakes it fits the receive window (Oh and Lee 2015, its constraint)."""

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | Wait | None:
        """The fastest, unless it is slow and would fill the receiver with data out of order."""
        usable = candidates(demand, subflows)
        if not usable:
            return None
        best = min(usable, key=lambda s: s.srtt_ns)
        working = [s for s in subflows if s.active and not s.potentially_failed and s.backup == best.backup]
        fast = min(working, key=lambda s: s.srtt_ns)
        overtaking = (best.srtt_ns - fast.srtt_ns) / 2 * fast.cwnd * fast.mss / max(fast.srtt_ns, 1)
        if demand.is_new and overtaking > context.free_window_bytes:
            return Wait(context.now_ns + fast.srtt_ns + 1)
        return best.id


class PacketScatter(Scheduler):
    """PS: each segment on any path, by chance (Raiciu et al. 2011)."""

    def choose(self, demand: Demand, subflows: Subflows, context: Context) -> int | None:
        """Any."""
        usable = candidates(demand, subflows)
        return self.random.choice(usable).id if usable else None
