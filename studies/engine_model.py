"""The engine `model` beside the simulator: goodput of ready-made scenarios, and of two lossy paths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .runs import per_run, run, scenario_text, show

SEEDS: Final = 5
SHARED: Final = ("reno", "ewtcp", "lia", "olia", "balia", "coupled")
LOSSY: Final = """
duration = "120 s"
[link.one]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
down.loss = "1 %"
[link.two]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
down.loss = "2 %"
[connection.m]
paths = ["one", "two"]
[measure]
warmup = "10 s"
"""


def _compared(name: str, text: str, changes: Sequence[str] = ()) -> Iterator[Mapping[str, str]]:
    changes = [*changes, "measure.sample=never"]
    ours, model = (run(text, seeds=SEEDS, overrides=changes, engine=engine) for engine in ("sim", "model"))
    for connection in dict.fromkeys(ours.connections["name"]):
        found, law = (float(per_run(result, connection).mean()) / 1e6 for result in (ours, model))
        yield {
            "scenario": name,
            "connection": connection,
            "sim, Mbit/s": f"{found:.3g}",
            "model, Mbit/s": f"{law:.3g}",
            "model − sim": f"{law / found - 1:+.1%}",
        }


def _rows() -> Iterator[Mapping[str, str]]:
    yield from _compared("`one-link`", scenario_text("one-link"))
    yield from _compared("… queue of 0.1 BDP", scenario_text("one-link"), ["link.access.queue=0.1 BDP"])
    ten = ["connection.flow.count=10", 'connection.flow.start=["0 s", "2 s"]']
    yield from _compared("… ten flows", scenario_text("one-link"), ten)
    yield from _compared("`red-queue`", scenario_text("red-queue"))
    for control in SHARED:
        changes = [f"connection.multipath.congestion={control}"]
        yield from _compared(f"`shared-bottleneck`, {control}", scenario_text("shared-bottleneck"), changes)
    yield from _compared("`two-equal-paths`", scenario_text("two-equal-paths"))
    for control in ("reno", "olia", "lia"):
        changes = ["duration=120 s", f"connection.download.congestion={control}"]
        yield from _compared(f"`wifi-lte`, 120 s, {control}", scenario_text("wifi-lte"), changes)
    for control in SHARED:
        changes = [f"connection.m.congestion={control}"]
        yield from _compared(f"two paths of 1 % and 2 % loss, {control}", LOSSY, changes)


def main() -> None:
    """Print the table."""
    show("Goodput of a connection of each kind", _rows())
