"""How far to trust a number: a line for each kind, from what is kept of other studies and figures. It runs nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tools.figures import sharing, two_paths

from . import rules
from .runs import show
from .tables import Results, Table


def _number(text: str) -> float:
    """The first number of a cell; of `+1.2%` 0.012."""
    found = re.search(r"[-+−]?\d+(?:\.\d+)?", text)
    if found is None:
        raise ValueError(f"{text!r} has no number")
    value = float(found[0].replace("−", "-"))
    return value / 100 if text[found.end() :].lstrip().startswith("%") else value


def _column(table: Table, name: str) -> list[str]:
    place = table.header.index(name)
    return [row[place] for row in table.rows]


def _row(what: str, against: str, apart: Sequence[float]) -> dict[str, str]:
    size = np.abs(apart)
    return {
        "what": what,
        "against": against,
        "cases": str(len(apart)),
        "median": f"{np.median(size):.1%}",
        "p90": f"{np.quantile(size, 0.9):.1%}",
        "worst": f"{apart[int(size.argmax())]:+.1%}",
    }


def _from_play(row: Mapping[str, Any]) -> float:
    """How far LIA's rate on two paths is from that of its rule, played at the measured RTTs."""
    segment_mbit = two_paths.MSS * 8 / 1e6
    rtts_s = [row[f"law_window_{path}"] * segment_mbit / row[f"law_mbps_{path}"] for path in (1, 2)]
    found = sum(row[f"goodput_mbps_{path}"] for path in (1, 2)) / segment_mbit
    loss = 0.005 if row["sweep"] == "rtt" else float(row["sweep"].removeprefix("loss-")) / 100
    return float(found / rules.play(rules.lia, [loss, row["loss_2"]], rtts_s).rates.sum() - 1)


def theory() -> Iterator[Mapping[str, str]]:
    """Against closed forms, or the rules played by themselves."""
    independent, regular, *_ = Results.read("loss-throughput").tables
    for table, law in ((independent, "1.31/(RTT·√p)"), (regular, "1.22/(RTT·√p)")):
        column = next(name for name in table.header if name.startswith("from ") and name != "from it")
        few = [
            _number(apart)
            for p, apart in zip(_column(table, "p"), _column(table, column), strict=True)
            if (_number(p) <= 0.01 if "%" in p else int(p.partition("/")[2]) >= 100)
        ]
        losses = "independent" if table is independent else "regular"
        yield _row(f"Reno's rate, {losses} losses up to 1 %", law, few)
    for table, law in zip(Results.read("cubic-response").tables, ("RFC 9438", "its rule played"), strict=True):
        column = next(name for name in table.header if name.startswith("from "))
        own = [
            _number(apart)
            for apart, share in zip(_column(table, column), _column(table, "Reno's window/CUBIC's"), strict=True)
            if _number(share) < 1
        ]
        losses = "regular" if law == "RFC 9438" else "independent"
        yield _row(f"CUBIC's window where it is not Reno-friendly, {losses} losses", law, own)
    lia = next(study for study in two_paths.STUDIES if study.name == "lia-two-paths").stored()
    for varied in ("loss", "rtt"):
        apart = [_from_play(row) for row in lia if row["sweep"].startswith(varied)]
        what = "loss" if varied == "loss" else "RTT"
        yield _row(f"LIA's rate on two lossy paths, {what} of one varied", "its rule played", apart)
    for queue in sharing.QUEUES:
        coupled = ("lia", "olia", "balia", "ewtcp", "coupled")
        rows = [row for row in sharing.SHARED.stored() if row["queue"] == queue and row["control"] in coupled]
        apart = [row["share"] / 0.5 - 1 for row in rows]
        yield _row(f"share of coupled controls beside a TCP flow, {queue}", "one half", apart)
    for table in Results.read("khalili-scenarios").tables[:4]:
        control = table.title.rpartition(" ")[2]
        law = "LIA's law" if control == "LIA" else "optimum"
        for users, name in (("two-path users", law), ("TCP users", f"{law} ")):
            pairs = zip(_column(table, users), _column(table, name), strict=True)
            apart = [float(mine) / float(theirs) - 1 for mine, theirs in pairs]
            where = "A" if "A," in table.title else "C"
            against = "closed form" if control == "LIA" else "optimum with probing"
            yield _row(f"Khalili's scenario {where}, {control}: {users}", against, apart)


def main() -> None:
    """Print the tables."""
    show("Against theory", theory())
