"""What a reader has to know beside the line itself."""

from dataclasses import dataclass, field

from mptcplab.diagnose.facts import Socket


@dataclass
class Context:
    """The place in a file: the command whose output it is, if that is known, and when it ran."""

    command: str = ""
    time_s: float | None = None
    device: str = ""
    """The interface that the lines to come are about."""
    counts: str = ""
    """`rx` or `tx`: what the next line of numbers counts."""
    socket: Socket | None = None
    """The one that the next indented line is about."""
    fresh: bool = False
    """Whether the next counter begins a new output."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Of /proc/net/netstat, the names of the numbers to come, by their prefix."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Fields that were passed over."""

    def pass_over(self, *names: str) -> None:
        """Count fields that are not known, of a line that is."""
        for name in names:
            if len(self.unknown) < 1000 or name in self.unknown:
                self.unknown[name[:40]] = self.unknown.get(name[:40], 0) + 1
