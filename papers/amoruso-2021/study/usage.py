"""Figures 5.13 to 5.24: latency of the paths, and the share of each over the throttle."""

import statistics
from collections.abc import Callable, Sequence
from typing import Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Claim, Context, Share, at_least, below, every, slightly, steps
from mptcplab.reproduce import Found as Mean

from .lab import Cell
from .networks import PATHS, WORDS
from .parameters import THROTTLES_MBPS
from .study import Judged, Results, Study, truth

_PING_S: Final = 4
HEADERS: Final = 0.98
"""A throttle counts packets with their headers, goodput does not: at least 2 % less even of full segments."""


def _latency(scene: str, claim: Callable[[Mean, Mean], Claim]) -> Study:
    first, second = PATHS[scene]

    def cells(_: bool) -> dict[str, Cell]:
        return {path: Cell(scene, (path,), "up", application="ping", seconds=_PING_S) for path in (first, second)}

    def judge(found: Results, _: Context) -> Judged:
        one, other = found[first].rtt_ms(first), found[second].rtt_ms(second)
        rows = [{"path": WORDS[path], "RTT, ms": found[path].rtt_ms(path)} for path in (first, second)]
        frame = pl.DataFrame(rows)
        chart = (
            alt.Chart(frame)
            .mark_bar()
            .encode(
                x=alt.X("path:N", title=None, sort=None, axis=alt.Axis(labelAngle=0)),
                y=alt.Y("RTT, ms:Q", title="round-trip time, ms"),
            )
            .properties(width=160, height=180)
        )
        return Judged(
            [claim(one, other)],
            [(f"Scenario {scene}: round-trip times of an idle path", frame)],
            [(f"Scenario {scene}: latency of the idle paths, small segments of one TCP connection", chart)],
        )

    return Study(cells, judge)


def _told(one: float, other: float) -> str:
    return f"{one:.1f} and {other:.1f} ms"


figure_5_13 = _latency(
    "B",
    lambda one, other: truth(
        "wifi-above", "B: the latency of Wi-Fi is above that of Ethernet", _told(one, other), below(one, other)
    ),
)
figure_5_16 = _latency(
    "C",
    lambda one, other: truth(
        "slightly-above",
        "C: the latency of Wi-Fi is slightly above that of Ethernet",
        _told(one, other),
        slightly(one, other),
    ),
)


def _far(scene: str) -> Study:
    name = WORDS[PATHS[scene][0]]
    return _latency(
        scene,
        lambda one, other: truth(
            "lte-far-above",
            f"{scene}: the latency of LTE is far above that of {name}",
            _told(one, other),
            below(one, other, far=True),
        ),
    )


figure_5_19 = _far("D")
figure_5_22 = _far("E")


def throttles(quick: bool) -> Sequence[float | None]:
    """In Mbit/s; the last is none."""
    return (1.0, 10.0, None) if quick else (*THROTTLES_MBPS, None)


def _name(throttle: float | None) -> str:
    return "none" if throttle is None else f"{throttle:g} Mbit/s"


def _usage(scene: str, direction: str, claims: Callable[[dict[str, Mean], Results], list[Claim]]) -> Study:
    paths = PATHS[scene]
    first = paths[0]

    def cells(quick: bool) -> dict[str, Cell]:
        return {_name(each): Cell(scene, paths, direction, throttle_mbps=each) for each in throttles(quick)}

    def judge(found: Results, _: Context) -> Judged:
        shares = {name: each.share(first) for name, each in found.items()}
        rows = [
            {
                "throttle": name,
                **{f"{WORDS[path]}, % of what arrived": each.share(path) for path in paths},
                f"{WORDS[first]}, % of what was sent": each.sent_share(first),
                **{
                    f"{WORDS[path]}, Mbit/s": statistics.fmean(run.get(path, 0.0) for run in each.rates_mbps)
                    for path in paths
                },
            }
            for name, each in found.items()
        ]
        judged = Judged(claims(shares, found))
        judged.notes += _laws(scene, found)
        judged.tables.append((f"Scenario {scene}: shares over the throttle", pl.DataFrame(rows)))
        long = pl.DataFrame(
            [
                {"throttle": name, "path": WORDS[path], "share": each.share(path)}
                for name, each in found.items()
                for path in paths
            ]
        )
        judged.figures.append(
            (
                f"Scenario {scene}: share of each path over the throttle",
                alt.Chart(long)
                .mark_bar()
                .encode(
                    x=alt.X("throttle:N", sort=None, title="throttle of both interfaces", axis=alt.Axis(labelAngle=0)),
                    xOffset=alt.XOffset("path:N", sort=None),
                    y=alt.Y("share:Q", title="share of the data, %"),
                    color=alt.Color("path:N", sort=None, title=None),
                )
                .properties(width=480, height=200),
            )
        )
        return judged

    return Study(cells, judge)


def laws(scene: str, found: Results) -> list[str]:
    """What breaks the laws of a throttle: no path above it, shares that sum to 1, equal paths that share equally."""
    broken = []
    for name, each in found.items():
        sums = [sum(run.values()) for run in each.shares]
        broken += [f"{name}: shares sum to {total:.3f}" for total in sums if abs(total - 1) > 1e-6]
        if name == "none":
            continue
        limit = float(name.split()[0])
        # In real time a rate is over the program's time, and what the queue held at its end arrives after it.
        for run in each.rates_mbps:
            broken += [f"{name}: {path} has {rate:.2f} Mbit/s" for path, rate in run.items() if rate > limit * HEADERS]
        if scene in ("B", "C") and limit <= 10 and abs(each.share(PATHS[scene][0]) - 50) > 5:
            broken.append(f"{name}: {each.share(PATHS[scene][0]):.1f} % by {WORDS[PATHS[scene][0]]}, beyond 50 ± 5 %")
    return broken


def _laws(scene: str, found: Results) -> list[str]:
    broken = laws(scene, found)
    if not broken:
        return [
            "Laws of the throttle: no path above its throttle, shares sum to 1, similar paths at a low throttle "
            "share 50 ± 5 %."
        ]
    return [f"A law of the throttle is broken: {each}." for each in broken]


def _list(shares: dict[str, Mean], first: str) -> str:
    return f"{WORDS[first]}: " + ", ".join(f"{each:.0f} % ({name})" for name, each in shares.items())


def balanced(key: str, scene: str, shares: dict[str, Mean]) -> Claim:
    """Near one half at every throttle."""
    return truth(
        key,
        f"{scene}: both paths carry about the same",
        _list(shares, PATHS[scene][0]),
        every(Share(50, each, whole=100) for each in shares.values()),
        cause="setting: without a throttle the shares follow the capacities of the paths, which differ.",
    )


def ethernet_first(scene: str, shares: dict[str, Mean]) -> Claim:
    """Ethernet slightly ahead."""
    ahead = [each > 50 for each in shares.values()]
    return truth(
        "ethernet-first",
        f"{scene}: Ethernet has more than half at most throttles",
        _list(shares, "ethernet"),
        at_least(sum(ahead) / len(ahead), 0.5, 0, whole=1.0),
    )


def _rises(key: str, scene: str, shares: dict[str, Mean]) -> Claim:
    first = PATHS[scene][0]
    values = list(shares.values())
    return truth(
        key,
        f"{scene}: the share of {WORDS[first]} rises as the throttle is lifted",
        _list(shares, first),
        steps(values, "rises", whole=100),
    )


def _most(key: str, scene: str, shares: dict[str, Mean]) -> Claim:
    first = PATHS[scene][0]
    return truth(
        key,
        f"{scene}: {WORDS[first]} carries more than half",
        _list(shares, first),
        every(below(Mean(50), each, whole=100) for each in shares.values()),
    )


def _uneven(scene: str, key: str, shares: dict[str, Mean]) -> Claim:
    away = abs(shares["1 Mbit/s"] - 50)
    return truth(
        key,
        f"{scene}: at 1 Mbit/s the paths are used unevenly",
        f"{shares['1 Mbit/s']:.0f} % by Ethernet",
        below(Mean(0), away, whole=100, far=True),
        cause="unknown: in ten seconds both paths carry what the throttle lets through, whatever its queue (the table "
        "over "
        "queues). Another share needs a path that joins late or not at all.",
    )


_QUEUES_MS: Final = (20, 70, 400, 4000)


def _queues(scene: str, direction: str) -> Callable[[bool], dict[str, Cell]]:
    def cells(quick: bool) -> dict[str, Cell]:
        return {
            f"{queue} ms": Cell(
                scene, PATHS[scene], direction, throttle_mbps=1.0, changed=(("throttle queue", float(queue)),)
            )
            for queue in (_QUEUES_MS[1::2] if quick else _QUEUES_MS)
        }

    return cells


def _queue_judge(scene: str, key: str | None) -> Callable[[Results, Results, Context], Judged]:
    def judge(found: Results, _: Results, __: Context) -> Judged:
        first = PATHS[scene][0]
        rows = [
            {
                "queue of the throttle": name,
                f"{WORDS[first]}, % of what arrived": each.share(first),
                f"{WORDS[first]}, % of what was sent": each.sent_share(first),
            }
            for name, each in found.items()
        ]
        spread = max(abs(each.sent_share(first) - 50) for each in found.values())
        least = min(abs(each.sent_share(first) - 50) for each in found.values())
        told = ", ".join(
            f"{name}: {each.sent_share(first):.0f} % sent, {each.share(first):.0f} % arrived"
            for name, each in found.items()
        )
        claims = []
        if key is not None:
            claims.append(
                truth(
                    key,
                    "The cause of uneven use at 1 Mbit/s is that few bytes are sent before the other path joins",
                    told,
                    every(
                        below(Mean(0), spread, whole=100, far=True),
                        below(least, spread, whole=100),
                    ),
                    cause="work: the runs last ten seconds at every throttle, so no transfer is short; the second path "
                    "joins within a few "
                    "round trips. "
                    + (
                        "What matters is the queue of the throttle: a deep one takes the first subflow's data "
                        "before the second is there."
                        if spread > least + 5
                        else "Nor does the queue of the throttle matter here."
                    ),
                )
            )
        return Judged(claims, [(f"Scenario {scene} at 1 Mbit/s, over the queue of the throttle", pl.DataFrame(rows))])

    return judge


def _with_queues(plain: Study, scene: str, direction: str, key: str | None) -> Study:
    return Study(plain.cells, plain.judge, _queues(scene, direction), _queue_judge(scene, key))


figure_5_14 = _usage("B", "up", lambda s, _: [balanced("balanced", "B", s), ethernet_first("B", s)])
figure_5_15 = _with_queues(
    _usage(
        "B",
        "down",
        lambda s, _: [_uneven("B", "uneven-at-1", s), balanced("balanced", "B", s), ethernet_first("B", s)],
    ),
    "B",
    "down",
    "small-flows",
)
figure_5_17 = _usage("C", "up", lambda s, _: [balanced("balanced", "C", s), ethernet_first("C", s)])
figure_5_18 = _with_queues(
    _usage("C", "down", lambda s, _: [balanced("half", "C", s), _uneven("C", "one-path-when-short", s)]),
    "C",
    "down",
    None,
)
figure_5_20 = _usage("D", "up", lambda s, _: [_rises("rises", "D", s), _most("most-ethernet", "D", s)])


def _lte_at_1(shares: dict[str, Mean], _: Results) -> list[Claim]:
    return [
        _rises("rises", "D", shares),
        truth(
            "lte-at-1",
            "D, download: at 1 Mbit/s LTE carries more than Ethernet",
            f"{100 - shares['1 Mbit/s']:.0f} % by LTE",
            below(shares["1 Mbit/s"], Mean(50), whole=100),
            cause="setting: at 1 Mbit/s each path carries its throttle, LTE a little less, as it joins later and its "
            "slow "
            "start takes longer. The "
            "thesis says that LTE had the lower latency at that moment; no steady parameter here gives that.",
        ),
    ]


figure_5_21 = _with_queues(_usage("D", "down", _lte_at_1), "D", "down", None)
figure_5_23 = _usage("E", "up", lambda s, _: [_rises("rises", "E", s), _most("most-wifi", "E", s)])
figure_5_24 = _usage("E", "down", lambda s, _: [_rises("rises", "E", s), _most("most-wifi", "E", s)])
