"""The kernel's controls at shared bottlenecks: what BPF's lia and its kin take from a TCP, on Linux itself.

Two scenarios as they stand in scenarios/: two subflows and one TCP in a bottleneck of 15 Mbit/s with RED, and Khalili's
scenario C. The engine `linux` beside `sim`, and `model` where it has the control; Linux runs in real time. Needs root,
clang and libbpf (`mptcplab doctor`); a control is in the kernel for the time of its runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext

import numpy as np

from mptcplab import bpf
from mptcplab.result import Result

from .runs import TCP_PAYLOAD_BYTES, per_run, run, scenario_text, show

CONTROLS = ("reno", "lia", "olia", "balia", "ewtcp")
_MODELLED = ("reno", "lia", "olia")


def measured(text: str, control: str, connection: str, engine: str, *, seeds: int, seconds: int) -> Result:
    """A scenario of `seconds`, its warm-up with them, with a control of `connection`, on an engine."""
    overrides = [f"connection.{connection}.congestion={control}", f"duration={seconds} s", "measure.sample=never"]
    loaded = bpf.registered(control) if engine == "linux" and control in bpf.NAMES else nullcontext()
    with loaded:
        return run(text, seeds=seeds, overrides=overrides, engine=engine)


def share(result: Result, connection: str, other: str) -> float:
    """What `connection` has of both, mean over the runs."""
    ours, theirs = per_run(result, connection), per_run(result, other)
    return float(np.mean(ours / (ours + theirs)))


def _bottleneck(controls: Sequence[str], seeds: int, seconds: int) -> Iterator[Mapping[str, str]]:
    text = scenario_text("shared-bottleneck")
    for control in controls:
        found = {
            engine: measured(text, control, "multipath", engine, seeds=seeds, seconds=seconds)
            for engine in ("model", "sim", "linux")
        }
        row = {"control": control, "theory": "0.667" if control == "reno" else "0.500"}
        for engine, result in found.items():
            row[engine] = f"{share(result, 'multipath', 'single'):.3f}"
        linux = found["linux"]
        ours, theirs = per_run(linux, "multipath"), per_run(linux, "single")
        row["runs on Linux"] = " ".join(f"{x:.2f}" for x in ours / (ours + theirs))
        yield row


def _scenario_c(controls: Sequence[str], seeds: int, seconds: int) -> Iterator[Mapping[str, str]]:
    text = scenario_text("khalili-2013-c")
    packet = 1500 / TCP_PAYLOAD_BYTES
    for control in controls:
        for engine in ("model", "sim", "linux"):
            result = measured(text, control, "multi", engine, seeds=seeds, seconds=seconds)
            subflows = result.subflows.filter(result.subflows["connection"] == "multi")
            second = subflows.filter(subflows["path"] == "ap2")["goodput_bps"].drop_nulls().to_numpy().mean()
            multi, single = per_run(result, "multi").mean(), per_run(result, "single").mean()
            links = result.links.filter(result.links["direction"] == "down")["loss_rate"].drop_nulls().to_list()
            yield {
                "control": control,
                "engine": engine,
                "two-path users, Mbit/s": f"{multi * packet / 1e6:.3f}",
                "of it by ap2": f"{second * packet / 1e6:.3f}",
                "TCP users, Mbit/s": f"{single * packet / 1e6:.3f}",
                "losses at ap1, ap2": ", ".join(f"{loss:.4f}" for loss in links) or "–",
            }


def main() -> None:
    """Print both tables; some twenty minutes, as Linux has no virtual time."""
    show("Two subflows and one TCP, RED: share of the multipath connection", _bottleneck(CONTROLS, 2, 70))
    show("Khalili's scenario C, N₁ = N₂ = 10, C₁ = C₂ = 1 Mbit/s", _scenario_c(_MODELLED, 1, 120))
