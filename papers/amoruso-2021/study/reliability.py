"""Sections 1.1 and 3.3: what the thesis claims and does not test. A path is unplugged during each transfer; "
"redundant."""

from typing import Any, Final

import altair as alt
import polars as pl
from mptcplab.reproduce import Context, Exact, at_most, below, every, mean_of
from mptcplab.reproduce import Found as Mean

from .lab import Cell, Found
from .networks import PATHS, WORDS
from .study import Judged, Results, Study, truth

GONE_S: Final = 4.0
BACK_S: Final = 7.0
_SAMPLE_MS: Final = 20
NOTICED_S: Final = 1.0
"""The longest silence that a user hardly notices in a transfer."""


def silence_s(samples: pl.DataFrame, since_s: float = 0.0) -> float:
    """The longest time after `since_s` in which nothing arrived by any subflow."""
    arrived = (
        samples.filter(pl.col("time_s") > since_s).group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")
    )
    longest = run = 0
    for rate in arrived["goodput_bps"]:
        run = 0 if rate else run + 1
        longest = max(longest, run)
    return longest * _SAMPLE_MS / 1e3


def silence(found: Found) -> Mean:
    """The longest after the path went, in the mean of the runs."""
    return mean_of(silence_s(each, GONE_S) for each in found.samples)


def after(found: Found, path: str, since_s: float, until_s: float) -> float:
    """Mbit/s by a path in an interval, of the first run."""
    rows = found.samples[0].filter(
        (pl.col("path") == path) & pl.col("time_s").is_between(since_s, until_s, closed="right")
    )
    return float(rows["goodput_bps"].sum()) * _SAMPLE_MS / 1e3 / (until_s - since_s) / 1e6


def _cells(scenes: tuple[str, ...]) -> dict[str, Cell]:
    return {
        f"{scene} {direction}, {WORDS[gone]} unplugged": Cell(
            scene,
            PATHS[scene],
            direction,
            scheduler="linux",
            unplugged=(gone, GONE_S, 0.0),
            sample_ms=_SAMPLE_MS,
        )
        for scene in scenes
        for direction in ("up", "down")
        for gone in PATHS[scene]
    }


SCENES: Final = ("C", "D", "E")


def _unplugged(quick: bool) -> dict[str, Cell]:
    cells = _cells(SCENES[1:2] if quick else SCENES)
    paths = PATHS["D"]
    cells["D down, Ethernet back after 3 s"] = Cell(
        "D", paths, "down", scheduler="linux", unplugged=(paths[0], GONE_S, BACK_S), sample_ms=_SAMPLE_MS
    )
    cells["D down, LTE as backup"] = Cell(
        "D",
        paths,
        "down",
        scheduler="linux",
        unplugged=(paths[0], GONE_S, 0.0),
        sample_ms=_SAMPLE_MS,
        path_manager="backup",
    )
    return cells


def _judge(found: Results, _: Context) -> Judged:
    silences = {name: silence(each) for name, each in found.items()}
    rows: list[dict[str, Any]] = []
    for name, each in found.items():
        scene = name[0]
        first, second = PATHS[scene]
        left = second if f"{WORDS[first]} " in name.partition(",")[2] or "backup" in name else first
        rows.append(
            {
                "transfer": name,
                "longest silence after it, s": silences[name],
                "longest time without a byte in order, s": max(each.silences_s) if each.silences_s else None,
                "left path before, Mbit/s": after(each, left, 1.0, GONE_S),
                "left path after, Mbit/s": after(each, left, GONE_S + 2, 10.0),
            }
        )
    frame = pl.DataFrame(rows)
    longest = max(silences.values())
    goes_on = all(row["left path after, Mbit/s"] > 0 for row in rows)
    backup = next(row for row in rows if "backup" in row["transfer"])
    told = ", ".join(f"{name}: {each:.2f} s" for name, each in silences.items())
    back = found["D down, Ethernet back after 3 s"]
    returned = after(back, "ethernet", 9.0, 10.0)
    claims = [
        truth(
            "handover",
            "A path that goes away during a transfer interrupts it by at most a second",
            told,
            at_most(longest, NOTICED_S),
            cause="machine: what was sent on the dead path is sent again on the other only when a retransmission timer "
            "expires, and a full "
            "receive window behind the hole stops the rest until then; the timer of LTE, with its deep queue, is "
            "long.",
        ),
        truth(
            "redundancy",
            "Every transfer goes on over the path that is left; a backup path carries nothing before and all after",
            f"{'all go on' if goes_on else 'some stop'}; the backup carries {backup['left path before, Mbit/s']:.2f} "
            "Mbit/s before and "
            f"{backup['left path after, Mbit/s']:.2f} after",
            every(
                Exact(0, sum(row["left path after, Mbit/s"] == 0 for row in rows)),
                Exact(0, backup["left path before, Mbit/s"], digits=2),
                below(Mean(0), Mean(backup["left path after, Mbit/s"])),
            ),
        ),
    ]
    name = "D down, Ethernet unplugged"
    lines = (
        alt.Chart(
            found[name].samples[0].with_columns(rate=pl.col("goodput_bps") / 1e6, path=pl.col("path").replace(WORDS))
        )
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("time_s:Q", title="time, s"),
            y=alt.Y("rate:Q", title="goodput, Mbit/s"),
            color=alt.Color("path:N", title=None),
        )
        .properties(width=520, height=200)
    )
    return Judged(
        claims,
        [("Path unplugged at 4 s", frame)],
        [(f"{name} at 4 s", lines)],
        [
            f"Ethernet, plugged in again after 3 s, carries {returned:.1f} Mbit/s two seconds later.",
            "A silence after it is counted in steps of 20 ms in which nothing arrived by any path. The longest time "
            "without a byte in order is of the whole transfer, the stalls of a full window before it included.",
            "The scheduler is that of today's kernel, on sim too.",
        ],
    )


section_1_1 = Study(_unplugged, _judge)


def _redundant_cells(quick: bool) -> dict[str, Cell]:
    made = {}
    for queue_ms in (100, 500):
        made[f"D/redundant/LTE's queue {queue_ms} ms"] = Cell(
            "D",
            PATHS["D"],
            "down",
            scheduler="redundant",
            changed=(("lte queue", float(queue_ms)),),
            unplugged=("ethernet", GONE_S, 0.0),
            sample_ms=_SAMPLE_MS,
        )
    for scene in ("D",) if quick else SCENES:
        first = PATHS[scene][0]
        for scheduler in ("min-rtt", "redundant"):
            made[f"{scene}/{scheduler}"] = Cell(scene, PATHS[scene], "down", scheduler=scheduler)
            made[f"{scene}/{scheduler}/unplugged"] = Cell(
                scene, PATHS[scene], "down", scheduler=scheduler, unplugged=(first, GONE_S, 0.0), sample_ms=_SAMPLE_MS
            )
        made[f"{scene}/alone"] = Cell(scene, (first,), "down")
    return made


def _redundant(found: Results, _: Context) -> Judged:
    rows: list[dict[str, Any]] = [
        {
            "scenario": scene,
            "scheduler": scheduler,
            "Mbit/s": found[f"{scene}/{scheduler}"].mbps,
            "first path alone, Mbit/s": found[f"{scene}/alone"].mbps,
            "longest silence when it is unplugged, s": silence(found[f"{scene}/{scheduler}/unplugged"]),
        }
        for scene in sorted({name[0] for name in found})
        for scheduler in ("min-rtt", "redundant")
    ]
    queues = {name.rsplit("/")[-1]: silence(each) for name, each in found.items() if "queue" in name}
    frame = pl.DataFrame(rows)
    mine = [row for row in rows if row["scheduler"] == "redundant"]
    other = [row for row in rows if row["scheduler"] == "min-rtt"]
    key = "longest silence when it is unplugged, s"
    judged = Judged(
        [
            truth(
                "redundant",
                "With redundant a path that goes away is noticed less than with min-RTT, at the price of the sum "
                "of the capacities",
                "; ".join(f"{row['scenario']}: {row['Mbit/s']:.1f} Mbit/s, silence {row[key]:.2f} s" for row in mine),
                every(
                    check
                    for a, b in zip(mine, other, strict=True)
                    for check in (below(a[key], b[key]), below(a["Mbit/s"], b["Mbit/s"]))
                ),
                cause="algorithm: when a path goes away, the queue of the other is full of copies of what has already "
                "arrived, "
                "and what is new waits behind them: "
                + ", ".join(f"silence {each:.2f} s with {name}" for name, each in queues.items())
                + ".",
            )
        ],
        [("Redundant beside min-RTT, download", frame)],
    )
    judged.not_covered = dict.fromkeys(
        ("syn-retries", "syn-retries.number"),
        "The laboratory has no box that drops SYNs with unknown options yet, nor a key for the number of SYNs "
        "with them.",
    )
    return judged


section_3_3 = Study(_redundant_cells, _redundant)
