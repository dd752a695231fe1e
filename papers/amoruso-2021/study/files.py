"""Figures 5.27 to 5.39: times of file transfers."""

from collections.abc import Callable, Sequence
from typing import Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Claim, Context, Equality, at_least, below, every, fact, slightly
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.judge import EQUALITY

from .lab import Cell
from .networks import PATHS, WORDS, network
from .parameters import LARGE, SIZES, SMALL
from .study import ONE, Judged, Results, Study, number, truth


def _sizes(names: Sequence[str], quick: bool) -> Sequence[str]:
    if not quick or len(names) < 3:
        return names
    # The ends: what is small and what is large; and 20 MB, which is printed.
    if names[-1] in SMALL:
        return (names[0], names[-1])
    return tuple(name for name in names if name in ("16 kB", "20 MB", "50 MB"))


_SLOWEST_MBPS: Final = {"B": (85, 85), "C": (25, 93), "D": (31, 93), "E": (25, 93)}
"""By scenario, down and up: the slower of the paths that large files are sent over; LTE alone is not among them."""


def _seconds(scene: str, direction: str, size: str) -> float:
    """Long enough by half for each transfer, and for a program to start."""
    if size in SMALL:
        return 6.0
    mbps = _SLOWEST_MBPS[scene][direction == "up"]
    return float(round(4 + 1.5 * SIZES[size] * 8e-6 / mbps))


def _cells(scene: str, direction: str, names: Sequence[str]) -> Callable[[bool], dict[str, Cell]]:
    first, second = PATHS[scene]

    def cells(quick: bool) -> dict[str, Cell]:
        made = {}
        for size in _sizes(names, quick):
            transfers = {first: (first,), second: (second,), "both": (first, second)}
            if second == "lte" and size in LARGE:
                del transfers[second]
            for name, paths in transfers.items():
                made[f"{size}/{name}"] = Cell(
                    scene, paths, direction, application=f"{SIZES[size]:.0f}", seconds=_seconds(scene, direction, size)
                )
        return made

    return cells


def _times(found: Results) -> pl.DataFrame:
    rows: dict[str, dict[str, object]] = {}
    for name, each in found.items():
        size, transfer = name.split("/")
        rows.setdefault(size, {"file": size})[f"{WORDS.get(transfer, transfer)}, s"] = each.seconds
    return pl.DataFrame(list(rows.values()), infer_schema_length=None)


def _chart(found: Results) -> alt.TopLevelMixin:
    rows = [
        {"file": name.split("/")[0], "transfer": WORDS.get(name.split("/")[1], "both"), "time": each.seconds}
        for name, each in found.items()
    ]
    chart: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("file:N", sort=None, title="size of the file", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("transfer:N", sort=None),
            y=alt.Y("time:Q", title="time, s"),
            color=alt.Color("transfer:N", sort=None, title=None),
        )
        .properties(width=400, height=220)
    )
    return chart


def laws(scene: str, direction: str, found: Results) -> list[str]:
    """What breaks the laws: no file sooner than its size over the sum of the capacities; 16 kB as soon as the "
    "first path."""
    made = network(scene)
    broken = []
    for name, each in found.items():
        size, transfer = name.split("/")
        paths = PATHS[scene] if transfer == "both" else (transfer,)
        links = [[made.link[link] for link in made.path[path]] for path in paths]
        capacity = sum(
            min(float((link.get("rate") or link[direction]["rate"]).split()[0]) for link in along) for along in links
        )
        least_s = SIZES[size] * 8 / capacity
        if each.completion_s and min(each.completion_s) < least_s:
            broken.append(f"{name} takes {min(each.completion_s):.3f} s, less than {least_s:.3f} s")
    first = PATHS[scene][0]
    if "16 kB/both" in found:
        rtt_s = found[f"16 kB/{first}"].rtt_ms(first) / 1e3
        apart_s = abs(found["16 kB/both"].seconds - found[f"16 kB/{first}"].seconds)
        if apart_s > rtt_s:
            broken.append(f"16 kB: both and {WORDS[first]} alone are {1e3 * apart_s:.1f} ms apart, more than an RTT")
    return broken


def _item(
    scene: str, direction: str, names: Sequence[str], claims: Callable[[Results, Sequence[str]], list[Claim]]
) -> Study:
    def judge(found: Results, context: Context) -> Judged:
        there = _sizes(names, context.quick)
        broken = laws(scene, direction, found)
        notes = (
            [f"A law of transfers is broken: {each}." for each in broken]
            if broken
            else [
                "Laws of transfers: none is sooner than its size over the sum of the capacities, and 16 kB over "
                "both take the time of "
                "the first path within a round trip."
            ]
        )
        if context.engine == "linux":
            notes.append(
                "On linux it is FTP: curl, its dialog of about nine round trips and the start of the program "
                "are in its times; on sim it is the file alone."
            )
        way = "upload" if direction == "up" else "download"
        return Judged(
            claims(found, there),
            [(f"Scenario {scene}, {way}: times", _times(found))],
            [(f"Scenario {scene}, {way}: time of a file with each path and with both", _chart(found))],
            notes,
        )

    return Study(_cells(scene, direction, names), judge)


def change(found: Results, size: str, over: str) -> Mean:
    """Of the time with both paths against one."""
    return found[f"{size}/both"].seconds / found[f"{size}/{over}"].seconds - 1


def _told(found: Results, sizes: Sequence[str], over: str) -> str:
    return f"against {WORDS[over]}: " + ", ".join(f"{size} {change(found, size, over):+.0%}" for size in sizes)


def little(key: str, scene: str, found: Results, sizes: Sequence[str], over: str) -> Claim:
    """Small files gain little."""
    return truth(
        key,
        f"{scene}: small files take as long with both paths as over {WORDS[over]} alone",
        _told(found, sizes, over),
        every(Equality(1 + change(found, size, over), ONE) for size in sizes),
        cause=_first_to_gain(found, sizes, over),
    )


def _first_to_gain(found: Results, sizes: Sequence[str], over: str) -> str:
    """What is small: the thesis names 16 kB, and up to 1 MB is small here."""
    ahead = [size for size in sizes if change(found, size, over) < -EQUALITY[0]]
    if not ahead:
        return "unknown: not traced to a cause."
    rest = [size for size in sizes if size not in ahead]
    return (
        "setting: which sizes are small is not printed but for 16 kB. "
        + (f"{', '.join(rest)} {'gain' if len(rest) > 1 else 'gains'} nothing, " if rest else "")
        + f"{', '.join(ahead)} {'gain' if len(ahead) > 1 else 'gains'} {_told(found, ahead, over).split(': ')[1]}."
    )


def gains(key: str, scene: str, found: Results, sizes: Sequence[str], over: str) -> Claim:
    """Large files gain."""
    changes = [change(found, size, over) for size in sizes]
    return truth(
        key,
        f"{scene}: large files take less time with both paths than over {WORDS[over]} alone",
        _told(found, sizes, over),
        every(below(1 + each, ONE) for each in changes),
    )


WINDOW: Final = (
    "no loss appears in file transfers where the window of 3 MiB holds what both paths carry; see the table over "
    "windows in figure 5.9."
)


def nothing(key: str, scene: str, found: Results, sizes: Sequence[str]) -> Claim:
    """Nothing is gained, or time is lost."""
    first = PATHS[scene][0]
    changes = [change(found, size, first) for size in sizes]
    return truth(
        key,
        f"{scene}: both paths take no less time than {WORDS[first]} alone",
        _told(found, sizes, first),
        every(at_least(1 + each, 1.0) for each in changes),
        cause="setting: with the parameters chosen LTE adds capacity, and these files are long enough to use it; "
        + WINDOW,
    )


def _b_down(found: Results, sizes: Sequence[str]) -> list[Claim]:
    return [
        gains("gain", "B", found, [size for size in sizes if size in LARGE], "ethernet"),
        *(
            number(
                f"over-{path}",
                f"B, download of 50 MB: the change of the time against {WORDS[path]} alone, %",
                -share,
                100 * change(found, "50 MB", path),
                percent=True,
                cause="work: the airtime law fixes it by the rate of Wi-Fi alone. The thesis's own rates in figure 5.6 "
                "predict less against Ethernet.",
            )
            for path, share in (("ethernet", 27), ("wifi", 31))
        ),
    ]


def _with_largest(found: Results, sizes: Sequence[str]) -> list[Claim]:
    claims = _b_down(found, sizes)
    return [
        claims[0],
        *claims[1:],
        truth(
            "largest",
            "The largest file of 50 MB is transferred",
            f"{found['50 MB/both'].seconds:.2f} s with both",
            fact(bool(found["50 MB/both"].completion_s)),
            published=50.0,
        ),
    ]


def _slight(found: Results, sizes: Sequence[str]) -> list[Claim]:
    alone, both = found["20 MB/ethernet"].seconds, found["20 MB/both"].seconds
    each = both / alone - 1
    return [
        truth(
            "slight",
            "D, download: both paths take slightly less time than Ethernet alone",
            _told(found, sizes, "ethernet"),
            slightly(1 + each, ONE),
            cause="setting: with the LTE that is assumed both paths take "
            f"{-each:.0%} less time with 20 MB, which is not slight.",
        ),
        number(
            "ethernet",
            "D: 20 MB over Ethernet take 5.192 s",
            5.192,
            alone,
            cause="setting: a parameter of the study does not meet it.",
        ),
        number(
            "both",
            "D: 20 MB over both take 5.065 s",
            5.065,
            both,
            cause="setting: the LTE that is assumed adds more to Ethernet than was printed. The printed gain is within "
            "what LTE varies by, and needs an LTE that is hardly used.",
        ),
    ]


figure_5_27 = _item(
    "B",
    "up",
    SMALL,
    lambda found, sizes: [
        little("no-gain", "B", found, sizes, "ethernet"),
        truth(
            "smallest",
            "The smallest file of 16 kB is transferred",
            f"{1e3 * found['16 kB/both'].seconds:.0f} ms with both",
            fact(bool(found["16 kB/both"].completion_s)),
            published=16.0,
        ),
    ],
)
figure_5_28 = _item("B", "up", LARGE, lambda found, sizes: [gains("gain", "B", found, sizes, "ethernet")])
figure_5_29 = _item("B", "down", (*SMALL[::2], *LARGE), _with_largest)


def _c(found: Results, sizes: Sequence[str]) -> list[Claim]:
    return [
        gains("gain", "C", found, [size for size in sizes if size in LARGE], "ethernet"),
        little("no-gain-small", "C", found, [size for size in sizes if size in SMALL], "ethernet"),
    ]


figure_5_30 = _item("C", "up", (*SMALL[::2], *LARGE), _c)
figure_5_31 = _item("C", "down", (*SMALL[::2], *LARGE), _c)
figure_5_32 = _item("D", "up", SMALL, lambda found, sizes: [nothing("no-gain", "D", found, sizes)])
figure_5_33 = _item("D", "up", LARGE, lambda found, sizes: [nothing("no-gain", "D", found, sizes)])
figure_5_34 = _item("D", "down", SMALL, lambda found, sizes: [little("little", "D", found, sizes, "ethernet")])
figure_5_35 = _item("D", "down", LARGE, _slight)
figure_5_36 = _item("E", "up", SMALL, lambda found, sizes: [nothing("no-gain", "E", found, sizes)])
figure_5_37 = _item("E", "up", LARGE, lambda found, sizes: [nothing("no-gain", "E", found, sizes)])
figure_5_38 = _item("E", "down", SMALL, lambda found, sizes: [nothing("no-gain", "E", found, sizes)])
figure_5_39 = _item("E", "down", LARGE, lambda found, sizes: [nothing("no-gain", "E", found, sizes)])
