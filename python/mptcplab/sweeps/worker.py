"""What carries a run out: a function, and the process that calls it for tasks on its standard input.

The process belongs to whoever started it: it ends with its standard input, and on Linux it is killed with its parent,
so that nothing computes on after the sweep itself was killed.
"""

import base64
import ctypes
import io
import json
import os
import signal
import sys
import time
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
FRAMES: Final = ("connections", "subflows", "links")


def execute(task: str) -> bytes:
    """Carry a task out: JSON of `{"took_s", "notes", "connections", "subflows", "links"}`, or of `{"error"}`.

    Rows are lists in the order of the columns of mptcplab.results.columns. What goes wrong in a run is its answer.
    """
    began_s = time.perf_counter()
    answer: dict[str, Any]
    try:
        answer = _carry_out(json.loads(task))
    except Exception as error:  # whatever it is belongs to this run; the others go on
        answer = {"error": f"{type(error).__name__}: {error}"}
    answer["took_s"] = round(time.perf_counter() - began_s, 6)
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()


def _carry_out(task: dict[str, Any]) -> dict[str, Any]:
    if task["engine"] == "sim" and not task["samples"]:
        # No data frame is made here: a frame for each table of each run would take longer than many a run.
        from mptcplab import _core
        from mptcplab.results import laws
        from mptcplab.results.outcome_rows import Names, named_rows, rows_of_summary

        description = task["description"]
        outcome = _core.simulate(json.dumps(description), **_plugins(task))
        tables = dict(zip(FRAMES, rows_of_summary(Names.of(description), json.loads(outcome["summary"])), strict=True))
        laws.check(description, {name: named_rows(name, rows) for name, rows in tables.items()})
        return {"notes": [], **tables}
    from mptcplab.results import laws

    run, description = _whole_run(task)
    laws.check(description, {name: run.rows(name) for name in ("connections", "subflows", "links")})
    answer: dict[str, Any] = {"notes": list(run.notes)}
    if run.live is not None:
        answer["live"] = run.live
    for name in FRAMES:
        answer[name] = [list(row) for row in getattr(run, name).iter_rows()]
    if task["samples"]:
        held = io.BytesIO()
        run.samples.write_ipc(held, compression="zstd")
        answer["samples"] = base64.b64encode(held.getvalue()).decode()
    return answer


def _whole_run(task: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The run, a mptcplab.results.result.Run, which loads slowly, and the description of its scenario."""
    if task["engine"] == "sim":
        from mptcplab import _core
        from mptcplab.engines.sim.engine import run_from_outcome

        description = task["description"]
        outcome = _core.simulate(json.dumps(description), **_plugins(task))
        return run_from_outcome(description, outcome, seed=task["seed"]), description
    from mptcplab.engines.catalogue import available
    from mptcplab.scenario import Scenario, describe

    if "plugins" in task:
        from mptcplab.plugins import running

        running.keep(task["plugins"])
    scenario = Scenario.from_toml(task["scenario"], "<sweep>")
    # `Scenario.description` is the simulator's, which has no installed programs.
    description = describe.description(scenario.document, task["seed"], False)
    return available(task["engine"]).runner(scenario, seed=task["seed"]), description


def _plugins(task: dict[str, Any]) -> dict[str, Any]:
    """The argument of the core for the plug-ins of a task, if it has some."""
    if "plugins" not in task:
        return {}
    from mptcplab.plugins import running

    return {"plugins": running.given(task["plugins"])}


def main() -> None:
    """Answer each line of standard input with a line on standard output, until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever prints must not come between the answers
    for line in sys.stdin.buffer:
        answers.write(execute(line.decode()) + b"\n")


def _die_with_parent() -> None:
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.argv[1:] and os.getppid() != int(sys.argv[1]):  # it was killed before we asked
        sys.exit(0)


if __name__ == "__main__":
    main()
