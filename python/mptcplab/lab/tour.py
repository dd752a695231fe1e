"""The guided tour: eight scenarios, most of them beside a second one, and what they teach."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from mptcplab.lab import exact_json
from mptcplab.lab.merge import merged


@dataclass(frozen=True, slots=True)
class Step:
    """One scenario, what is changed in it for A and for B, and what to see."""

    file: str
    title: str
    text: str
    b: Mapping[str, Any]
    """By key with dots, what B has in place of the file; None takes the key away."""
    a: Mapping[str, Any] = field(default_factory=dict)
    goal: str | None = None
    """What the page colours as better or worse, `none` where that is not the point; None leaves it to the page."""

    def side(self, changes: Mapping[str, Any]) -> str:
        """The scenario with these changes, TOML."""
        text = files("mptcplab.lab").joinpath("tour", f"{self.file}.toml").read_text(encoding="utf-8")
        data = tomllib.loads(text)
        for key, value in changes.items():
            *tables, last = key.split(".")
            table = data
            for name in tables:
                table = table[name]
            if value is None:
                del table[last]
            else:
                table[last] = value
        return merged(text, data)


_MULTIPATH: Final = {"connection.download.paths": ["wifi", "lte"], "connection.download.protocol": "mptcp"}

STEPS: Final = (
    Step(
        "aggregation",
        "Two paths as one",
        "A is plain TCP over Wi-Fi: about 19 Mbit/s of a link of 20. B is one Multipath TCP connection over "
        "Wi-Fi and LTE: about 28 Mbit/s, nearly the sum of both. Move the rate of lte and watch B follow, "
        "while A stays.",
        {**_MULTIPATH, "connection.download.congestion": "lia"},
    ),
    Step(
        "blocking",
        "Head-of-line blocking",
        "The LTE path is slow and far away, and the receiver has 150 kB of memory. In A the scheduler min-rtt"
        " sends on every path that has room: data from Wi-Fi waits for data still in flight over LTE until"
        " the memory is full, and two paths are slower than Wi-Fi alone could be. In B the scheduler BLEST "
        "leaves the slow path out when it would block: about 9.5 instead of 5.3 Mbit/s. The chart at the "
        "bottom shows the waiting data.",
        {"connection.download.scheduler": "blest"},
    ),
    Step(
        "shared",
        "Fair at a shared bottleneck",
        "Two subflows of one connection and one TCP flow share a link of 20 Mbit/s. In A each subflow behaves"
        " like a TCP flow (reno), so the connection takes about 11.4 Mbit/s and leaves 7.7. In B the subflows"
        " are coupled (LIA): together they are little more aggressive than one TCP flow, with 10.2 and 8.9 Mbit/s.",
        {"connection.multipath.congestion": "lia"},
        goal="none",
    ),
    Step(
        "pareto",
        "Why LIA is not Pareto-optimal",
        "Five users of type 1 are limited by their server, five of type 2 by a shared access point. In A all "
        "use TCP, and each group gets about 4.7 of 5 Mbit/s. In B the users of type 1 add a path through the "
        "access point, with LIA. They gain nothing, since their server is the limit, but type 2 loses about a"
        " quarter: LIA sends more over a congested path than it needs to.",
        {
            "connection.type1.paths": ["own", "public"],
            "connection.type1.protocol": "mptcp",
            "connection.type1.congestion": "lia",
        },
    ),
    Step(
        "pareto",
        "What OLIA changes",
        "The same network with LIA (A) and OLIA (B). OLIA moves its windows towards the best paths and keeps "
        "only a little traffic on the others: type 1 gets as much as before, and type 2 regains about a third "
        "of what it lost.",
        {
            "connection.type1.paths": ["own", "public"],
            "connection.type1.protocol": "mptcp",
            "connection.type1.congestion": "olia",
        },
        {
            "connection.type1.paths": ["own", "public"],
            "connection.type1.protocol": "mptcp",
            "connection.type1.congestion": "lia",
        },
    ),
    Step(
        "choice",
        "What DMPTCP chooses",
        "Objects of 400 kB are fetched one after another. In A min-rtt sends the end of an object over the "
        "path of 400 ms as soon as the short path has no room, and the object is late. In B the scheduler "
        "DMPTCP checks whether the remaining data is worth a slower path: an object takes about 0.78 s instead of"
        " 0.91 s.",
        {"connection.page.scheduler": "dmptcp"},
    ),
    Step(
        "failover",
        "A path dies",
        "Wi-Fi goes down at 8 s and comes back at 14 s. TCP (A) stalls. Multipath TCP (B) continues over "
        "LTE, where the data lost on Wi-Fi is sent again. Move the events on the line above the results "
        "with the arrow keys.",
        {**_MULTIPATH, "connection.download.congestion": "lia"},
    ),
    Step(
        "middlebox",
        "A middlebox strips options",
        "In B a middlebox on the Wi-Fi removes Multipath TCP options from SYN segments. The connection falls"
        " back to plain TCP on its first path: about 19 instead of 28 Mbit/s, but it works. Open the "
        "handshake at the bottom: the option MP_CAPABLE is crossed out where it was taken away.",
        {"link.wifi.middleboxes": [{"kind": "strip", "on": "syn"}]},
    ),
)


def steps() -> list[dict[str, Any]]:
    """The tour as the page reads it."""
    return [
        {
            "title": step.title,
            "text": step.text,
            "goal": step.goal,
            "a": _scenario(step.side(step.a)),
            "b": _scenario(step.side(step.b)),
        }
        for step in STEPS
    ]


def _scenario(text: str) -> dict[str, Any]:
    return {"text": text, "data": exact_json.to_json(tomllib.loads(text)), "origin": None}
