"""The parts of a scenario as classes with keywords, for `Scenario.build`: an editor completes and checks them.

Each is the table that a scenario file would have, a dictionary without the keys that were not given;
docs/scenario-format.md says what the values mean. `Scenario.build` checks them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal


class Part(dict[str, Any]):
    """A table of a scenario file."""

    def __init__(self, **keys: object) -> None:
        super().__init__(_given(**keys))

    def __repr__(self) -> str:
        keys = {**self, **self["set"]} if isinstance(self, Event) else self
        shown = (f"{key}={value!r}" for key, value in keys.items() if key != "set" or keys is self)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """As a plain dictionary: the keywords of a class are not all keys of its table."""
        return dict, (dict(self),)


class Link(Part):
    """A link: `rate` ("25 Mbit/s") or `trace`, one-way `delay` ("12.5 ms"), `queue` ("100 ms", "64 packets", "1 BDP").

    `down` (to the client) and `up` are links with the keys that differ in that direction: `link(delay="10 ms",
    down=link(rate="30 Mbit/s"), up=link(rate="5 Mbit/s"))`.

    >>> from mptcplab import link
    >>> link(rate="25 Mbit/s", delay="12.5 ms", loss="1 %")
    Link(rate='25 Mbit/s', delay='12.5 ms', loss='1 %')
    """

    def __init__(
        self,
        *,
        rate: str | None = None,
        delay: str | None = None,
        queue: str | Mapping[str, Any] | None = None,
        loss: str | Mapping[str, Any] | None = None,
        trace: str | Mapping[str, Any] | None = None,
        medium: str | None = None,
        variation: Mapping[str, Any] | None = None,
        shaper: Mapping[str, Any] | None = None,
        jitter: str | None = None,
        reorder: Mapping[str, Any] | None = None,
        duplicate: str | None = None,
        down: Mapping[str, Any] | None = None,
        up: Mapping[str, Any] | None = None,
        mtu: str | None = None,
        mss: str | None = None,
        router: str | None = None,
        middleboxes: Sequence[str | Mapping[str, Any]] | None = None,
        interface: str | Mapping[str, str] | None = None,
        metered: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            rate=rate,
            delay=delay,
            queue=queue,
            loss=loss,
            trace=trace,
            medium=medium,
            variation=variation,
            shaper=shaper,
            jitter=jitter,
            reorder=reorder,
            duplicate=duplicate,
            down=down,
            up=up,
            mtu=mtu,
            mss=mss,
            router=router,
            middleboxes=middleboxes,
            interface=interface,
            metered=metered,
        )


class Connection(Part):
    """A connection over `paths`, of which the first opens it, or `count` such connections.

    Algorithms are names of `mptcplab list`, or tables with their parameters: `{"name": "round-robin", "segments": 2}`.

    >>> from mptcplab import connection
    >>> connection(["wifi"], protocol="tcp", congestion="cubic", count=2)
    Connection(paths=['wifi'], protocol='tcp', congestion='cubic', count=2)
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        protocol: Literal["mptcp", "tcp"] | None = None,
        profile: str | None = None,
        congestion: str | Mapping[str, Any] | None = None,
        scheduler: str | Mapping[str, Any] | None = None,
        path_manager: str | Mapping[str, Any] | None = None,
        application: str | Mapping[str, Any] | None = None,
        direction: Literal["down", "up"] | None = None,
        count: int | None = None,
        start: str | Sequence[str] | None = None,
        stop: str | None = None,
        read_rate: str | None = None,
        read: Sequence[Sequence[str]] | None = None,
        mss: str | None = None,
        receive_buffer: str | Mapping[str, Any] | None = None,
        ecn: bool | None = None,
        checksum: bool | None = None,
        tcp: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            paths=list(paths),
            protocol=protocol,
            profile=profile,
            congestion=congestion,
            scheduler=scheduler,
            path_manager=path_manager,
            application=application,
            direction=direction,
            count=count,
            start=start,
            stop=stop,
            read_rate=read_rate,
            read=None if read is None else [list(each) for each in read],
            mss=mss,
            receive_buffer=receive_buffer,
            ecn=ecn,
            checksum=checksum,
            tcp=tcp,
        )


class Event(Part):
    """A change of a link at a given time: `down` (True: down, False: up again), or a new `rate`, `delay` or `loss`.

    `shaper` is a new rate of the link's shaper, or "none"; `address` is whether clients have an address there; `backup`
    is whether the path is a backup. Both directions change unless `direction` is given; rate, delay and loss change
    gradually with `over`.

    >>> from mptcplab import event
    >>> event("10 s", "wifi", down=True)
    Event(at='10 s', link='wifi', down=True)
    """

    def __init__(
        self,
        at: str,
        link: str,
        *,
        down: bool | None = None,
        rate: str | None = None,
        delay: str | None = None,
        loss: str | Mapping[str, Any] | None = None,
        shaper: str | None = None,
        address: bool | None = None,
        backup: bool | None = None,
        direction: Literal["down", "up"] | None = None,
        over: str | None = None,
    ) -> None:
        change = _given(down=down, rate=rate, delay=delay, loss=loss, shaper=shaper, address=address, backup=backup)
        super().__init__(at=at, link=link, set=change, direction=direction, over=over)


def _given(**keys: object) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


link, connection, event = Link, Connection, Event
"""As they are called, like functions: `link(rate="25 Mbit/s")`."""
