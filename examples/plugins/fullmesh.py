"""A subflow from every local address to every address of the peer, as a plug-in: the built-in `fullmesh`."""

from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.plugins import (
    AddressAdded,
    AddressRemoved,
    Announce,
    FullyEstablished,
    Join,
    PathAction,
    PathContext,
    PathEvent,
    PathManager,
    SubflowClosed,
    SubflowEstablished,
    Timer,
    WakeAt,
)

SECOND_NS = 1_000_000_000


@dataclass
class Pair:
    """Two addresses that have, or had, a subflow."""

    backup: bool = False
    attempts: int = 0
    established_ns: int | None = None
    retry_ns: int | None = None


class Fullmesh(PathManager):
    """Joins every pair of addresses. A pair whose subflow is lost is tried again, at once when no subflow is left, else
    after 1 s, 2 s, … 64 s, at most `attempts` times in a row; one that was closed for good is not.
    """

    def __init__(self, *, attempts: int = 8) -> None:
        self.attempts = attempts
        self.begun = False
        self.pairs: dict[tuple[int, int], Pair] = {}

    def on_event(self, event: PathEvent, context: PathContext) -> Iterator[PathAction]:
        """What is to be done."""
        if not context.initiator:
            if isinstance(event, FullyEstablished):
                yield from (Announce(address.id) for address in context.local if address.id != 0)
            return
        match event:
            case FullyEstablished():
                self.begun = True
                yield from self.join(context)
            case AddressAdded(remote_id) if self.begun:
                yield from self.join(context, remote_id)
            case AddressRemoved(remote_id):
                self.pairs = {ids: pair for ids, pair in self.pairs.items() if ids[1] != remote_id}
            case SubflowEstablished(local_id, remote_id):
                self.pair(local_id, remote_id).established_ns = context.now_ns
            case SubflowClosed(local_id, remote_id, transient) if (local_id, remote_id) not in context.open:
                yield from self.closed(self.pair(local_id, remote_id), transient, context)
            case Timer():
                yield from self.retry(context)

    def pair(self, local_id: int, remote_id: int) -> Pair:
        """What is known of a pair."""
        return self.pairs.setdefault((local_id, remote_id), Pair())

    def join(self, context: PathContext, only: int | None = None) -> Iterator[PathAction]:
        """Joins every pair without a subflow, of one address of the peer or of all."""
        for local in context.local:
            for remote in context.remote:
                ids = (local.id, remote.id)
                same_family = local.address.version == remote.address.version
                if only in (None, remote.id) and same_family and ids not in context.open:
                    pair = self.pair(*ids)
                    pair.backup, pair.attempts, pair.retry_ns = local.backup, 0, None
                    yield Join(*ids, backup=local.backup)

    def closed(self, pair: Pair, transient: bool, context: PathContext) -> Iterator[PathAction]:
        """A pair has lost its subflow. One that lasted a minute begins a new row of attempts."""
        if pair.established_ns is not None and context.now_ns - pair.established_ns >= 60 * SECOND_NS:
            pair.attempts = 0
        pair.established_ns = None
        if not transient or pair.attempts == self.attempts:
            pair.retry_ns = None
            return
        alone = not context.open and pair.attempts == 0
        pair.retry_ns = context.now_ns + (0 if alone else SECOND_NS << min(pair.attempts, 6))
        pair.attempts += 1
        yield WakeAt(pair.retry_ns)

    def retry(self, context: PathContext) -> Iterator[PathAction]:
        """Tries again what is due and still possible."""
        local = {address.id for address in context.local}
        remote = {address.id for address in context.remote}
        for ids, pair in self.pairs.items():
            if pair.retry_ns is None:
                continue
            if pair.retry_ns > context.now_ns:
                yield WakeAt(pair.retry_ns)
                continue
            pair.retry_ns = None
            if ids[0] in local and ids[1] in remote and ids not in context.open:
                yield Join(*ids, backup=pair.backup)
