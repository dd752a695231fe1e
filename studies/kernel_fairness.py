"""The kernel's controls at shared bottlenecks: what BPF's lia and its kin take from a TCP, on Linux itself.

Two scenarios of scenarios/: two subflows and one TCP in a bottleneck of 15 Mbit/s with RED, eight such networks beside
one another in each run, as Linux has no virtual time and a share wants minutes to settle; and Khalili's scenario C. The
engine `linux` beside `sim`, and `model` where it has the control. Needs root, clang and libbpf (`mptcplab doctor`); a
control is in the kernel for the time of its runs.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import tomli_w
from mptcplab import bpf
from mptcplab.models.checks import Array
from mptcplab.results.result import Result

from .runs import TCP_PAYLOAD_BYTES, per_run, run, scenario_text, show

CONTROLS = ("reno", "lia", "olia", "balia", "ewtcp")
_MODELLED = ("reno", "lia", "olia")

ENGINES = (
    ("model", "model", None),
    ("sim", "sim", None),
    ("sim, scheduler linux", "sim", "linux"),
    ("Linux", "linux", None),
)
"""Title, engine, and the scheduler where it is not the engine's own default."""


def _loaded(control: str, engine: str) -> AbstractContextManager[object]:
    return bpf.registered(control) if engine == "linux" and control in bpf.NAMES else nullcontext()


def _warn(result: Result, control: str) -> None:
    for note in result.notes:
        if note.startswith("INVALID"):
            sys.stderr.write(f"{control}: {note}\n")


def side_by_side(text: str, copies: int) -> str:
    """A scenario with so many copies of its links, paths and connections, whose names end in `-0`, `-1`, …"""
    whole = tomllib.loads(text)
    links, paths, connections = (whole.pop(table) for table in ("link", "path", "connection"))
    whole["link"], whole["path"], whole["connection"] = {}, {}, {}
    for copy in range(copies):
        whole["link"] |= {f"{name}-{copy}": link for name, link in links.items()}
        whole["path"] |= {
            f"{name}-{copy}": {"links": [f"{link}-{copy}" for link in path["links"]]} for name, path in paths.items()
        }
        whole["connection"] |= {
            f"{name}-{copy}": {**each, "paths": [f"{path}-{copy}" for path in each["paths"]]}
            for name, each in connections.items()
        }
    return tomli_w.dumps(whole)


def shares(control: str, engine: str, *, copies: int, seeds: int, seconds: int, scheduler: str | None = None) -> Array:
    """What the multipath connection has of both, in each copy and run of the shared bottleneck."""
    one = tomllib.loads(scenario_text("shared-bottleneck"))
    one["connection"]["multipath"]["congestion"] = control
    if scheduler is not None:
        one["connection"]["multipath"]["scheduler"] = scheduler
    one["duration"] = f"{seconds} s"
    one["measure"]["sample"] = "never"
    with _loaded(control, engine):
        result = run(side_by_side(tomli_w.dumps(one), copies), seeds=seeds, engine=engine)
    _warn(result, control)
    ours = np.concatenate([per_run(result, f"multipath-{copy}") for copy in range(copies)])
    theirs = np.concatenate([per_run(result, f"single-{copy}") for copy in range(copies)])
    return np.asarray(ours / (ours + theirs))


def _bottleneck(controls: Sequence[str], copies: int, seeds: int, seconds: int) -> Iterator[Mapping[str, str]]:
    for control in controls:
        row = {"control": control, "theory": "0.667" if control == "reno" else "0.500"}
        for title, engine, scheduler in ENGINES:
            found = shares(control, engine, scheduler=scheduler, copies=copies, seeds=seeds, seconds=seconds)
            row[title] = f"{found.mean():.3f}"
            if engine != "model":
                row[title] += f" ± {found.std(ddof=1) / np.sqrt(len(found)):.3f}"
            if engine == "linux":
                row["least and most on Linux"] = f"{found.min():.2f} {found.max():.2f}"
        yield row


def _scenario_c(controls: Sequence[str], seeds: int, seconds: int) -> Iterator[Mapping[str, str]]:
    text = scenario_text("khalili-2013-c")
    packet = 1500 / TCP_PAYLOAD_BYTES
    for control in controls:
        for title, engine, scheduler in ENGINES:
            overrides = [f"connection.multi.congestion={control}", f"duration={seconds} s", "measure.sample=never"]
            if scheduler is not None:
                overrides.append(f"connection.multi.scheduler={scheduler}")
            with _loaded(control, engine):
                result = run(text, seeds=seeds, overrides=overrides, engine=engine)
            _warn(result, control)
            subflows = result.subflows.filter(result.subflows["connection"] == "multi")
            second = subflows.filter(subflows["path"] == "ap2")["goodput_bps"].drop_nulls().to_numpy().mean()
            multi, single = per_run(result, "multi").mean(), per_run(result, "single").mean()
            links = result.links.filter(result.links["direction"] == "down")["loss_rate"].drop_nulls().to_list()
            yield {
                "control": control,
                "engine": title,
                "two-path users, Mbit/s": f"{multi * packet / 1e6:.3f}",
                "of it by ap2": f"{second * packet / 1e6:.3f}",
                "TCP users, Mbit/s": f"{single * packet / 1e6:.3f}",
                "losses at ap1, ap2": ", ".join(f"{loss:.4f}" for loss in links) or "–",
            }


def main() -> None:
    """Print both tables; some forty minutes, as Linux has no virtual time."""
    title = "Two subflows and one TCP, RED: share of the multipath connection, with its standard error (16 shares)"
    show(title, _bottleneck(CONTROLS, copies=8, seeds=2, seconds=120))
    show("Khalili's scenario C, N₁ = N₂ = 10, C₁ = C₂ = 1 Mbit/s", _scenario_c(_MODELLED, 1, 120))
