"""Figures 5.25 and 5.26: round robin beside min-RTT."""

from typing import Final

import polars as pl
from mptcplab.reproduce import Context, Equality, below, slightly
from mptcplab.reproduce import Found as Mean

from .lab import Cell
from .networks import PATHS
from .study import ONE, Judged, Results, Study, truth

_SCENES: Final = ("B", "C", "D")


def _cells(direction: str, scenes: tuple[str, ...], reverse: bool) -> dict[str, Cell]:
    made = {}
    for scene in scenes:
        for scheduler in ("min-rtt", "round-robin"):
            made[f"{scene}/{scheduler}"] = Cell(scene, PATHS[scene], direction, scheduler=scheduler)
    if reverse:
        for scheduler in ("min-rtt", "round-robin"):
            made[f"D down/{scheduler}"] = Cell("D", PATHS["D"], "down", scheduler=scheduler)
    return made


def change(found: Results, scene: str) -> Mean:
    """Of round robin against min-RTT."""
    return found[f"{scene}/round-robin"].mbps / found[f"{scene}/min-rtt"].mbps - 1


_EQUAL: Final = (
    "chance: with enough to send both schedulers fill every window as it opens, so they carry the same; which of them "
    "is "
    "a few per cent ahead is "
    "chance here, and may have been there."
)
_D: Final = (
    "setting: a scheduler that fills every window cannot lose much while the receive window holds what is in flight; "
    "figure 5.9's table shows round "
    "robin over the window."
)


def _judge(direction: str) -> "Study":
    def judge(found: Results, _: Context) -> Judged:
        changes = {scene: change(found, scene) for scene in _SCENES if f"{scene}/min-rtt" in found}
        rows = [
            {
                "scenario": scene,
                "min-RTT, Mbit/s": found[f"{scene}/min-rtt"].mbps,
                "round robin, Mbit/s": found[f"{scene}/round-robin"].mbps,
                "change, %": 100 * each,
            }
            for scene, each in changes.items()
        ]
        judged = Judged(tables=[("Round robin beside min-RTT", pl.DataFrame(rows))])
        up = direction == "up"
        if "B" in changes:
            b = changes["B"]
            judged.claims.append(
                truth(
                    "b-slightly-worse" if up else "b-slightly-better",
                    f"B: round robin is slightly {'below' if up else 'above'} min-RTT",
                    f"{b:+.1%}",
                    slightly(1 + b, ONE) if up else slightly(ONE, 1 + b),
                    cause=_EQUAL,
                )
            )
        c = changes["C"]
        judged.claims.append(
            truth(
                "c-slightly-better" if up else "c-equal",
                f"C: round robin is {'slightly better than' if up else 'equal to'} min-RTT",
                f"{c:+.1%}",
                slightly(ONE, 1 + c) if up else Equality(ONE, 1 + c),
                cause=_EQUAL,
            )
        )
        d = changes["D"]
        judged.claims.append(
            truth(
                "d-worse",
                f"D: round robin is {'far ' if up else ''}worse than min-RTT",
                f"{d:+.1%}",
                below(1 + d, ONE, far=up),
                cause=_D,
            )
        )
        if up:
            down = change(found, "D down")
            judged.claims.append(
                truth(
                    "d-most",
                    "D: the loss is greater in the upload than in the download",
                    f"{d:+.1%} against {down:+.1%}",
                    below(d, down, whole=1.0),
                    cause=_D,
                )
            )
        return judged

    return Study(lambda _: _cells(direction, _SCENES, direction == "up"), judge)


figure_5_25 = _judge("up")
figure_5_26 = _judge("down")
