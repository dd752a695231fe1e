"""Figures 4.11 to 4.14: the options of a connection in order, read from a capture of scenario B's client."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import mptcplab
import polars as pl
import tomli_w
from mptcplab.capture import Capture
from mptcplab.reproduce import Claim, Context, Outcome, fact

from .lab import Cell
from .networks import PATHS
from .study import truth

if TYPE_CHECKING:
    from mptcplab.capture import Analysis

_SCENE: Final = "B"
_VERSION: Final = (
    "The thesis's capture shows version 0 of the protocol with SHA-1; ours is version 1, so bytes are not compared, "
    "only the order of the options."
)


@cache
def _captured(engine: str) -> "Analysis":
    """1 MB up over Ethernet and Wi-Fi, seen at the client."""
    cell = Cell(_SCENE, PATHS[_SCENE], "up", application="1e6", seconds=2)
    scenario: dict[str, Any] = cell.scenario()
    scenario["connection"]["m"]["checksum"] = True
    if engine == "linux":
        del scenario["connection"]["m"]["scheduler"]
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        mptcplab.run(
            mptcplab.Scenario.from_toml(tomli_w.dumps(scenario), "<study>"), engine=engine, capture=Capture(place)
        )
        return mptcplab.analyze(sorted(place.glob("*client*.pcapng")))


def _item(claims: Callable[["Analysis"], list[Claim]], columns: str) -> Callable[[Context], Outcome]:
    def study(context: Context) -> Outcome:
        engines = dict.fromkeys(("sim", context.engine))
        told: list[Claim] = []
        tables: list[tuple[str, pl.DataFrame]] = []
        for engine in engines:
            seen = _captured(engine)
            mark = "" if len(engines) == 1 else f"/{engine}"
            told += [replace(each, id=f"{each.id}{mark}") for each in claims(seen)]
            tables.append((f"Capture at the client, {engine}", getattr(seen, columns)))
        return Outcome(told, tables=tables, notes=[_VERSION])

    return study


def _capable(seen: "Analysis") -> list[Claim]:
    connection = seen.connections.row(0, named=True)
    first = seen.subflows.row(0, named=True)
    by_ethernet = "ethernet" in str(first["seen_at"])
    return [
        truth(
            "capable-on-ethernet",
            "MP_CAPABLE opens the first subflow, over Ethernet",
            f"first subflow seen at {', '.join(first['seen_at'])}",
            fact(by_ethernet and connection["protocol"] == "mptcp"),
        ),
        truth(
            "three-way",
            "Both ends' handshake segments carry MP_CAPABLE",
            f"tokens {connection['client_token']} and {connection['server_token']}",
            fact(connection["client_token"] is not None and connection["server_token"] is not None),
        ),
        truth("checksum", "Checksums are asked for", str(connection["checksum"]), fact(bool(connection["checksum"]))),
    ]


def _announced(seen: "Analysis") -> list[Claim]:
    events = [each for each in seen.events.to_dicts() if each["kind"].startswith(("add_addr", "address"))]
    cause = (
        "machine: a client that joins from its other address has no need to announce it, and neither our path manager "
        "nor "
        "today's kernel does "
        "so for an endpoint that opens subflows. The out-of-tree kernel announces every address."
    )
    joined = seen.subflows.row(1, named=True)["client_address_id"] if seen.subflows.height > 1 else None
    return [
        truth(
            "after-capable",
            "The client announces its Wi-Fi address with ADD_ADDR after the first handshake",
            f"{len(events)} announcements",
            fact(bool(events)),
            cause=cause,
        ),
        truth(
            "address-id",
            "The second address has an ID of its own (6 in the thesis; the number is the host's choice)",
            f"ID {joined}, told by MP_JOIN",
            fact(joined not in (None, 0)),
            published=6.0,
        ),
    ]


def _joined(seen: "Analysis") -> list[Claim]:
    rows = seen.subflows.to_dicts()
    good = len(rows) > 1 and rows[1]["opened_by"] == "client" and "wifi" in str(rows[1]["seen_at"])
    return [
        truth(
            "join-on-wifi",
            "The client opens a subflow over Wi-Fi with MP_JOIN, after the first",
            f"after {1e3 * (rows[1]['start_s'] - rows[0]['start_s']):.1f} ms" if good else "none",
            fact(good and rows[1]["start_s"] > rows[0]["start_s"]),
        )
    ]


def _ended(seen: "Analysis") -> list[Claim]:
    kinds = [each["kind"] for each in seen.events.to_dicts() if each["from"] == "client"]
    good = "fin" in kinds and "data_fin" in kinds and kinds.index("data_fin") <= kinds.index("fin")
    return [
        truth("fin", "The client ends each subflow with FIN, after the end of the data", " ".join(kinds), fact(good))
    ]


figure_4_11 = _item(_capable, "connections")
figure_4_12 = _item(_announced, "subflows")
figure_4_13 = _item(_joined, "subflows")
figure_4_14 = _item(_ended, "events")
