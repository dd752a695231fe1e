"""How true an emulation was: packets that are handed over late, or lost where no link lost them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

WORST_SHARE: Final = 0.1
"""Share of the smallest RTT that the 99th percentile of lateness may take; a run beyond it is invalid."""

_PACKET_BITS: Final = 8 * 1500


@dataclass(frozen=True)
class Timing:
    """What the emulator measured, held against the network it stood for. Times in seconds."""

    lateness_mean_s: float
    lateness_p99_s: float
    lateness_max_s: float
    smallest_rtt_s: float
    packets: int
    cpu_s: float
    problems: tuple[str, ...]
    """Why the run is not valid."""
    remarks: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether packets came when the scenario says."""
        return not self.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """For the reader of the results."""
        share = self.lateness_p99_s / self.smallest_rtt_s
        late = (
            f"packets came late by {self.lateness_mean_s * 1e6:.0f} µs on average, {self.lateness_p99_s * 1e6:.0f} µs "
            f"at the 99th percentile ({share:.1%} of the smallest RTT), {self.lateness_max_s * 1e3:.1f} ms at most"
        )
        return (*(f"INVALID: {problem}" for problem in self.problems), late, *self.remarks)

    def to_dict(self) -> dict[str, Any]:
        """For the JSON document."""
        return {
            "valid": self.valid,
            "lateness_s": {"mean": self.lateness_mean_s, "p99": self.lateness_p99_s, "max": self.lateness_max_s},
            "smallest_rtt_s": self.smallest_rtt_s,
            "packets": self.packets,
            "cpu_s": self.cpu_s,
        }


def judge(description: Mapping[str, Any], emulation: Mapping[str, Any], dropped: int) -> Timing:
    """Judge what the emulator says of itself; `dropped` packets were lost by the hosts' own interfaces."""
    lateness = emulation["lateness"]
    smallest = smallest_rtt_s(description)
    p99 = lateness["p99_ns"] * 1e-9
    problems = []
    if p99 > WORST_SHARE * smallest:
        problems.append(
            f"the emulator was late by {p99 * 1e3:.2f} ms at the 99th percentile, more than {WORST_SHARE:.0%} of the "
            f"smallest RTT, {smallest * 1e3:.2f} ms: reduce the machine's other load, or use slower links"
        )
    if dropped:
        problems.append(f"the hosts' interfaces dropped {dropped} packets")
    remarks = []
    if emulation["refused"]:
        remarks.append(f"{emulation['refused']} packets found their host's interface down")
    if emulation["unrouted"]:
        remarks.append(f"{emulation['unrouted']} packets were addressed to no host of the scenario")
    if not emulation["real_time"]:
        remarks.append("the emulator has no real-time priority here (needs CAP_SYS_NICE), so packets are later")
    return Timing(
        lateness_mean_s=lateness["mean_ns"] * 1e-9,
        lateness_p99_s=p99,
        lateness_max_s=lateness["max_ns"] * 1e-9,
        smallest_rtt_s=smallest,
        packets=emulation["received"],
        cpu_s=emulation["cpu_ns"] * 1e-9,
        problems=tuple(problems),
        remarks=tuple(remarks),
    )


def smallest_rtt_s(description: Mapping[str, Any]) -> float:
    """The least RTT of a full packet over a path that a connection uses, all queues empty."""
    used = {path for connection in description["connections"] for path in connection["paths"]}

    def rtt_s(path: int) -> float:
        links = [description["links"][link] for link in description["paths"][path]["links"]]
        return sum(
            float(link[way]["delay_ns"]) * 1e-9
            + (_PACKET_BITS / link[way]["rate_bps"] if link[way]["rate_bps"] else 0.0)
            for link in links
            for way in ("down", "up")
        )

    return min(map(rtt_s, used))
