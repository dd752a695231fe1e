"""The words of a question, checked before anything else is loaded: a slip costs no second."""

from collections.abc import Sequence
from typing import Final

from mptcplab.advice.errors import AdviceError
from mptcplab.advice.paths import known_path, read_buffer, read_cap, read_paths
from mptcplab.advice.traffic import DOWNLOADS, KINDS
from mptcplab.scenario.errors import did_you_mean, show

PURPOSES: Final = ("both", "linux", "any")
"""The kernel's own settings and, where it is better, a free choice; either alone."""
DIRECTIONS: Final = ("down", "up", "both")
PREFERENCES: Final = ("best", "survive", "simple", "fair")
"""What decides between settings that are as good."""


def check(
    *,
    has_file: bool,
    paths: Sequence[str],
    traffic: str | None,
    purpose: str,
    prefer: str,
    metered: Sequence[str],
    caps: Sequence[str],
    buffer: str | None,
    direction: str,
    connection: str | None,
    jobs: int,
    budget: float,
    measured: bool = False,
) -> None:
    """Raise AdviceError for what is wrong without a look at the network of a file, or of a machine (`measured`)."""
    if jobs < 1:
        raise AdviceError("jobs", str(jobs), "1 or more")
    if not 0 < budget <= 1000:
        raise AdviceError("budget", f"{budget:g}", "more than 0 and at most 1000")
    if has_file == bool(paths) and not measured:
        found = "both a scenario file and paths" if has_file else "neither a scenario file nor paths"
        raise AdviceError("the network", found, "a scenario file, or at least two --path")
    for name, value, known in (
        ("--for", purpose, PURPOSES),
        ("--prefer", prefer, PREFERENCES),
        ("--direction", direction, DIRECTIONS),
        ("--traffic", "mix" if traffic is None else traffic, tuple(KINDS)),
    ):
        if value not in known:
            raise AdviceError(name, show(value), f"{', '.join(known)}{did_you_mean(value, known)}")
    if buffer is not None:
        read_buffer(buffer)
    asked = "mix" if traffic is None else traffic
    if direction == "both" and (has_file or asked != "bulk"):
        found = "a scenario file, which has its own" if has_file else f"the traffic {asked}, in which the client asks"
        raise AdviceError("--direction both", found, "paths, and --traffic bulk")
    if has_file or measured:
        return
    if connection is not None:
        raise AdviceError(f"--connection {connection}", "no scenario file", "it with a file that has connections")
    names = [spec.name for spec in read_paths(paths)]
    if direction == "up" and asked in DOWNLOADS:
        raise AdviceError("--direction up", f"the traffic {asked}, in which the client asks", "bulk")
    for name in metered:
        known_path(f"--metered {name}", name, names)
    for text in caps:
        read_cap(text, names)
