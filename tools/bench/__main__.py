"""Measures the sources, or two commits in turn.

python -m tools.bench run [WORKLOAD…]
python -m tools.bench compare BASE [WORKLOAD…]
"""

import subprocess
import sys
from collections.abc import Sequence

from tools.bench import measure
from tools.bench.measure import ROOT, WORKLOADS, Measured

COLUMNS = (
    ("sim s / CPU s", "simulated_s_per_cpu_s", "{:.3g}"),
    ("ns/hop", "ns_per_hop", "{:.0f}"),
    ("instr/hop", "instructions_per_hop", "{:.0f}"),
    ("Mseg/s", "delivered_segments_per_s", "{:.2f}"),
    ("transfers/s", "transfers_per_s", "{:.0f}"),
    ("2 jobs/1", "two_jobs", "{:.2f}"),
    ("plug-in/built-in", "plugin_speed", "{:.3f}"),
    ("peak RSS MB", "peak_rss_mb", "{:.1f}"),
    ("hops", "packet_hops", "{:d}"),
    ("utilisation", "utilisation", "{:.3f}"),
    ("results", "digest", "{}"),
)


def table(rows: Sequence[Measured]) -> str:
    """The results, a line a workload."""
    lines = [["", *(title for title, _, _ in COLUMNS)]]
    for row in rows:
        cells = [row.workload]
        for _, field, form in COLUMNS:
            value = getattr(row, field)
            scaled = value / 1e6 if field == "delivered_segments_per_s" and value is not None else value
            cells.append("–" if scaled is None else form.format(scaled))
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def run(names: Sequence[str]) -> None:
    """Measures the sources as they stand."""
    if not measure.has_callgrind():
        sys.stderr.write("valgrind is not installed: instructions are not counted (apt-get install valgrind)\n")
    program, rows = measure.build(), []
    for name in names:
        sys.stderr.write(f"{name}: {WORKLOADS[name]}\n")
        rows.append(measure.measure(name, program))
    path = measure.store(measure.commit(), rows)
    sys.stdout.write(f"{table(rows)}\n{path.relative_to(ROOT)}\n")


def compare(base: str, names: Sequence[str]) -> None:
    """Measures the sources as they stand and those of `base`, in turn, and prints how much each figure changed."""
    there = ROOT / "target" / "bench" / "base"
    subprocess.run(["git", "worktree", "remove", "--force", str(there)], cwd=ROOT, check=False, capture_output=True)
    subprocess.run(["git", "worktree", "add", "--quiet", "--force", "--detach", str(there), base], cwd=ROOT, check=True)
    try:
        programs = {measure.commit(): measure.build(), measure.commit(there): measure.build(there)}
        for name in names:
            if name in measure.FROM_PYTHON:
                sys.stderr.write(f"{name} is left out: it needs both commits' Python environments\n")
                continue
            new, old = (measure.measure(name, program) for program in programs.values())
            sys.stdout.write(f"{table([old, new])}\n{_change(old, new)}\n")
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(there)], cwd=ROOT, check=False)


def _change(old: Measured, new: Measured) -> str:
    parts = ["results are the same to the byte" if old.digest == new.digest else "RESULTS DIFFER"]
    for title, field, _ in COLUMNS[:8]:
        before, after = getattr(old, field), getattr(new, field)
        if before and after:
            parts.append(f"{title} {after / before - 1:+.1%}")
    return f"{new.workload}: " + ", ".join(parts)


def main(arguments: list[str]) -> int:
    """Exit status: 0 done, 2 arguments that make no sense."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    base = rest.pop(0) if command == "compare" and rest else None
    unknown = [name for name in rest if name not in WORKLOADS]
    if unknown or command not in ("run", "compare") or (command == "compare" and base is None):
        about = f"no workload {', '.join(unknown)}; choose from {', '.join(WORKLOADS)}" if unknown else str(__doc__)
        sys.stderr.write(f"{about}\n")
        return 2
    names = rest or list(WORKLOADS)
    if base is None:
        run(names)
    else:
        compare(base, names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
