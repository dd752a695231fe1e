"""The fat tree of Al-Fares 2008: its links, its equal-cost paths, and who sends to whom in it.

k pods of k/2 edge and k/2 aggregation switches, (k/2)² core switches, k/2 hosts at each edge switch unless told
otherwise. Aggregation switch a of every pod has the cores a·k/2 to a·k/2 + k/2 − 1. Of every link, *up* is the
direction away from the hosts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise

LONGEST_PATH = 6
"""Links between two hosts of different pods."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path between two hosts."""

    via: str
    """The switch at which it turns."""
    up: tuple[str, ...]
    """Links from the sending host to that switch."""
    down: tuple[str, ...]
    """Links from there to the receiving host; each is crossed against its direction up."""


@dataclass(frozen=True, slots=True)
class FatTree:
    """The network of switches with k ports."""

    k: int
    hosts_per_edge: int | None = None
    """k/2 where it is not given."""

    @property
    def at_edge(self) -> int:
        """Hosts at one edge switch."""
        return self.half if self.hosts_per_edge is None else self.hosts_per_edge

    @property
    def hosts(self) -> int:
        """How many there are: k³/4 with k/2 at each edge switch."""
        return self.k * self.half * self.at_edge

    @property
    def half(self) -> int:
        """Half of a switch's ports."""
        return self.k // 2

    def host_links(self) -> Iterator[str]:
        """The links between hosts and edge switches."""
        return (f"host-{host}" for host in range(self.hosts))

    def switch_links(self) -> Iterator[str]:
        """The links between edge and aggregation, then between aggregation and core."""
        for pod in range(self.k):
            for edge in range(self.half):
                yield from (_edge_link(pod, edge, aggregation) for aggregation in range(self.half))
        for pod in range(self.k):
            yield from (self._core_link(pod, core) for core in range(self.half**2))

    def _place(self, host: int) -> tuple[int, int]:
        """The pod and the edge switch of a host."""
        switch = host // self.at_edge
        return switch // self.half, switch % self.half

    def _core_link(self, pod: int, core: int) -> str:
        return f"agg-{pod}-{core // self.half}.core-{core}"

    def route_count(self, source: int, target: int) -> int:
        """How many shortest paths there are between two hosts."""
        (pod, edge), (other_pod, other_edge) = self._place(source), self._place(target)
        if pod != other_pod:
            return self.half**2
        return self.half if edge != other_edge else 1

    def route(self, source: int, target: int, number: int) -> Route:
        """One of the shortest paths, by its number."""
        (pod, edge), (other_pod, other_edge) = self._place(source), self._place(target)
        first, last = f"host-{source}", f"host-{target}"
        if (pod, edge) == (other_pod, other_edge):
            return Route(f"edge-{pod}-{edge}", (first,), (last,))
        if pod == other_pod:
            links = (_edge_link(pod, edge, number), _edge_link(pod, other_edge, number))
            return Route(f"agg-{pod}-{number}", (first, links[0]), (links[1], last))
        aggregation = number // self.half
        return Route(
            f"core-{number}",
            (first, _edge_link(pod, edge, aggregation), self._core_link(pod, number)),
            (self._core_link(other_pod, number), _edge_link(other_pod, other_edge, aggregation), last),
        )


def _edge_link(pod: int, edge: int, aggregation: int) -> str:
    return f"edge-{pod}-{edge}.agg-{pod}-{aggregation}"


def draw(seed: int, what: str, count: int) -> int:
    """A number below `count`, drawn by a hash of the seed and of what it is for; uneven by less than count / 2⁶⁴."""
    digest = sha256(f"{seed}/{what}".encode()).digest()
    return int.from_bytes(digest[:8], "big") * count >> 64


def pairs(kind: str, hosts: int, stride: int | None, seed: int) -> list[tuple[int, int]]:
    """Who sends to whom, by the kind of traffic; no host sends to itself."""
    if kind == "stride":
        assert stride is not None, "checked when the traffic was read"
        return [(host, (host + stride) % hosts) for host in range(hosts)]
    if kind == "all-to-all":
        return [(host, other) for host in range(hosts) for other in range(hosts) if other != host]
    if kind == "random":
        return [(host, _other(host, draw(seed, f"traffic/{host}", hosts - 1))) for host in range(hosts)]
    assert kind == "permutation", f"refused before: {kind}"
    return list(enumerate(_derangement(hosts, seed)))


def parts(shares: Sequence[Fraction | None], hosts: int) -> list[int]:
    """How many hosts each kind of traffic has; the one without a share has what the others leave.

    The ends of the shares, added up, are rounded: no host is counted twice, and shares that make a whole leave none.
    """
    rest = 1 - sum((share for share in shares if share is not None), Fraction(0))
    ends, total = [0], Fraction(0)
    for share in shares:
        total += rest if share is None else share
        ends.append(int(total * hosts + Fraction(1, 2)))
    return [end - begin for begin, end in pairwise(ends)]


def senders(counts: Sequence[int], hosts: int, seed: int) -> list[set[int]]:
    """Which hosts each kind of traffic has, drawn without replacement."""
    if list(counts) == [hosts]:
        return [set(range(hosts))]
    order = _shuffled(hosts, seed, "senders")
    chosen, begin = [], 0
    for count in counts:
        chosen.append(set(order[begin : begin + count]))
        begin += count
    return chosen


def _other(host: int, number: int) -> int:
    """The hosts but one, numbered."""
    return number + (number >= host)


def _derangement(hosts: int, seed: int) -> list[int]:
    """A permutation that leaves nothing in its place, each equally likely: about every third of all is one."""
    attempt = 0
    while True:
        order = _shuffled(hosts, seed, f"traffic/{attempt}")
        if all(target != host for host, target in enumerate(order)):
            return order
        attempt += 1


def _shuffled(hosts: int, seed: int, what: str) -> list[int]:
    order = list(range(hosts))
    for last in range(hosts - 1, 0, -1):
        other = draw(seed, f"{what}/{last}", last + 1)
        order[last], order[other] = order[other], order[last]
    return order
