"""`mptcplab predict --size`: how long a file of that size takes, round by round, and the paths worth using for it."""

import json
import sys
from collections.abc import Sequence

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from mptcplab.cli.common import WRONG_INPUT, Failure, console, print_line
from mptcplab.models.checks import ModelInputError
from mptcplab.models.rounds import RoundModel, RoundPath, Transfer, choose_paths, transfer
from mptcplab.scenario import units

_LINUX_SEGMENT = 1420.0
"""Data in a full segment with Multipath TCP's options."""


def predict_file(
    size: str, losses: Sequence[float], rtts_ms: Sequence[float], rates: str | None, window: int, mss: float | None
) -> tuple[dict[str, Transfer], list[int]]:
    """The transfers over all paths, over what DMPTCP selects, over the fastest alone; and what it selects at first."""
    size_bytes = _read(units.SIZE, "--size", size)
    rates_bps = [_read(units.RATE, "--rate", each) for each in rates.split(",")] if rates else [np.inf] * len(rtts_ms)
    if not len(rates_bps) == len(losses) == len(rtts_ms):
        counts = f"{len(losses)} loss rates, {len(rtts_ms)} round-trip times, {len(rates_bps)} rates"
        raise Failure(WRONG_INPUT, f"found {counts}; expected one of each per path")
    try:
        paths = [RoundPath(rtt / 1e3, loss, rate) for rtt, loss, rate in zip(rtts_ms, losses, rates_bps, strict=True)]
        model = RoundModel(
            initial_window=window,
            restart_window=1,
            segment_bytes=mss or _LINUX_SEGMENT,
            ack_bytes=0,
            segments_per_ack=1,
        )
        best = min(range(len(paths)), key=lambda path: paths[path].rtt_s)
        found = {
            "all paths": transfer(size_bytes, paths, model),
            "dmptcp": transfer(size_bytes, paths, model, select=True),
            "tcp": transfer(size_bytes, [paths[best]], model),
        }
        return found, choose_paths(size_bytes, paths, model)
    except ModelInputError as error:
        raise Failure(WRONG_INPUT, str(error)) from None


def _read(dimension: units.Dimension, option: str, text: str) -> float:
    try:
        _, number = units.read(text.strip(), [dimension])
    except units.UnreadableError as problem:
        expected = f'{dimension.noun} with its unit, such as "{dimension.example}"'
        raise Failure(
            WRONG_INPUT, f"{option} {text}: found {problem.found}; expected {expected}{problem.hint}"
        ) from None
    if number <= 0:
        raise Failure(WRONG_INPUT, f"{option} {text}: found {text.strip()}; expected more than 0")
    return float(number)


def show_file(found: dict[str, Transfer], selected: Sequence[int], *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        document = {
            "selected_paths": list(selected),
            "transfers": {
                name: {"receiver_s": each.receiver_s, "sender_s": each.sender_s, "segments": list(each.segments)}
                for name, each in found.items()
            },
        }
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    numbers = ", ".join(str(path + 1) for path in selected)
    print_line(
        f"If all subflows were ready at once, DMPTCP would start with path{'s' * (len(selected) > 1)} {numbers}.\n"
    )
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn.add_column(Text("over\n"))
    for heading in ("last byte\nms", "last ACK\nms", "segments\nby path"):
        drawn.add_column(Text(heading), justify="right", no_wrap=True)
    labels = {"all paths": "all paths, min-rtt", "dmptcp": "what DMPTCP selects", "tcp": "TCP on the fastest"}
    for name, each in found.items():
        segments = " + ".join(f"{sent:.4g}" for sent in each.segments)
        times = (f"{each.receiver_s * 1e3:.1f}", f"{each.sender_s * 1e3:.1f}")
        drawn.add_row(*map(Text, (labels[name], *times, segments)))
    console().print(drawn)
