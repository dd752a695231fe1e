"""Figures 4.7 to 4.10, 5.1 to 5.12, 5.25 and 5.26, section 6.1: throughput with each path and with both."""

from collections.abc import Callable
from typing import Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Claim, Context, Equality, at_least, below, every, slightly
from mptcplab.reproduce import Found as Mean
from mptcplab.reproduce.judge import EQUALITY

from .lab import Cell
from .networks import PATHS, WORDS
from .parameters import value
from .study import ONE, Judged, Results, Study, number, truth

DIRECTIONS: Final = {"up": "upload", "down": "download"}


def trio(scene: str, direction: str) -> dict[str, Cell]:
    """Each path alone by TCP, and both by Multipath TCP."""
    first, second = PATHS[scene]
    return {
        first: Cell(scene, (first,), direction),
        second: Cell(scene, (second,), direction),
        "both": Cell(scene, (first, second), direction),
    }


def table(found: Results, scene: str) -> pl.DataFrame:
    """Rates of a trio."""
    return pl.DataFrame(
        [
            {
                "transfer": WORDS.get(name, name),
                "Mbit/s": each.mbps,
                "lowest": min(each.goodput_mbps),
                "highest": max(each.goodput_mbps),
                **{
                    f"of it by {WORDS[path]}, %": each.share(path) if len(each.shares[0]) > 1 else None
                    for path in PATHS[scene]
                },
            }
            for name, each in found.items()
        ],
        infer_schema_length=None,
    )


def bars(found: Results) -> alt.TopLevelMixin:
    """As the thesis's charts: a bar for each."""
    rows = [{"transfer": WORDS.get(name, name), "rate": each.mbps} for name, each in found.items()]
    chart: alt.Chart = (
        alt.Chart(pl.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("transfer:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rate:Q", title="goodput, Mbit/s"),
        )
        .properties(width=220, height=200)
    )
    return chart


def _item(scene: str, direction: str, claims: Callable[[Results], list[Claim]]) -> Study:
    def judge(found: Results, _: Context) -> Judged:
        return Judged(
            claims(found),
            [(f"Scenario {scene}, {DIRECTIONS[direction]}", table(found, scene))],
            [(f"Scenario {scene}, {DIRECTIONS[direction]}: goodput with each path and with both", bars(found))],
        )

    return Study(lambda _: trio(scene, direction), judge)


def rates(found: Results) -> str:
    """In words."""
    return ", ".join(f"{WORDS.get(name, name)} {each.mbps:.1f}" for name, each in found.items()) + " Mbit/s"


def gain(found: Results, over: str) -> Mean:
    """Of both over one path."""
    return found["both"].mbps / found[over].mbps - 1


def more(key: str, text: str, found: Results, over: str, cause: str = "") -> Claim:
    """Both have more than one path alone."""
    each = gain(found, over)
    return truth(key, text, f"{each:+.0%}; {rates(found)}", below(ONE, 1 + each), cause=cause)


def _c_up(found: Results) -> list[Claim]:
    alike = found["wifi"].mbps / found["ethernet"].mbps
    return [
        number(
            "both",
            "C, upload: both reach 137 Mbit/s",
            137,
            found["both"].mbps,
            cause="setting: the parameters come from the single paths: Ethernet at its card's rate and Wi-Fi alike "
            "make about twice of it. The printed rate needs a slower access or slower paths; with such an access the "
            "same runs give it (section 6.1).",
        ),
        truth(
            "alike",
            "Wi-Fi alone has about what Ethernet alone has",
            f"{alike:.2f} of it",
            Equality(alike, ONE),
        ),
        more("gain", "Both have more than either", found, "ethernet"),
    ]


def _c_down(found: Results) -> list[Claim]:
    part = found["wifi"].mbps / found["ethernet"].mbps
    return [
        number(
            "both",
            "C, download: both reach 87 Mbit/s",
            87,
            found["both"].mbps,
            cause="work: the one single-path value printed for a download from the cloud (figure 5.35) is a rate of "
            "which two make less than 87 Mbit/s. These need another day's rate by Ethernet; with such rates the same "
            "runs give more (section 6.1).",
        ),
        truth(
            "comparable",
            "Wi-Fi alone has less than Ethernet, and not by much",
            f"{part:.2f} of it",
            slightly(part, ONE),
        ),
        more("gain", "Both have more than either", found, "ethernet"),
    ]


BUFFER: Final = (
    "machine: the suspected cause, head-of-line blocking behind a bounded receive window, needs a window below the "
    "sum of "
    "the rates "
    "times the longest round-trip time. It was looked for in the runs of this item's table."
)


def _d_up(found: Results) -> list[Claim]:
    low = found["lte"].mbps / found["ethernet"].mbps
    change = gain(found, "ethernet")
    return [
        truth(
            "lte-low",
            "LTE has far less than Ethernet",
            f"{low:.2f} of it",
            below(low, ONE, far=True),
        ),
        truth(
            "below-ethernet",
            "D, upload: both have less than Ethernet alone",
            f"{change:+.0%}; {rates(found)}",
            below(1 + change, ONE),
            cause=BUFFER,
        ),
    ]


def _d_down(found: Results) -> list[Claim]:
    part = found["lte"].mbps / found["ethernet"].mbps
    return [
        truth(
            "comparable",
            "LTE is nearer to Ethernet than in the upload",
            f"{part:.2f} of it",
            below(ONE * value("lte up") / value("cloud up"), part),
        ),
        more("gain", "D, download: both have more than Ethernet alone", found, "ethernet"),
    ]


def _e_up(found: Results) -> list[Claim]:
    change = gain(found, "wifi")
    return [
        truth(
            "compromised",
            "E, upload: both have far less than Wi-Fi alone",
            f"{change:+.0%}; {rates(found)}",
            below(1 + change, ONE, far=True),
            cause=BUFFER,
        )
    ]


def _e_down(found: Results) -> list[Claim]:
    change = gain(found, "wifi")
    return [
        truth(
            "slightly-below",
            "E, download: both have slightly less than Wi-Fi alone",
            f"{change:+.0%}; {rates(found)}",
            slightly(1 + change, ONE),
            cause="setting: LTE of half the rate of Wi-Fi adds what it has, with min-RTT at every receive window (the "
            "table "
            "over windows); a loss needs a far weaker one, as in the upload.",
        )
    ]


_WINDOWS: Final = (0.5, 1, 2, 3, 6, 16, 64)
_VARIANTS: Final = {
    "min-rtt": {},
    "min-rtt, opportunistic retransmission": {"reinjection": "orp"},
    "round-robin": {"scheduler": "round-robin"},
    "blest": {"scheduler": "blest"},
    "redundant": {"scheduler": "redundant"},
}


def _windows(scene: str, direction: str) -> Callable[[bool], dict[str, Cell]]:
    def cells(quick: bool) -> dict[str, Cell]:
        windows = (1, 3, 64) if quick else _WINDOWS
        controls = ("cubic",) if quick else ("cubic", "lia")
        return {
            f"{window:g} MiB/{variant}/{control}": Cell(
                scene,
                PATHS[scene],
                direction,
                window_mib=window,
                congestion=control,
                scheduler=str(settings.get("scheduler", "min-rtt")),
                reinjection=str(settings.get("reinjection", "none")),
            )
            for window in windows
            for variant, settings in _VARIANTS.items()
            for control in controls
        }

    return cells


def _cause(scene: str) -> Callable[[Results, Results, Context], Judged]:
    def judge(grid: Results, trio_found: Results, _: Context) -> Judged:
        first = PATHS[scene][0]
        alone = trio_found[first].mbps
        rows = []
        for name, each in grid.items():
            window, variant, control = name.split("/")
            rows.append(
                {
                    "window": window,
                    "scheduler": variant,
                    "control": control,
                    "both, Mbit/s": each.mbps,
                    f"against {WORDS[first]} alone, %": 100 * (each.mbps / alone - 1),
                }
            )
        frame = pl.DataFrame(rows)
        small = grid["1 MiB/min-rtt/cubic"].mbps / alone - 1
        chosen = grid["3 MiB/min-rtt/cubic"].mbps / alone - 1
        large = grid["64 MiB/min-rtt/cubic"].mbps / alone - 1
        orp = grid["3 MiB/min-rtt, opportunistic retransmission/cubic"].mbps / alone - 1
        appears = min(small, chosen) <= -EQUALITY[0]
        says = (
            f"1 MiB {small:+.0%}, 3 MiB {chosen:+.0%}, 64 MiB {large:+.0%}, "
            f"3 MiB with opportunistic retransmission {orp:+.0%}"
        )
        claims = []
        if scene == "D":
            claims.append(
                truth(
                    "scheduler",
                    "The cause is min-RTT's use of LTE: the loss appears with a finite window, and vanishes with "
                    "64 MiB or opportunistic retransmission",
                    says,
                    every(
                        [below(1 + each, ONE) for each in (small, chosen)],
                        [at_least(1 + each, 1.0) for each in (large, orp)],
                    ),
                    cause="algorithm: "
                    + (
                        "no loss appears with either window"
                        if not appears
                        else "it is the bounded window: the loss shrinks as the window grows and with opportunistic "
                        f"retransmission, and what is left of it is {large:+.1%} and {orp:+.1%}"
                    )
                    + ".",
                )
            )
        chart = (
            alt.Chart(frame.filter(pl.col("control") == "cubic"))
            .mark_line(point=True)
            .encode(
                x=alt.X("window:N", sort=None, title="receive window", axis=alt.Axis(labelAngle=0)),
                y=alt.Y(f"{frame.columns[-1]}:Q", title=f"against {WORDS[first]} alone, %"),
                color=alt.Color("scheduler:N", title=None),
            )
            .properties(width=420, height=240)
        )
        return Judged(
            claims,
            [(f"Receive window, scheduler and control; {WORDS[first]} alone: {alone:.1f} Mbit/s", frame)],
            [("Both paths against the better one alone, over the receive window (CUBIC)", chart)],
            [f"Scenario {scene}, on sim: {says}."],
        )

    return judge


def _with_cause(scene: str, direction: str, claims: Callable[[Results], list[Claim]]) -> Study:
    plain = _item(scene, direction, claims)
    return Study(plain.cells, plain.judge, _windows(scene, direction), _cause(scene))


def _sum(found: Results) -> list[Claim]:
    total = found["ethernet"].mbps + found["wifi"].mbps
    part = found["both"].mbps / total
    best = max(found["ethernet"].mbps, found["wifi"].mbps)
    return [
        truth(
            "sum",
            "B, upload: both have about the sum of what each has alone",
            f"{part:.2f} of the sum; {rates(found)}",
            every(Equality(part, ONE), below(best, found["both"].mbps)),
            cause="algorithm: every path of B ends in the server's Wi-Fi. With the air that Wi-Fi alone shows, "
            "x_ethernet + 2·x_wifi ≤ R keeps both below the sum, which would need a larger R (section 6.1's table); "
            "and with that Wi-Fi alone would have more, too.",
        )
    ]


def _b_down(found: Results) -> list[Claim]:
    return [
        number(
            "ethernet",
            "B, download: Ethernet alone has 93 Mbit/s",
            93,
            found["ethernet"].mbps,
            cause="setting: a parameter of the study does not meet it.",
        ),
        number(
            "both",
            "B, download: both have 115 Mbit/s",
            115,
            found["both"].mbps,
            cause="setting: the airtime law gives more for the Wi-Fi that figure 5.29 implies: Ethernet's rate and "
            "half of what R leaves. The printed rate is its result for a slower Wi-Fi.",
        ),
        more("gain", "B, download: both have more than Ethernet alone", found, "ethernet"),
    ]


figure_5_5 = _item("B", "up", _sum)
figure_5_6 = _item("B", "down", _b_down)
figure_5_7 = _item("C", "up", _c_up)
figure_5_8 = _item("C", "down", _c_down)
figure_5_9 = _with_cause("D", "up", _d_up)
figure_5_10 = _item("D", "down", _d_down)
figure_5_11 = _with_cause("E", "up", _e_up)
figure_5_12 = _with_cause("E", "down", _e_down)
