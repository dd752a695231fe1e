"""Links of a scenario file: their two directions, queues and losses."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mptcplab import routers
from mptcplab.scenario import units
from mptcplab.scenario.declared import LENGTH, PERCENTAGE, Declared, Family, Settings
from mptcplab.scenario.errors import Part, show
from mptcplab.scenario.machines import INTERFACES, Interfaces
from mptcplab.scenario.middleboxes import BOXES, Middlebox
from mptcplab.scenario.traces import TRACE, TraceFile
from mptcplab.scenario.value_types import (
    HOUR,
    Table,
    ValueType,
    Wrong,
    attempt,
    boolean,
    choice,
    fault,
    faults,
    number,
    quantity,
    table_of,
    text,
)
from mptcplab.scenario.variation import VARIATION, Variation

Way = Literal["down", "up"]
WAYS: tuple[Way, Way] = ("down", "up")

RATE = quantity(units.RATE, 1, 10**12)
DELAY = quantity(units.TIME, 0, HOUR, "a delay")
Rate = Annotated[int, RATE]
Delay = Annotated[int, DELAY]
Percentage = Annotated[Fraction, PERCENTAGE]


class Queue(Declared):
    """A queue."""

    def written(self) -> object:
        """The length alone where there is nothing more to say."""
        return str(self.limit) if self.kind == "drop-tail" and self.at_least is None else self.table()


class Loss(Declared):
    """A loss."""

    def written(self) -> object:
        """The percentage alone where there is nothing more to say."""
        return PERCENTAGE.write(self.probability) if self.kind == "bernoulli" else self.table()


def percentage_of(loss: Loss) -> Fraction | None:
    """What is lost of independent packets; none of another loss."""
    return loss.probability if loss.kind == "bernoulli" else None


def _short_queue(value: str) -> Table:
    if value in QUEUE.tables():
        raise fault(show(value), f"the queue with its parameters: {{ kind = {show(value)}, limit = … }}")
    LENGTH.validate(value)
    return QUEUE.tables()["drop-tail"].model_validate({"limit": value})


def _short_loss(value: str) -> Table:
    if value in LOSS.tables():
        raise fault(show(value), f"the loss with its parameters: {{ kind = {show(value)}, … }}")
    PERCENTAGE.validate(value)
    return LOSS.tables()["bernoulli"].model_validate({"probability": value})


QUEUE = Family(
    "queues", Queue, "drop-tail", _short_queue, f'{LENGTH.expected}, or a table such as {{ kind = "red", … }}'
)
LOSS = Family("losses", Loss, None, _short_loss, f'{PERCENTAGE.expected}, or {{ kind = "gilbert-elliott", … }}')
MEDIUM = Settings("media", "a medium, a table", "a medium")


@cache
def drop_tail(length: str) -> Queue:
    """A drop-tail queue of this length."""
    queue: Queue = QUEUE.validate(length)
    return queue


@cache
def no_loss() -> Loss:
    """What a link without `loss` has."""
    loss: Loss = LOSS.validate("0 %")
    return loss


def one_bdp() -> Queue:
    """What a link without `queue` has."""
    return drop_tail("1 BDP")


def _shaped(value: object) -> int:
    if value == "none":
        return 0
    wrong: list[Wrong] = []
    rate = attempt(RATE.validate, value, (), wrong)
    for _, found, want in wrong:
        raise fault(found, f'"none" or {want}')
    assert rate is not None, "a rate, or something wrong"
    return int(rate)


SHAPED = ValueType(
    f'"none" or {RATE.expected}',
    _shaped,
    lambda rate: RATE.write(rate) if rate else "none",
    {"anyOf": [{"const": "none"}, RATE.schema]},
)
"""The rate of a shaper; 0 stands for none, which lets everything pass."""


class Shaper(Table):
    """A token bucket in front of a link: excess packets wait or, with `policing`, are dropped."""

    expected: ClassVar[str] = "a shaper"
    rate: Annotated[int, SHAPED]
    burst: Annotated[int, quantity(units.SIZE, 0, 10**9)] = 32_000
    policing: Annotated[bool, boolean()] = False
    queue: Annotated[Queue, QUEUE] = Field(default_factory=lambda: drop_tail("100 ms"))


class Reorder(Table):
    """Some packets are delayed, so that later ones overtake them."""

    expected: ClassVar[str] = "a reordering"
    probability: Percentage
    by: Annotated[int, quantity(units.TIME, 1, HOUR)]


_SHAPER = table_of(Shaper, 'a table such as { rate = "5 Mbit/s", burst = "32 kB" }')
_REORDER = table_of(Reorder, 'a table such as { probability = "1 %", by = "10 ms" }')


class Side(Table):
    """Properties of one direction of a link, or of both."""

    expected: ClassVar[str] = "one direction of a link"
    rate: Rate | None = None
    trace: Annotated[TraceFile, TRACE] | None = None
    delay: Delay | None = None
    queue: Annotated[Queue, QUEUE] | None = None
    loss: Annotated[Loss, LOSS] | None = None
    variation: Annotated[Variation, VARIATION] | None = None
    shaper: Annotated[Shaper, _SHAPER] | None = None
    jitter: Delay | None = None
    reorder: Annotated[Reorder, _REORDER] | None = None
    duplicate: Percentage | None = None

    @model_validator(mode="after")
    def _one_capacity(self) -> Self:
        if self.rate is not None and self.trace is not None:
            raise faults(
                "Side", [(("trace",), f"{show(self.trace.file)} together with a rate", "either rate or trace")]
            )
        return self


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link, complete."""

    rate_bps: int | None
    """Absent when a trace gives the capacity."""
    trace: TraceFile | None
    delay_ns: int
    queue: Queue
    loss: Loss
    variation: Variation | None = None
    shaper: Shaper | None = None
    jitter: int | None = None
    reorder: Reorder | None = None
    duplicate: Fraction | None = None


class Metered(Table):
    """What the traffic of a link costs, both directions together."""

    expected: ClassVar[str] = "what the traffic of the link costs"
    price: Annotated[float, number(lambda x: 0 <= x <= 1_000_000, "a price per GB, a number from 0 to 1000000")] = 0.0
    cap: Annotated[int, quantity(units.SIZE, 1, 10**15)] | None = None
    use: Annotated[str, choice("always", "backup")] = "always"


_METERED = table_of(Metered, 'a table such as { price = 4.0, cap = "20 GB" }')


HEADERS_BYTES = 40
"""IPv4 and TCP without options, which an MSS leaves out."""
# 40 bytes of TCP options come out of the MSS (RFC 6691), so less than 88 leaves hardly any data; an IPv4 packet of
# 65 535 bytes less two headers of 20 bytes bounds it above.
MSS = quantity(units.SIZE, 88, 65_495)
# Every host of IPv4 takes 576 bytes (RFC 791 §3.1).
_MTU = quantity(units.SIZE, 576, 65_535)


class Link(Side):
    """A link. Keys apply to both directions unless `down` or `up` overrides them."""

    expected: ClassVar[str] = "a link"
    down: Side = Field(default_factory=Side)
    up: Side = Field(default_factory=Side)
    medium: Annotated[str, text("the name of a medium")] | None = None
    metered: Annotated[Metered, _METERED] | None = None
    mtu: Annotated[int, _MTU] | None = None
    mss: Annotated[int, MSS] | None = None
    router: Annotated[str, choice(*routers.NAMES)] | None = None
    middleboxes: Annotated[tuple[Middlebox, ...], BOXES] = ()
    interface: Annotated[Interfaces, INTERFACES] | None = None

    @model_validator(mode="before")
    @classmethod
    def _routed(cls, value: object) -> object:
        return routers.expanded(value) if isinstance(value, dict) else value

    def side(self, way: Way) -> Side:
        """What is specified for one direction only."""
        return self.down if way == "down" else self.up

    def origin(self, way: Way, key: str) -> tuple[Part, ...]:
        """Where this direction's value stands in the file."""
        return (way, key) if getattr(self.side(way), key) is not None else (key,)

    def written(self) -> dict[str, Any]:
        """Each key once where both directions agree, else for each direction."""
        down, up = (
            Side.model_construct(
                rate=each.rate_bps,
                trace=each.trace,
                delay=each.delay_ns,
                queue=each.queue,
                loss=each.loss,
                variation=each.variation,
                shaper=each.shaper,
                jitter=each.jitter,
                reorder=each.reorder,
                duplicate=each.duplicate,
            ).table()
            for each in (self.direction(way) for way in WAYS)
        )
        table: dict[str, Any] = {}
        for key in Side.model_fields:
            if key in down and down.get(key) == up.get(key):
                table[key] = down[key]
            else:
                for way, side in (("down", down), ("up", up)):
                    if key in side:
                        table.setdefault(way, {})[key] = side[key]
        if self.medium is not None:
            table["medium"] = self.medium
        if self.metered is not None:
            table["metered"] = _METERED.write(self.metered)
        if self.mtu is not None:
            table["mtu"] = _MTU.write(self.mtu)
        if self.mss is not None:
            table["mss"] = MSS.write(self.mss)
        if self.middleboxes:
            table["middleboxes"] = BOXES.write(self.middleboxes)
        if self.interface is not None:
            table["interface"] = self.interface.written()
        return table

    @property
    def largest_mss(self) -> int | None:
        """The largest MSS that its router lets SYNs announce."""
        return self.mss if self.mss is not None or self.mtu is None else self.mtu - HEADERS_BYTES

    def direction(self, way: Way) -> Direction:
        """This direction with what holds for both, and the defaults."""
        side = self.side(way)
        capacity = side if side.rate is not None or side.trace is not None else self
        delay = side.delay if side.delay is not None else self.delay
        assert delay is not None, "checked by _complete"
        return Direction(
            capacity.rate,
            capacity.trace,
            delay,
            side.queue or self.queue or one_bdp(),
            side.loss or self.loss or no_loss(),
            side.variation or self.variation,
            side.shaper or self.shaper,
            self.jitter if side.jitter is None else side.jitter,
            side.reorder or self.reorder,
            self.duplicate if side.duplicate is None else side.duplicate,
        )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        wrong: list[Wrong] = []
        for key, others, kind in (("rate", ("rate", "trace"), RATE), ("delay", ("delay",), DELAY)):
            own = any(getattr(self, other) is not None for other in others)
            lacking = [way for way in WAYS if all(getattr(self.side(way), other) is None for other in others)]
            if not own and len(lacking) == 2:
                wrong.append(((key,), "nothing", kind.expected))
            elif not own:
                wrong.extend(((way, key), "nothing", kind.expected) for way in lacking)
        both = Side.model_construct(**{key: getattr(self, key) for key in Side.model_fields})
        for key, value in both.table().items():
            others = ("rate", "trace") if key in ("rate", "trace") else (key,)
            if all(any(getattr(self.side(way), other) is not None for other in others) for way in WAYS):
                found = f"{show(value)}, which has no effect because both down and up override it"
                wrong.append(((key,), found, f"either {key} or down.{key} and up.{key}"))
        if self.mtu is not None and self.mss is not None and self.mss > self.mtu - HEADERS_BYTES:
            most = f"at most {MSS.write(self.mtu - HEADERS_BYTES)}, which mtu = {show(_MTU.write(self.mtu))} leaves"
            wrong.append((("mss",), show(MSS.write(self.mss)), most))
        if wrong:
            raise faults("Link", wrong)
        return self
