"""What there is: every algorithm a scenario can name, with its parameters, its source and the engines that run it now.

One table for three readers: the scenario reader (is the name known, are the parameters right?), the engines (can this
one do it?) and `mptcplab list`. A new algorithm is a new row here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = bool | int | float | str

ENGINES = ("model", "sim", "stack", "linux")
"""Names of the four engines of the design; `BUILT` says which of them exist."""

BUILT = ("model", "sim", "stack", "linux")
"""Engines that can be called now."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an algorithm. Its type is the type of its default."""

    name: str
    default: Value
    summary: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    runs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """By engine, the values that it runs; an engine that is not named runs every one."""

    def is_known_to(self, engine: str) -> bool:
        """Whether this engine has the parameter at all: one that runs a single value of it has no such choice."""
        return engine not in self.runs or len(self.runs[engine]) > 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One algorithm."""

    name: str
    summary: str
    source: str
    engines: tuple[str, ...] = ()
    """The engines that run it now."""
    parameters: tuple[Parameter, ...] = ()
    coupled: bool = False
    """Whether it couples the subflows of one connection, so that plain TCP cannot use it."""

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


_VARIANT = Parameter(
    "variant",
    "paper",
    'the form its authors print, or the quantised one of the Linux code ("linux")',
    choices=("paper", "linux"),
    runs={"model": ("paper",)},
)


CONGESTION = (
    Entry("reno", "uncoupled: 1/w per ACK, half on loss", "RFC 5681", ("model", "sim", "stack", "linux")),
    Entry(
        "cubic",
        "uncoupled: a cubic of the time since the last loss",
        "RFC 9438",
        ("sim", "stack", "linux"),
        (
            Parameter(
                "fast_convergence",
                True,
                "give way to a new flow after a loss below the last maximum (§4.7)",
                runs={"linux": (True,)},
            ),
            Parameter(
                "variant",
                "paper",
                'the RFC with HyStart++, or as Linux computes it with its HyStart ("linux")',
                choices=("paper", "linux"),
            ),
        ),
    ),
    Entry(
        "ewtcp",
        "equally weighted: a/w per ACK, a = 1/n²",
        "Honda 2009; Singh 2012 ch. II",
        ("model", "sim", "stack", "linux"),
        coupled=True,
    ),
    Entry(
        "coupled",
        "fully coupled: 1/w_total per ACK",
        "Kelly & Voice 2005; Singh 2012 ch. II",
        ("model", "sim", "stack"),
        coupled=True,
    ),
    Entry("lia", "linked increases", "RFC 6356", ("model", "sim", "stack", "linux"), (_VARIANT,), coupled=True),
    Entry(
        "olia",
        "opportunistic linked increases",
        "Khalili 2013",
        ("model", "sim", "stack", "linux"),
        (_VARIANT,),
        coupled=True,
    ),
    Entry(
        "balia",
        "balanced linked adaptation",
        "Peng 2016",
        ("model", "sim", "stack", "linux"),
        (_VARIANT,),
        coupled=True,
    ),
    Entry("wvegas", "weighted Vegas, delay based", "Cao 2012", ("sim", "stack"), (_VARIANT,), coupled=True),
    Entry(
        "mppert",
        "multipath PERT: answers to queueing delay before loss",
        "Singh 2012 ch. III",
        parameters=(
            Parameter(
                "k",
                0.0,
                "how far traffic shifts off the congested path: the less, the further",
                minimum=-1.0,
                maximum=1.0,
            ),
        ),
        coupled=True,
    ),
)

SCHEDULERS = (
    Entry(
        "min-rtt",
        "the subflow of the smallest smoothed RTT that has window left",
        "Linux mptcp.org “default”; Raiciu 2012",
        ("model", "sim", "stack"),
        (
            Parameter(
                "reinjection",
                "none",
                'opportunistic retransmission and penalisation ("orp") when the receive window is full',
                choices=("none", "orp"),
            ),
        ),
    ),
    Entry(
        "round-robin",
        "the subflows in turn",
        "Linux mptcp.org “roundrobin”",
        ("model", "sim", "stack"),
        (
            Parameter("segments", 1, "segments a subflow sends in its turn", minimum=1, maximum=255),
            Parameter("cwnd_limited", True, "skip a subflow whose window is full rather than wait for it"),
        ),
    ),
    Entry("redundant", "every subflow carries the whole stream", "Linux mptcp.org “redundant”", ("sim", "stack")),
    Entry(
        "blest",
        "waits for the fast subflow where the slow one would block the window",
        "Ferlin 2016",
        ("model", "sim", "stack"),
        (
            Parameter(
                "slow_start",
                True,
                "count the doubling rounds of slow start, as its kernel code does, or grow by one a round as printed",
            ),
        ),
    ),
    Entry(
        "ecf",
        "earliest completion first: waits for the fast subflow if that ends the transfer sooner",
        "Lim 2017",
        ("model", "sim", "stack"),
        (
            Parameter(
                "variant",
                "paper",
                'as printed, or as its kernel code ("linux"): what is left is at least a window',
                choices=("paper", "linux"),
            ),
        ),
    ),
    Entry("daps", "orders segments so that they arrive in sequence", "Kuhn 2014; Sarwar 2013"),
    Entry("otias", "out of order for in-order arrival: the least expected arrival time", "Yang 2014"),
    Entry(
        "dmptcp",
        "adds a slower path only when the flow outlasts the faster ones",
        "Dong 2018 §4",
        ("model", "sim", "stack"),
    ),
    Entry(
        "linux",
        "the smallest linger time, in bursts of 64 KiB",
        "Linux 5.19 and later",
        ("model", "sim", "stack", "linux"),
    ),
)

PATH_MANAGERS = (
    Entry(
        "default", "passive: the initial subflow only", "Linux mptcp.org “default”", ("model", "sim", "stack", "linux")
    ),
    Entry("fullmesh", "a subflow over every path", "Linux mptcp.org “fullmesh”", ("model", "sim", "stack", "linux")),
    Entry(
        "ndiffports",
        "several subflows over the first path, by their ports",
        "Linux mptcp.org “ndiffports”",
        ("model", "sim", "stack", "linux"),
        (Parameter("subflows", 2, "subflows in all", minimum=1, maximum=255),),
    ),
    Entry("binder", "loose source routing over gateways", "Boccassi 2013; Linux mptcp.org “binder”", ("sim", "stack")),
    Entry("backup", "the first path carries data, the others stand by", "RFC 8684 §3.3.8", ("sim", "stack", "linux")),
)

QUEUES = (
    Entry(
        "drop-tail",
        "first in, first out; what does not fit is dropped",
        "RFC 7567 §4",
        ("model", "sim", "stack", "linux"),
    ),
    Entry(
        "red",
        "random early detection, with the gentle slope",
        "Floyd & Jacobson 1993",
        ("model", "sim", "stack", "linux"),
    ),
    Entry("codel", "controlled delay", "RFC 8289", ("sim", "stack", "linux")),
    Entry("fq-codel", "a queue for each flow with controlled delay", "RFC 8290", ("sim", "stack", "linux")),
    Entry("pie", "a controller holds the queueing delay by random drops", "RFC 8033", ("sim", "stack", "linux")),
)

LOSSES = (
    Entry("bernoulli", "each packet independently", "—", ("model", "sim", "stack", "linux")),
    Entry("gilbert-elliott", "two states, good and bad", "Gilbert 1960; Elliott 1963", ("sim", "stack", "linux")),
    Entry("periodic", "one packet of every so many", "Mathis 1997; RFC 9438 §5.1", ("sim", "stack", "linux")),
)

PLUGINS = ("sim", "stack")
"""Engines that run plug-ins."""

TRACES = ("sim", "stack", "linux")
"""Engines that run links with a trace in place of a rate."""

MIDDLEBOXES = (
    Entry(
        "strip", "takes the options of Multipath TCP out of SYNs, data or all", "Honda 2011; RFC 8684 §3.7", ("sim",)
    ),
    Entry("nat", "gives clients another address and port", "RFC 3022; RFC 5382", ("sim",)),
    Entry("sequence-rewriting", "gives connections other initial sequence numbers", "Honda 2011", ("sim",)),
    Entry("splitting", "cuts segments and copies the options to each part", "Raiciu 2012; Honda 2011", ("sim",)),
    Entry("coalescing", "puts two segments into one, with the options of the first", "Raiciu 2012", ("sim",)),
    Entry("payload-rewriting", "changes content, and its length", "Raiciu 2012; RFC 8684 §3.7", ("sim",)),
    Entry("proactive-acks", "acknowledges data before the receiver has it", "Raiciu 2012", ("sim",)),
    Entry("reset-injection", "ends connections in the names of both ends", "RFC 8684 §3.6", ("sim",)),
)

APPLICATIONS = (
    Entry("bulk", "as much as the connection takes", "—", ("model", "sim", "stack", "linux")),
    Entry("file", "so many bytes, then close", "—", ("model", "sim", "stack", "linux")),
    Entry(
        "requests", "one object after another, each over its own connection", "ApacheBench", ("sim", "stack", "linux")
    ),
    Entry("rate", "a constant rate", "—", ("sim", "stack", "linux")),
    Entry("flows", "flows that arrive at random, each over its own connection", "—", ("sim", "stack", "linux")),
    Entry("program", "programs that are there already, such as iperf3, curl, ab", "—", ("linux",)),
)

TOPOLOGIES = (Entry("fat-tree", "a k-ary fat tree of three layers with k³/4 hosts", "Al-Fares 2008", ("sim",)),)

TRAFFIC = (
    Entry("permutation", "every host sends to one other and receives from one other", "Raiciu 2011", ("sim",)),
    Entry("random", "every host sends to a host drawn at random", "Raiciu 2011", ("sim",)),
    Entry("stride", "host i sends to host i + stride", "Al-Fares 2008", ("sim",)),
    Entry("all-to-all", "every host sends to every other", "Raiciu 2011", ("sim",)),
)

FAMILIES: Mapping[str, tuple[Entry, ...]] = {
    "congestion": CONGESTION,
    "schedulers": SCHEDULERS,
    "path-managers": PATH_MANAGERS,
    "queues": QUEUES,
    "losses": LOSSES,
    "middleboxes": MIDDLEBOXES,
    "applications": APPLICATIONS,
    "topologies": TOPOLOGIES,
    "traffic": TRAFFIC,
}
"""Every table by the name that `mptcplab list` takes."""


def find(family: str, name: str) -> Entry | None:
    """The entry of a family with this name; `KeyError` when there is no such family."""
    return next((entry for entry in FAMILIES[family] if entry.name == name), None)


def names(family: str, engine: str | None = None) -> list[str]:
    """The names of a family, in the order of the table; only those that `engine` runs when it is given."""
    return [entry.name for entry in FAMILIES[family] if engine is None or engine in entry.engines]
