"""The numbers that pages say of a repetition are those of its record, to the digits that they say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mptcplab.reproduce import judged, load_paper
from mptcplab.shipped import paper_names

ROOT = Path(__file__).parents[2]


class Record:
    """A paper's record: fields of its checks, `#1` behind the name for a part of a claim of several checks."""

    def __init__(self, paper: str) -> None:
        read = judged.read(load_paper(paper).directory / judged.FILE)
        self.claims = {f"{each.item}/{each.claim}": each for each in read}

    def __call__(self, name: str, field: str = "found", *, by_text: bool = False) -> float:
        claim, _, part = name.partition("#")
        judged_as = self.claims[claim]
        check: Any = judged_as.by_text if by_text else judged_as.check
        if part:
            check = check.checks[int(part)]
        return float(getattr(getattr(check, "of", check), field))


def chauvenne(record: Record) -> list[str]:
    lia, tcp = (record(f"table-5.3/lia.{who}.throughput") / 1e3 for who in ("mptcp", "tcp"))
    return [f"against {lia:.1f} and {tcp:.1f}."]


def khalili(record: Record) -> list[str]:
    p1 = [f"figure-1/p1-{c}" for c in ("0.75", "1", "1.5")]
    return [
        f"at N1 = N2 LIA takes {record('figure-1/type2-loss-equal'):.0f} % from type-2 users",
        f"at N1 = 3·N2 {record('figure-1/type2-loss-triple-least', 'smaller'):.0f} % (published: 50 to 60 %)",
        "The losses at the server's link are {:.4f}, {:.4f} and {:.4f}".format(*map(record, p1)),
        "With growth by bytes they are {:.3f}, {:.4f} and {:.3f}".format(*(record(each, by_text=True) for each in p1)),
        f"costs {record('table-1/aggregate-loss'):.1f} % of the aggregate with LIA (published: 13 %) and "
        f"{record('table-2/aggregate-loss'):.1f} % with OLIA (3.5 %; "
        f"{record('table-2/aggregate-loss', by_text=True):.1f} % with the equations)",
        "below two segments for {:.0f} ± {:.0f} % of the time".format(
            *(100 * record("figure-8/one-segment", field) for field in ("larger", "larger_half"))
        ),
        "{:.0f} ± {:.0f} % by the text alone".format(
            *(100 * record("figure-8/one-segment", field, by_text=True) for field in ("larger", "larger_half"))
        ),
        f"{record('figure-13/tcp-poor', 'smaller'):.0f} % of the optimum with TCP, "
        f"{record('figure-13/similar', 'one'):.0f} % with LIA and",
        "short flows take {:.0f} ms with TCP, {:.0f} with LIA and {:.0f} with OLIA".format(
            *(record(f"table-3/{control}-mean") for control in ("tcp", "lia", "olia"))
        ),
        "(figure 12: {:.1f}- and {:.1f}-fold".format(
            *(record(f"figure-12/rise-lia-least#{place}", "larger") for place in (0, 1))
        ),
    ]


def dong(record: Record) -> list[str]:
    alone, half = (record("figure-31/over-min-rtt/256", field) for field in ("found", "half"))
    most, most_half = (record("figure-31/up-to-short", field) for field in ("found", "half"))
    return [
        f"256 KB take {alone:.1f} ± {half:.1f} % less over",
        f"at most {most:.1f} ± {most_half:.1f} % for 57 KB",
    ]


def dmptcp(record: Record) -> list[str]:
    alone, half = (record("figure-31/over-min-rtt/256", field) for field in ("found", "half"))
    return [f"{alone:.1f} ± {half:.1f} % less over 300 runs"]


def singh(record: Record) -> list[str]:
    ks = [record("figure-4/prefers-better#0", "larger"), record("figure-4/shift-grows#0", "larger")]
    fixed, moving = (
        [record("future-suppression/threshold", field) for field in (side, f"{side}_half")]
        for side in ("larger", "smaller")
    )
    joined = [record("future-short-flows/short-flows#1", field) for field in ("larger", "smaller")]
    return [
        f"the better of two paths gets {ks[0]:.0f}, {ks[1]:.0f} and",
        f"misses sharers {fixed[0]:.0f} ± {fixed[1]:.0f} % of the time under mixed load, one in proportion to the rate "
        f"{moving[0]:.0f} ± {moving[1]:.0f} %",
        f"reduce the share of their path from {joined[0]:.0f} to {joined[1]:.0f} % (k = 0)",
        f"eight subflows carry {record('future-data-centre/data-centre', 'larger'):.0f} Mbit/s for each host",
        f"single-path PERT {record('future-data-centre/data-centre', 'smaller'):.0f}.",
    ]


PAGES: dict[str, tuple[str, Callable[[Record], list[str]]]] = {
    "papers/chauvenne-2017/README.md": ("chauvenne-2017", chauvenne),
    "papers/khalili-2013/README.md": ("khalili-2013", khalili),
    "papers/dong-2018/README.md": ("dong-2018", dong),
    "docs/algorithms/dmptcp.md": ("dong-2018", dmptcp),
    "papers/singh-2012/README.md": ("singh-2012", singh),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_the_record_has(page: str) -> None:
    paper, said = PAGES[page]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert [each for each in said(Record(paper)) if each not in text] == []


@pytest.mark.parametrize("paper", paper_names())
def test_a_page_says_how_many_claims_there_are(paper: str) -> None:
    text = (ROOT / "papers" / paper / "README.md").read_text(encoding="utf-8")
    own = [name for name in Record(paper).claims if not name.startswith("future")]
    assert f"Of {len(own)} claims" in " ".join(text.split())
