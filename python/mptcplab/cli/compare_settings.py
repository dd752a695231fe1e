"""`mptcplab compare --vary`: settings of a scenario on the same seeds."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.cli.common import (
    FAILED,
    WRONG_INPUT,
    Failure,
    baselines,
    console,
    part_of_one,
    print_line,
    say,
    value_of,
)
from mptcplab.cli.progress import Progress
from mptcplab.files import with_file

if TYPE_CHECKING:
    from mptcplab.comparison.settings import Comparison
    from mptcplab.scenario import Scenario

VARY = "--vary"


def compare_settings(
    scenario: "Scenario",
    vary: tuple[str, ...],
    engines: list[str],
    *,
    repeat: int | None,
    metric: str | None,
    baseline: tuple[str, ...],
    until: str | None,
    most: int,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Run, compare and show."""
    from mptcplab.comparison import varied
    from mptcplab.comparison.metric import MetricError
    from mptcplab.errors import BusyError
    from mptcplab.scenario import ScenarioError
    from mptcplab.sweeps.carry_out import RunsFailedError
    from mptcplab.sweeps.file import Sweep
    from mptcplab.sweeps.pool import WorkerError

    if resume and out is None:
        raise Failure(WRONG_INPUT, "--resume continues a comparison in --out DIR")
    narrow = None if until is None else varied.Until(part_of_one("--until", until), most)
    keys = _varied(vary)
    problems = []
    for key, values in keys.items():
        for value in values:
            try:
                scenario.with_({key: value})
            except ScenarioError as error:
                problems += error.problems
    if problems:
        raise Failure(WRONG_INPUT, *dict.fromkeys(str(each).replace("--set:", f"{VARY}:", 1) for each in problems))
    sweep = Sweep.build(scenario, keys, engine=engines, repeat=repeat or varied.REPEAT, source=VARY)
    with Progress(f"{scenario.name}: comparing", sys.stderr) as progress:
        try:
            found = varied.compare_settings(
                sweep,
                metric=metric,
                baseline=baselines(baseline),
                until=narrow,
                jobs=jobs,
                out=out,
                resume=resume,
                progress=lambda _, part: progress.update(part),
            )
        except KeyboardInterrupt:
            kept = "nothing is kept without --out" if out is None else f"finished runs are in {out}; --resume continues"
            raise Failure(FAILED, f"interrupted: {kept}") from None
        except OSError as error:
            more = () if out is None else (f"finished runs are in {out}; --resume continues",)
            raise Failure(FAILED, with_file(error), *more) from None
        except (MetricError, BusyError) as error:
            raise Failure(WRONG_INPUT, str(error)) from None
        except (RunsFailedError, WorkerError) as error:
            raise Failure(FAILED, str(error)) from None
    show(found, as_json=as_json)
    if out is not None:
        say(f"wrote {out / 'report.html'}")


def show(found: "Comparison", *, as_json: bool) -> None:
    """The comparison on standard output."""
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    from mptcplab.render import text_tables

    terminal = console()
    count = len(found.settings)
    print_line(f"{found.title}: {count} setting{'s' if count != 1 else ''} on {found.engine}\n")
    terminal.print(text_tables.drawn(found.tables(), terminal))
    for line in found.lines():
        terminal.print(line, markup=False, highlight=False)


def _varied(given: tuple[str, ...]) -> dict[str, list[object]]:
    """Each key with its values."""
    found: dict[str, list[object]] = {}
    for text in given:
        key, equals, listed = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise Failure(
                WRONG_INPUT, f"{VARY} {text}: expected KEY=A,B…, such as connection.download.scheduler=min-rtt,blest"
            )
        if key in found:
            raise Failure(WRONG_INPUT, f"{VARY} {text}: found {key} twice; expected all of its values in one {VARY}")
        values = [value_of(part) for part in _parts(listed)]
        twice = next((value for at, value in enumerate(values) if value in values[:at]), None)
        if twice is not None:
            raise Failure(WRONG_INPUT, f"{VARY} {text}: found {twice!r} twice; expected each value once")
        if not listed.strip() or "" in values:
            raise Failure(WRONG_INPUT, f"{VARY} {text}: found an empty value; expected values with commas between them")
        found[key] = values
    return found


def _parts(text: str) -> list[str]:
    """The text between commas that are not within brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "," and not depth:
            parts.append("")
            continue
        parts[-1] += sign
    return [part.strip() for part in parts]
