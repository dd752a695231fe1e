"""From a scenario to its equilibrium, and from the equilibrium to a Run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from mptcplab.engines.model import files
from mptcplab.engines.model.connections import is_of_files
from mptcplab.engines.model.refusals import Found, at, unsupported
from mptcplab.engines.model.translate import (
    ACK_WAIT_S,
    RESPONDING,
    Kind,
    Translation,
    key,
    random_loss,
    rate_bps,
    translate,
)
from mptcplab.models.checks import Array, ParameterError
from mptcplab.models.equilibrium import Equilibrium
from mptcplab.models.queues import settle
from mptcplab.results.columns import polars_schema
from mptcplab.results.result import Run
from mptcplab.results.run_frames import Frames
from mptcplab.scenario import Scenario, UnsupportedError
from mptcplab.scenario.buffers import BufferRule
from mptcplab.scenario.connections import default_tcp
from mptcplab.scenario.links import WAYS

_SEGMENTS_PER_ACK: Final = 2

_LARGEST_AUTO_BUFFER: Final = 6 << 20
"""What "auto" grows to at the most, in bytes."""

_FEW_SEGMENTS: Final = 4
"""A smaller window gives no three duplicate ACKs: losses are found by the timer, which has no model here."""


@dataclass(frozen=True)
class _Settled:
    """The equilibrium with what the scenario calls its parts."""

    scenario: Scenario
    translation: Translation
    found: Equilibrium

    def of(self, kind: Kind, values: Array) -> list[float]:
        """Values of the routes of a kind of connection."""
        return [float(value) for value in values[self.found.network.routes_of(kind.name)]]

    def subflows(self) -> Iterator[tuple[Kind, str, float, float]]:
        """Kind, path, rate in segments/s and RTT in seconds of each subflow."""
        for kind in self.translation.kinds:
            for subflow, rate, rtt in zip(
                kind.subflows, self.of(kind, self.found.rates), self.of(kind, self.found.rtt_s), strict=True
            ):
                yield kind, subflow.path, rate, rtt

    def ack_load_bps(self) -> dict[str, float]:
        """Load by acknowledgments of each direction of a link."""
        load: dict[str, float] = {}
        for kind in self.translation.kinds:
            for subflow, rate in zip(kind.subflows, self.of(kind, self.found.rates), strict=True):
                bits = 8 * kind.ack_bytes * rate / _SEGMENTS_PER_ACK * kind.connection.count
                for link in subflow.links:
                    load[key(link, kind.ack_way)] = load.get(key(link, kind.ack_way), 0.0) + bits
        return load


def run(
    scenario: Scenario,
    *,
    seed: int,
    through_wire: bool = False,  # noqa: ARG001 - as every engine; there are no segments
    progress: Callable[[float], None] | None = None,  # noqa: ARG001 - it is done at once
) -> Run:
    """The equilibrium of a scenario. It does not depend on `seed`, which the Run bears all the same.

    Raises mptcplab.scenario.UnsupportedError for what the engine cannot do, mptcplab.models.checks.NotConvergedError.
    """
    problems = unsupported(scenario)
    if problems:
        raise UnsupportedError("model", problems)
    if is_of_files(scenario.document):
        return _of_files(scenario, seed)
    translation = translate(scenario.document)
    try:
        found = settle(translation.network, translation.queues, mixed=translation.mixed, ack_wait_s=ACK_WAIT_S)
    except ParameterError as error:
        expected = "links that can carry one segment per round trip of every subflow"
        raise UnsupportedError("model", at(scenario, [((), str(error), expected)])) from None
    settled = _Settled(scenario, translation, found)
    limits = list(_limits(settled))
    if limits:
        raise UnsupportedError("model", at(scenario, limits))
    return Run(
        seed,
        Frames(
            connections=_frame("connections", list(_connections(settled))),
            subflows=_frame("subflows", list(_subflows(settled))),
            links=_frame("links", list(_links(settled))),
            samples=polars_schema("samples", with_run=False).to_frame(),
        ),
        notes=tuple(_notes(settled)),
    )


def _of_files(scenario: Scenario, seed: int) -> Run:
    """Files have an end, and no equilibrium before it."""
    carried, duration_s = files.transfers(scenario), scenario.duration_ns / 1e9
    return Run(
        seed,
        Frames(
            connections=_frame("connections", list(files.connection_rows(carried, duration_s))),
            subflows=_frame("subflows", list(files.subflow_rows(carried))),
            links=polars_schema("links", with_run=False).to_frame(),
            samples=polars_schema("samples", with_run=False).to_frame(),
        ),
        notes=tuple(files.notes(carried, duration_s)),
    )


def _limits(settled: _Settled) -> Iterator[Found]:
    """What would bound the rates and has no part in the equilibrium."""
    for kind in settled.translation.kinds:
        rates, rtts = settled.of(kind, settled.found.rates), settled.of(kind, settled.found.rtt_s)
        # One path: the saw-tooth's top. Several: room for what one lost beside what the others bring (RFC 6182 §5.3).
        room = 2 if len(rates) > 1 else 4 / 3
        wanted = room * sum(rates) * max(rtts) * kind.payload_bytes
        given = kind.connection.receive_buffer
        assert not isinstance(given, BufferRule), "reading put a size in its place"
        if wanted > (_LARGEST_AUTO_BUFFER if given is None else given):
            size = f"{_LARGEST_AUTO_BUFFER} B at most" if given is None else f"{given} B"
            expected = f"{wanted:.0f} B or more: the model engine has no receive window"
            yield ("connection", kind.name, "receive_buffer"), size, expected
    for name, load in settled.ack_load_bps().items():
        link, way = name.rsplit(" ", 1)
        rate = rate_bps(settled.scenario.document.links[link].direction("up" if way == "up" else "down"))
        if load > rate:
            expected = f"more than the {load:.0f} bit/s of the ACKs: the model engine has no queues of ACKs"
            yield ("link", link, way, "rate"), f"{rate} bit/s", expected


def _frame(name: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    schema = polars_schema(name, with_run=False)
    # What theory has nothing to say about is not in a row and so null.
    return pl.DataFrame([[row.get(column) for column in schema] for row in rows], schema=schema, orient="row")


def _goodputs(settled: _Settled, kind: Kind) -> list[float]:
    return [
        rate * (1 - subflow.random_loss) * kind.payload_bytes * 8
        for subflow, rate in zip(kind.subflows, settled.of(kind, settled.found.rates), strict=True)
    ]


def _connections(settled: _Settled) -> Iterator[dict[str, object]]:
    for kind in settled.translation.kinds:
        connection = kind.connection
        first, last = connection.start
        row = {
            "name": kind.name,
            "protocol": connection.protocol,
            "congestion": connection.congestion.name,
            "scheduler": connection.scheduler.name if connection.protocol == "mptcp" else None,
            "paths": list(connection.paths),
            "start_s": first / 1e9 if first == last else None,
            "goodput_bps": sum(_goodputs(settled, kind)),
        }
        for index in range(connection.count):
            yield {**row, "index": index}


def _subflows(settled: _Settled) -> Iterator[dict[str, object]]:
    found = settled.found
    for kind in settled.translation.kinds:
        goodputs = _goodputs(settled, kind)
        losses, rtts = settled.of(kind, found.route_loss), settled.of(kind, found.rtt_s)
        rows = [
            {
                "connection": kind.name,
                "subflow": number,
                "path": subflow.path,
                "goodput_bps": goodputs[number],
                "share": goodputs[number] / sum(goodputs),
                "loss_rate": losses[number],
                "rtt_mean_s": rtts[number],
                "cwnd_mean_segments": settled.of(kind, found.rates)[number] * rtts[number],
            }
            for number, subflow in enumerate(kind.subflows)
        ]
        for index in range(kind.connection.count):
            for row in rows:
                yield {**row, "index": index}


def _links(settled: _Settled) -> Iterator[dict[str, object]]:
    found, acks = settled.found, settled.ack_load_bps()
    network = found.network
    utilization = found.link_load / network.capacity
    for name, link in settled.scenario.document.links.items():
        for way in WAYS:
            this, direction = key(name, way), link.direction(way)
            row: dict[str, object] = {"name": name, "direction": way}
            if this in network.links:
                number = network.link_names.index(this)
                queue = float(found.queue_packets[number]) / settled.translation.packet_segments[this]
                row["utilization"] = min(float(utilization[number]), 1.0)
                row["loss_rate"] = 1 - (1 - float(found.link_loss[number])) * (1 - random_loss(direction))
                # The queue of a link that is not full is a matter of bursts.
                row["queue_mean_packets"] = queue if found.link_loss[number] > 1e-8 else None
            else:
                row["utilization"] = acks.get(this, 0.0) / rate_bps(direction)
                row["loss_rate"] = random_loss(direction) if this in acks else None
            yield row


def _notes(settled: _Settled) -> Iterator[str]:
    schedulers = {kind.connection.scheduler.name: None for kind in settled.translation.kinds if len(kind.subflows) > 1}
    if schedulers:
        yield f"the scheduler ({', '.join(schedulers)}) makes no difference if windows are always full"
    for kind in settled.translation.kinds:
        table, default = kind.connection.tcp.table(), default_tcp().table()
        if changed := [name for name in table if table[name] != default[name]]:
            yield f"no law here knows the options of TCP that {kind.name} sets: {', '.join(changed)}"
    if responding := [kind.name for kind in settled.translation.kinds if kind.connection.congestion.name in RESPONDING]:
        yield (
            f"α of PERT is 1, the largest delay that it has seen the whole buffer, and where others share a queue it "
            f"answers to losses as Reno: {', '.join(responding)}"
        )
    small, slow = [], []
    for kind, path, rate, rtt in settled.subflows():
        window = rate * rtt
        if window < _FEW_SEGMENTS:
            small.append(f"{kind.name} on {path} ({window:.1f})")
        # An AIMD window comes back from a half in W/2 round trips.
        if window / 2 * rtt > settled.scenario.duration_ns / 1e9:
            slow.append(f"{kind.name} on {path} ({window / 2 * rtt:.0f} s)")
    if small:
        yield (
            f"windows below {_FEW_SEGMENTS} segments, where timeouts matter, which are not modelled: "
            + ", ".join(small)
        )
    if slow:
        yield f"the window takes longer than the scenario to recover from a loss: {', '.join(slow)}"
    if bool(np.any(settled.found.route_loss >= 1)):
        yield "a loss rate of 1 or more on a route: the laws do not apply there"
