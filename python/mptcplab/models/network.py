"""A network for the models: links with a law of loss, and users with a control and routes over the links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from .checks import Array, ParameterError, loss_rates, positive, round_trip_times, segments_per_ack
from .link_laws import Capacity, LinkLaw


@dataclass(frozen=True)
class Route:
    """The links one subflow crosses, by name, and its round-trip time in seconds (propagation when links queue).

    ``loss`` is what is lost whatever the load, in [0, 1): it adds to the losses of the links.
    """

    links: tuple[str, ...]
    rtt_s: float
    loss: float = 0.0


@dataclass(frozen=True)
class User:
    """``count`` identical connections: their control, its parameters, and one subflow per route.

    ``segment_size`` is that of its segments, in the segments that capacities are counted in.
    """

    name: str
    control: str
    routes: tuple[Route, ...]
    count: float = 1.0
    b: float = 1.0
    parameters: Mapping[str, float] = field(default_factory=dict)
    segment_size: float = 1.0


class Network:
    """Links and users as arrays. Routes are numbered in the order of the users, links in the order given.

    Args:
        links: law of each link by name; capacities in segments/s (`capacity_segments_per_s` converts).
        users: the users; names are unique.

    Raises:
        ParameterError: no users, a name used twice, a route without links, over an unknown link or twice over one, a
            count, ``b`` or a size out of range.
        RttError: an RTT that is not positive.
        LossOutOfRangeError: a route's own loss.

    """

    def __init__(self, links: Mapping[str, LinkLaw], users: Sequence[User]) -> None:
        self.links = dict(links)
        self.users = tuple(users)
        if not self.users:
            raise ParameterError("a network without users has no equilibrium: add at least one user")
        self.link_names = tuple(self.links)
        index = {name: i for i, name in enumerate(self.link_names)}
        seen: set[str] = set()
        rows: list[int] = []
        columns: list[int] = []
        rtts: list[float] = []
        losses: list[float] = []
        owners: list[int] = []
        for u, user in enumerate(self.users):
            if user.name in seen:
                raise ParameterError(f"two users are called {user.name!r}")
            seen.add(user.name)
            if not user.routes:
                raise ParameterError(f"user {user.name!r} has no route")
            positive(f"count of user {user.name!r}", user.count)
            positive(f"segment_size of user {user.name!r}", user.segment_size)
            segments_per_ack(user.b)
            for route in user.routes:
                if not route.links or len(set(route.links)) != len(route.links):
                    raise ParameterError(f"a route of user {user.name!r} crosses {route.links!r}: name each link once")
                for name in route.links:
                    if name not in index:
                        known = ", ".join(map(repr, self.link_names)) or "none"
                        raise ParameterError(f"a route of user {user.name!r} crosses {name!r}; the links are: {known}")
                    rows.append(index[name])
                    columns.append(len(rtts))
                rtts.append(route.rtt_s)
                losses.append(route.loss)
                owners.append(u)
        self.rtt_s: Array = round_trip_times(rtts)
        """Round-trip time of each route in seconds, shape (R,)."""
        self.own_loss: Array = loss_rates(losses, zero=True)
        """Loss of each route whatever the load, shape (R,)."""
        self.owner = np.asarray(owners, dtype=np.intp)
        """User of each route, shape (R,)."""
        self.count: Array = np.asarray([user.count for user in self.users], dtype=np.float64)
        """Number of connections of each user, shape (U,)."""
        self.segment_size: Array = np.asarray([user.segment_size for user in self.users], dtype=np.float64)
        """Size of the segments of each user, shape (U,)."""
        self.b: Array = np.asarray([user.b for user in self.users], dtype=np.float64)
        """Segments acknowledged by one ACK, shape (U,)."""
        self.crossing: sp.csr_array[np.float64] = sp.csr_array(
            sp.coo_array(
                (np.ones(len(rows)), (np.asarray(rows), np.asarray(columns))), shape=(len(self.link_names), len(rtts))
            )
        )
        """1 where a link (row) is crossed by a route (column), shape (L, R)."""
        self.capacity: Array = np.asarray([law.segments_per_s for law in self.links.values()], dtype=np.float64)
        """Capacity of each link in segments/s, shape (L,)."""
        self.hard = np.asarray([isinstance(law, Capacity) for law in self.links.values()], dtype=np.bool_)
        """Which links are hard capacities, shape (L,)."""

    @property
    def load_matrix(self) -> sp.csr_array:
        """Load a link gets from the rate of one connection of each route, shape (L, R): its count times its size."""
        return sp.csr_array(self.crossing * (self.count * self.segment_size)[self.owner][None, :])

    def user_sums(self, values: Array) -> Array:
        """Sum of ``values`` of the routes, shape (R,), over the routes of each user, shape (U,)."""
        return np.asarray(np.bincount(self.owner, weights=values, minlength=len(self.users)), dtype=np.float64)

    def routes_of(self, user: str) -> slice:
        """The routes of the user of that name, as a slice. Raises ParameterError (no such user)."""
        for u, candidate in enumerate(self.users):
            if candidate.name == user:
                first = int(np.searchsorted(self.owner, u))
                return slice(first, first + len(candidate.routes))
        raise ParameterError(f"no user {user!r}; the users are: {', '.join(repr(v.name) for v in self.users)}")


def capacity_segments_per_s(rate_bps: float, segment_bytes: float = 1500.0) -> float:
    """A rate in bit/s as segments/s of ``segment_bytes`` on the wire. Raises ParameterError (not positive)."""
    return positive("rate_bps", rate_bps, "bit/s") / (8 * positive("segment_bytes", segment_bytes, "bytes"))
