"""`mptcplab advise`: which settings to use on a network, and why."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mptcplab.cli.common import CANNOT, FILE_PATH, WRONG_INPUT, Failure, console, print_line, say
from mptcplab.cli.progress import Progress

if TYPE_CHECKING:
    from mptcplab.advice.answer import Advice

_KINDS: Final = ("web", "bulk", "video", "calls", "mix")


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--path",
    "paths",
    metavar='"NAME: RATE, RTT…"',
    multiple=True,
    help="A path, without a FILE; give two or more. Rate to the client / from it, round-trip time as ping shows it, "
    "then if known loss (0.5 %) and queue (queue 100 ms). ± gives the uncertainty of a rate or a time.",
)
@click.option(
    "--traffic",
    metavar="|".join(_KINDS),
    help="Kind of traffic; with a FILE, it replaces the traffic of its connection.  [default: mix, or the FILE's]",
)
@click.option(
    "--for",
    "purpose",
    metavar="any|linux",
    default="any",
    help="linux: only what a stock kernel with our BPF controls supports.",
)
@click.option(
    "--metered",
    metavar="NAME",
    multiple=True,
    help="A path that costs money: used less where that does not reduce performance.",
)
@click.option(
    "--cap",
    "caps",
    metavar='"NAME: SIZE/PERIOD"',
    multiple=True,
    help="Data allowance of a path, such as lte: 20 GB/month.",
)
@click.option(
    "--measure",
    "server",
    metavar="SERVER",
    help='Measure this machine\'s paths to a server that runs "mptcplab probe --server"; each --path is then '
    '"NAME: INTERFACE". Saturates each path for some seconds, up to 64 MB in each direction.',
)
@click.option("--token", metavar="TOKEN", help="With --measure: the token that the server printed.")
@click.option("--buffer", metavar="SIZE", help="Largest receive buffer, such as 1 MB.  [default: no limit]")
@click.option("--direction", metavar="down|up", default="down", help="Direction of the data: to the client or from it.")
@click.option("--connection", metavar="NAME", help="Connection of the FILE to advise on, if it has several.")
@click.option("--seed", type=click.IntRange(min=0, max=2**32), default=1, help="Seed of all random draws.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=2, help="Number of parallel runs; does not affect the result."
)
@click.option("--budget", type=float, default=1.0, help="Multiplies the number of settings tried and of repeated runs.")
@click.option("--all", "everything", is_flag=True, help="Print every setting that was dropped, with the reason.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON document instead.")
@click.option(
    "--save", type=FILE_PATH, metavar="FILE", help="Write a scenario file with the network and the best settings."
)
@click.option("--out", type=FILE_PATH, metavar="DIR", help="Write advice.json, scenario.toml and report.html to DIR.")
def advise(
    file: Path | None,
    paths: tuple[str, ...],
    traffic: str | None,
    purpose: str,
    metered: tuple[str, ...],
    caps: tuple[str, ...],
    server: str | None,
    token: str | None,
    buffer: str | None,
    direction: str,
    connection: str | None,
    seed: int,
    jobs: int,
    budget: float,
    everything: bool,
    as_json: bool,
    save: Path | None,
    out: Path | None,
) -> None:
    """Recommend a congestion control, a scheduler and a first path for a network, or TCP on one path, with reasons.

    Every setting is simulated on the same networks with the same random numbers. Unspecified values (within ±, and
    queues between 20 and 300 ms) are drawn anew for each run. A setting of Multipath TCP is recommended only if it is
    better than TCP on the best single path with 95 % confidence; otherwise the advice is TCP on that path.

    \b
    Traffic:
      web    three pages of 1.9 MB in 53 objects, over up to six
             connections at once: mean time to load a page
      bulk   one download of 15 s, including its start: goodput
      video  a video of 30 s at 1, 2.5, 5, 8 or 16 Mbit/s, which the
             player chooses by its buffer: mean bit rate, multiplied by the
             fraction of the time during which it plays
      calls  1 kB every 20 ms, each answered by the same amount: mean time
             until the answer has arrived
      mix    web, a download and a call at once: geometric mean of the three

    \b
    Terms used in the output:
      first path   opens the connection; the others join it
      control      congestion control: how much each path carries at a time
      scheduler    chooses the path of each segment
      backup       a path that carries data only when the others fail
      goodput      data that arrives in order, per second
      below        fraction of runs in which a setting is over 3 % worse
                   than the best single path in the same run
      queues       how long packets wait in the buffer before a link

    \b
    Example: mptcplab advise --path "fibre: 90/20 Mbit/s, 8 ms"
             --path "lte: 40/10 Mbit/s, 45 ms ± 30, 0.5 %" --traffic web
    Example: mptcplab advise scenarios/wifi-lte.toml --for linux --out out/advice
    """
    from mptcplab.advice import AdviceError
    from mptcplab.advice import advise as ask  # with the core, slow to load
    from mptcplab.advice.report import check, write

    if out is not None:
        check(out)
    if server is not None:
        paths = _measured(server, token, paths, file)
    elif token is not None:
        raise Failure(WRONG_INPUT, "--token: found no --measure; expected both or neither")
    try:
        with Progress("advice", sys.stderr) as progress:
            advice = ask(
                file,
                paths=paths,
                traffic=traffic,
                purpose=purpose,
                metered=metered,
                caps=caps,
                buffer=buffer,
                direction=direction,
                connection=connection,
                seed=seed,
                jobs=jobs,
                budget=budget,
                progress=progress.update,
            )
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    if save is not None:
        save.write_text(advice.saved_scenario().to_toml(), encoding="utf-8")
        say(f"{save}: the network with the best settings")
    if out is not None:
        write(advice, out)
        say(f"{out / 'report.html'}: the report")
    if as_json:
        sys.stdout.write(advice.to_json() + "\n")
        return
    _show(advice, everything=everything)


def _measured(server: str, token: str | None, paths: tuple[str, ...], file: Path | None) -> tuple[str, ...]:
    """The paths as `--path` says them, from measurements; each is printed."""
    from mptcplab.advice import AdviceError
    from mptcplab.probe.client import ProbeError
    from mptcplab.probe.machine import measure, read_server, read_sources

    if file is not None:
        raise Failure(WRONG_INPUT, "--measure: found a scenario file too; expected only one of the two")
    try:
        found = measure(read_server(server, token), read_sources(paths, 2), say)
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    except ProbeError as error:
        raise Failure(CANNOT, str(error)) from None
    for path in found.paths:
        say(f'--path "{path.words()}"')
    for note in found.notes():
        say(note)
    if obstacles := found.obstacles():
        raise Failure(CANNOT, *obstacles)
    return tuple(path.words() for path in found.paths)


def _show(advice: "Advice", *, everything: bool) -> None:
    question = advice.question
    print_line(f"{question.traffic.kind}: {question.traffic.summary()}.")
    kept = [each.candidate for each in (*advice.recommended, advice.best_single_path)]
    print_line(f"{len(advice.dropped) + len(set(kept))} settings compared; --all says why each was dropped.\n")
    _table(advice)
    print_line(f"Use {advice.best.label}.")
    for reason in advice.best.reasons:
        console().print(f"  - {reason}", markup=False, soft_wrap=True)
    print_line("\nTo set it on Linux, as root:")
    for line in advice.best.commands:
        print_line(f"  {line}")
    if everything:
        print_line("\nDropped:")
        for candidate, reason in advice.dropped:
            print_line(f"  {candidate.label}: {reason}")


def _table(advice: "Advice") -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mptcplab.advice.report import rows

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    headers, cells = rows(advice)
    for place, header in enumerate(headers):
        table.add_column(Text(header), justify="right" if place else "left", no_wrap=place != 0)
    for row in cells:
        table.add_row(*map(Text, row))
    console().print(table)
