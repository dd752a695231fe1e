"""Section 6.2, what the thesis leaves for later: 5G in place of LTE, and a scheduler that returns to the wired path."""

from typing import Final

import polars as pl
from mptcplab.reproduce import Context, at_least, every
from mptcplab.reproduce import Found as Mean

from .lab import Cell
from .networks import PATHS, WORDS
from .study import Judged, Results, Study, truth

_5G: Final = (("lte down", 150.0), ("lte up", 30.0), ("lte delay", 5.0), ("lte queue", 50.0))
"""A cell of 100 MHz at 3.5 GHz, shared: assumed, and set before any run. One way, before the cloud's delay."""
_RADIO: Final = {"LTE": (), "5G": _5G}
_WAYS: Final = ("up", "down")
_SCHEDULERS: Final = ("min-rtt", "round-robin", "blest", "ecf", "linux")
_WINDOWS_MIB: Final = (1.0, 3.0)
_AGAINST: Final = "against the other path alone, %"


def _radio_cells(_: bool) -> dict[str, Cell]:
    return {
        f"{scene} {way}/{radio}/{name}": Cell(scene, paths, way, changed=changed)
        for scene in ("D", "E")
        for way in _WAYS
        for radio, changed in _RADIO.items()
        for name, paths in {**{path: (path,) for path in PATHS[scene]}, "both": PATHS[scene]}.items()
    }


def _gain(found: Results, place: str, scene: str) -> Mean:
    """Of both over the better path alone."""
    return found[f"{place}/both"].mbps / max(found[f"{place}/{path}"].mbps for path in PATHS[scene]) - 1


def _judge_radio(found: Results, _: Context) -> Judged:
    rows, gains = [], {}
    for scene in ("D", "E"):
        for way in _WAYS:
            for radio in _RADIO:
                place = f"{scene} {way}/{radio}"
                gain = gains[scene, way, radio] = _gain(found, place, scene)
                rows.append(
                    {
                        "scenario": f"{scene} ({WORDS[PATHS[scene][0]]} and {radio}), {way}load",
                        f"{WORDS['ethernet']} or {WORDS['wifi']}, Mbit/s": found[f"{place}/{PATHS[scene][0]}"].mbps,
                        "mobile, Mbit/s": found[f"{place}/lte"].mbps,
                        "both, Mbit/s": found[f"{place}/both"].mbps,
                        "gain over the better, %": 100 * gain,
                    }
                )
    place = "E down/5G"
    most = {"lte": found[f"{place}/lte"].mbps, "first": found[f"{place}/wifi"].mbps}
    pairs = [(gains[scene, way, "5G"], gains[scene, way, "LTE"]) for scene in ("D", "E") for way in _WAYS]
    told = "; ".join(
        f"{scene} {way}: {gains[scene, way, 'LTE']:+.0%} with LTE, {gains[scene, way, '5G']:+.0%} with 5G"
        for scene in ("D", "E")
        for way in _WAYS
    )
    better = truth(
        "better",
        "With 5G in place of LTE the default scheduler gains more, and never loses",
        told,
        every(
            [at_least(five, lte, whole=1.0) for five, lte in pairs],
            [at_least(five, 0.0, whole=1.0) for five, _ in pairs],
        ),
        cause="work: what a default scheduler gains is not said. In the download 5G alone carries "
        f"{float(most['lte'] / most['first']):.1f} times what the other path does, so that the other can add "
        f"{float(most['first'] / most['lte']):.0%} at most; in the upload what LTE takes away is gone.",
    )
    return Judged([better], tables=[("5G in place of LTE", pl.DataFrame(rows))])


def _scheduler_cells(_: bool) -> dict[str, Cell]:
    cells = {f"{scene}/alone": Cell(scene, PATHS[scene][:1], "up") for scene in ("D", "E")}
    for scene in ("D", "E"):
        for window in _WINDOWS_MIB:
            for scheduler in _SCHEDULERS:
                name = f"{scene}/{window:g}/{scheduler}"
                cells[name] = Cell(scene, PATHS[scene], "up", scheduler=scheduler, window_mib=window)
    return cells


def _judge_scheduler(found: Results, _: Context) -> Judged:
    rows: list[dict[str, str | float]] = []
    for scene in ("D", "E"):
        for window in _WINDOWS_MIB:
            for scheduler in _SCHEDULERS:
                each = found[f"{scene}/{window:g}/{scheduler}"]
                rows.append(
                    {
                        "scenario": scene,
                        "receive window, MiB": window,
                        "scheduler": scheduler,
                        "both, Mbit/s": each.mbps,
                        _AGAINST: 100 * (each.mbps / found[f"{scene}/alone"].mbps - 1),
                        "of it by LTE, %": each.share("lte"),
                    }
                )
    frame = pl.DataFrame(rows)
    least = [row for row in rows if row["receive window, MiB"] == min(_WINDOWS_MIB)]
    told = "; ".join(
        f"{scheduler} {min(float(row[_AGAINST]) for row in least if row['scheduler'] == scheduler):+.0f} %"
        for scheduler in _SCHEDULERS
    )
    waits = [
        found[f"{scene}/{window:g}/blest"].mbps / found[f"{scene}/{window:g}/min-rtt"].mbps
        for scene in ("D", "E")
        for window in _WINDOWS_MIB
    ]
    returns = truth(
        "returns",
        "A scheduler that leaves LTE alone while the other path soon has room carries no less than the default one",
        f"with a window of {min(_WINDOWS_MIB):g} MiB against Ethernet or Wi-Fi alone, the worse of D and E: {told}",
        every(at_least(each, 1.0) for each in waits),
    )
    return Judged(
        [returns],
        tables=[("Schedulers in the upload of D and E", frame)],
        notes=[
            "min-rtt goes back to the path of the shortest round trip whenever that has room, which is what the thesis "
            "proposes; it does not wait for that room, as blest and ecf do."
        ],
    )


future_5g = Study(_radio_cells, _judge_radio)
future_scheduler = Study(_scheduler_cells, _judge_scheduler)
