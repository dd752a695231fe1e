"""Configurations that documentation and threads are about: which subflows they give, predicted and on kernels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mptcplab.paths.seen import Seen, Subflow
from mptcplab.scenario.endpoints import Endpoint, Limits

from .draw import Case

LETTERS: Final = "abc"
LAMINAR: Final = "laminar"


@dataclass(frozen=True)
class Question:
    """A configuration, in few words and as data."""

    text: str
    source: str
    """Where it is asked about or described."""
    endpoints: Sequence[tuple[str, str, str]] = ()
    """Host, path and flags, with the port behind them."""
    client: tuple[int, int] = (2, 0)
    """`subflows` and `add_addr_accepted`."""
    server: tuple[int, int] = (2, 0)
    flag_c: bool = False
    paths: int = 2

    @property
    def is_for_old_kernels(self) -> bool:
        """Whether kernels before 6.18 know its flags."""
        return not any(LAMINAR in flags for _, _, flags in self.endpoints)

    def case(self, number: int) -> Case:
        """As the comparison with kernels plays it."""
        limits = {
            "client": {"subflows": self.client[0], "add_addr_accepted": self.client[1]},
            "server": {
                "subflows": self.server[0],
                "add_addr_accepted": self.server[1],
                "allow_join_initial_addr_port": not self.flag_c,
            },
        }
        endpoints = tuple(_endpoint(*each) for each in self.endpoints)
        return Case(number, self.paths, endpoints, Limits.model_validate(limits), ())


def _endpoint(host: str, path: str, flags: str) -> Endpoint:
    words = flags.split()
    ports = [int(word) for word in words if word.isdigit()]
    table: dict[str, Any] = {"host": host, "flags": [word for word in words if not word.isdigit()]}
    table |= {"path": str(LETTERS.index(path))}
    return Endpoint.model_validate(table | ({"port": ports[0]} if ports else {}))


_ISSUES: Final = "https://github.com/multipath-tcp/mptcp_net-next/issues"
_MANUAL: Final = "[ip-mptcp](https://man7.org/linux/man-pages/man8/ip-mptcp.8.html)"
_PAGE: Final = "[mptcp.dev](https://www.mptcp.dev/pm.html)"


def _issue(number: int) -> str:
    return f"[#{number}]({_ISSUES}/{number})"


_B_OPENS: Final = ("client", "b", "subflow")
_B_ANNOUNCED: Final = ("server", "b", "signal")

QUESTIONS: Final = (
    Question("nothing is configured", _MANUAL),
    Question("client: b subflow", _MANUAL, [_B_OPENS]),
    Question("client: b subflow, limit of subflows 0", _MANUAL, [_B_OPENS], client=(0, 0)),
    Question("client: b subflow; server: limit of subflows 0", _issue(203), [_B_OPENS], server=(0, 0)),
    Question("client: b subflow backup", _PAGE, [("client", "b", "subflow backup")]),
    Question("client: a and b subflow", _PAGE, [("client", "a", "subflow"), _B_OPENS]),
    Question("client: b without subflow or signal", _MANUAL, [("client", "b", "backup")]),
    Question("server: b signal", _issue(531), [_B_ANNOUNCED]),
    Question("server: b signal; client accepts 1", _issue(531), [_B_ANNOUNCED], client=(2, 1)),
    Question(
        "client: b subflow backup, accepts 1; server: b signal",
        _issue(531),
        [("client", "b", "subflow backup"), _B_ANNOUNCED],
        client=(2, 1),
    ),
    Question(
        "client: b subflow backup; server: b signal backup; all limits 1",
        _issue(203),
        [("client", "b", "subflow backup"), ("server", "b", "signal backup")],
        client=(1, 1),
        server=(1, 1),
    ),
    Question("server: b subflow", _issue(459), [("server", "b", "subflow")]),
    Question("client: b signal; server accepts 1", _issue(459), [("client", "b", "signal")], server=(2, 1)),
    Question(
        "server: b and c subflow signal; client accepts 2",
        _issue(459),
        [("server", "b", "subflow signal"), ("server", "c", "subflow signal")],
        client=(2, 2),
        paths=3,
    ),
    Question(
        "both: b fullmesh; client accepts 2",
        _issue(502),
        [("client", "b", "fullmesh"), ("server", "b", "fullmesh")],
        client=(2, 2),
    ),
    Question(
        "client: b subflow fullmesh, accepts 1, limit 3; server: b signal, limit 3",
        _PAGE,
        [("client", "b", "subflow fullmesh"), _B_ANNOUNCED],
        client=(3, 1),
        server=(3, 0),
    ),
    Question(
        "server: b and c signal, limit 4; client accepts 4, limit 4",
        _issue(331),
        [_B_ANNOUNCED, ("server", "c", "signal")],
        client=(4, 4),
        server=(4, 0),
        paths=3,
    ),
    Question("server: b signal port 8080; client accepts 1", _MANUAL, [("server", "b", "signal 8080")], client=(2, 1)),
    Question("client: b subflow; server: b signal, flag C", _issue(536), [_B_OPENS, _B_ANNOUNCED], flag_c=True),
    Question(
        "client: b and c laminar, accepts 2; server: b and c signal",
        _issue(503),
        [("client", "b", LAMINAR), ("client", "c", LAMINAR), _B_ANNOUNCED, ("server", "c", "signal")],
        client=(2, 2),
        paths=3,
    ),
)


def rows(found: Mapping[str, Sequence[Seen | None]]) -> Iterator[Mapping[str, str]]:
    """A row for each question: what each column saw of it."""
    for number, question in enumerate(QUESTIONS):
        cells = {name: "–" if seen[number] is None else _text(seen[number]) for name, seen in found.items()}
        yield {"configuration": question.text, "from": question.source, **cells}


def _text(seen: Seen | None) -> str:
    assert seen is not None, "asked before"
    beside = [each for each in seen.subflows if each.is_join]
    return ", ".join(sorted(map(_subflow, beside))) or "none"


def _subflow(each: Subflow) -> str:
    name = f"{LETTERS[each.place]}–s{each.server or ''}"
    said = ["backup"] if any(each.backups) else []
    said += [f"by the {each.opener}"] if each.opener == "server" else []
    said += [] if each.is_established else ["refused"]
    return f"{name} ({', '.join(said)})" if said else name
