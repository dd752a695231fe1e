"""How TCP behaves: the table `tcp` of a connection."""

from typing import Annotated, ClassVar, Self

from pydantic import model_validator

from mptcplab.scenario import units
from mptcplab.scenario.errors import show
from mptcplab.scenario.kinds import (
    HOUR,
    MICROSECOND,
    SECOND,
    Kind,
    Table,
    boolean,
    choice,
    faults,
    integer,
    or_word,
    quantity,
)

_COUNT = "a whole number"


class Tcp(Table):
    """Options of TCP, for both ends and each subflow. The defaults are Linux's."""

    expected: ClassVar[str] = "the options of TCP, a table"
    loss_detection: Annotated[str, choice("rack-tlp", "sack", "newreno")] = "rack-tlp"
    initial_window: Annotated[int, integer(1, 1000, _COUNT)] = 10
    initial_ssthresh: Annotated[int | None, or_word("none", integer(1, 1_000_000, _COUNT))] = None
    window_validation: Annotated[str, choice("rfc7661", "linux")] = "rfc7661"
    pacing: Annotated[bool, boolean()] = False
    nagle: Annotated[bool, boolean()] = True
    timestamps: Annotated[bool, boolean()] = True
    frto: Annotated[bool, boolean()] = True
    abe: Annotated[bool, boolean()] = False
    rto_min: Annotated[int, quantity(units.TIME, MICROSECOND, HOUR)] = SECOND // 5
    rto_max: Annotated[int, quantity(units.TIME, MICROSECOND, 24 * HOUR)] = 120 * SECOND
    rto_backoff: Annotated[bool, boolean()] = True
    segments_per_ack: Annotated[int, integer(1, 255, _COUNT)] = 2
    ack_delay: Annotated[int, quantity(units.TIME, 0, SECOND // 2)] = SECOND // 25
    quick_acks: Annotated[int, integer(0, 1_000_000, _COUNT)] = 16
    retries: Annotated[int, integer(0, 255, _COUNT)] = 15
    syn_retries: Annotated[int, integer(0, 255, _COUNT)] = 6
    mptcp_syn_retries: Annotated[int, integer(0, 255, _COUNT)] = 2

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.rto_min > self.rto_max:
            low, high = (show(units.write(units.TIME, time)) for time in (self.rto_min, self.rto_max))
            raise faults("Tcp", [(("rto_min",), low, f"at most rto_max, which is {high}")])
        return self


def _tcp(value: object) -> Tcp:
    return Tcp.model_validate(value)


TCP: Kind = Kind("the options of TCP, a table such as { pacing = true }", _tcp, Tcp.written, {"anyOf": [Tcp]})
