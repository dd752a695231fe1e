"""How a connection of a stack stands."""

import json
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class SubflowState:
    """A subflow. Counters are of this end; times in seconds."""

    local: str
    remote: str
    active: bool
    """Whether it may carry new data."""
    backup: bool
    cwnd_segments: float
    srtt_s: float
    segments_sent: int
    retransmissions: int
    timeouts: int
    reinjections: int
    segments_received: int
    bytes_received: int


@dataclass(frozen=True)
class ConnectionState:
    """A connection."""

    fallback: bool
    """Whether MPTCP was asked for and TCP is spoken."""
    over: bool
    bytes_received: int
    bytes_unacknowledged: int
    subflows: tuple[SubflowState, ...]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """As the core tells it."""
        fields: dict[str, Any] = json.loads(text)
        subflows = tuple(SubflowState(**subflow) for subflow in fields.pop("subflows"))
        return cls(subflows=subflows, **fields)

    def active(self) -> int:
        """How many subflows may carry data."""
        return sum(subflow.active for subflow in self.subflows)
