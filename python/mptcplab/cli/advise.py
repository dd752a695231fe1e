"""`mptcplab advise`: which settings to use on a network, and why."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mptcplab import files
from mptcplab.cli.common import CANNOT, FILE_PATH, WRONG_INPUT, Failure, print_line, say
from mptcplab.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mptcplab.advice.answer import Advice
    from mptcplab.advice.effort import Effort
    from mptcplab.advice.places import Place

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
    metavar="linux|any",
    default="both",
    show_default="linux, and any where it is more than 3 % better",
    help="linux: only what a stock kernel with our BPF controls supports. any: every control and scheduler.",
)
@click.option(
    "--prefer",
    metavar="survive|simple|fair",
    default="best",
    show_default="within 2 %: survive, then simple",
    help="What wins among settings within 10 %: one that survives the loss of a path, the simpler, or one that "
    "leaves more to others.",
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
@click.option(
    "--buffer",
    metavar="SIZE",
    help="Receive window in bytes of data, such as 1 MB.  [default: grows as Linux's, to 6 MiB of memory]",
)
@click.option(
    "--direction",
    metavar="down|up|both",
    default="down",
    help="Direction of the data: to the client, from it, or an answer for each, which share the work.",
)
@click.option("--connection", metavar="NAME", help="Connection of the FILE to advise on, if it has several.")
@click.option("--seed", type=click.IntRange(min=0, max=2**32), default=1, help="Seed of all random draws.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=2, help="Number of parallel runs; does not affect the result."
)
@click.option("--budget", type=float, default=1.0, help="Multiplies the work: 1 is about ten seconds of CPU time.")
@click.option(
    "--commands",
    "form",
    type=click.Choice(["ip", "networkmanager", "networkd", "uci"]),
    default="ip",
    help="The program for which commands are printed.",
)
@click.option(
    "--interface",
    "interfaces",
    metavar='"NAME: INTERFACE [via GATEWAY]"',
    multiple=True,
    help="Where a path leaves this machine; with one for each path, the commands have its names.",
)
@click.option("--ipv6", is_flag=True, help="Commands with routes and addresses of IPv6.")
@click.option("--apply", "applied", is_flag=True, help="Set this machine as advised, after asking, and check it. Root.")
@click.option("--undo", is_flag=True, help="Put back what was there before --apply, also after a crash. Root.")
@click.option("--dry-run", is_flag=True, help="With --apply or --undo: print the commands and run none.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask.")
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
    prefer: str,
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
    form: str,
    interfaces: tuple[str, ...],
    ipv6: bool,
    applied: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
    everything: bool,
    as_json: bool,
    save: Path | None,
    out: Path | None,
) -> None:
    """Recommend which paths to use for a network, with which congestion control, or TCP on one path; with reasons.

    Every setting is simulated on the same networks with the same random numbers: each path as a member, as a backup
    or left out, each control and scheduler. Unspecified values (within ±, and queues between 20 and 300 ms) are drawn
    anew for each run. Multipath TCP over several paths is recommended only if it is better than TCP on the best path
    with 95 % confidence. The first answer is for the scheduler and the controls of a stock kernel and those of
    "mptcplab bpf load"; a free choice is shown if it is more than 3 % better.

    \b
    Traffic:
      web    three pages of 1.9 MB in 53 objects, over up to six
             connections at once: mean time to load a page
      bulk   one transfer of 15 s, including its start: goodput
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
    Example: mptcplab advise --path "fibre: 90/20 Mbit/s, 8 ms"
             --path "lte: 40/10 Mbit/s, 45 ms" --interface "fibre: eth0"
             --interface "lte: wwan0 via 10.64.0.1" --apply
    """
    from mptcplab.cli import applying

    if undo:
        applying.undo(dry_run=dry_run)
        return
    if (dry_run or yes) and not applied:
        raise Failure(WRONG_INPUT, f"{'--dry-run' if dry_run else '--yes'}: found no --apply; expected both or neither")
    if direction == "both" and (out is not None or save is not None):
        raise Failure(WRONG_INPUT, "--direction both: found --out or --save; expected one direction")
    from mptcplab.advice.asked import check as check_words
    from mptcplab.advice.errors import AdviceError

    try:
        check_words(
            has_file=file is not None,
            paths=paths,
            measured=server is not None,
            traffic=traffic,
            purpose=purpose,
            prefer=prefer,
            metered=metered,
            caps=caps,
            buffer=buffer,
            direction=direction,
            connection=connection,
            jobs=jobs,
            budget=budget,
        )
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    from mptcplab.advice import advise as ask  # with the core, slow to load
    from mptcplab.advice.report import check, write

    if out is not None:
        check(out)
    if save is not None:
        files.check_target(save)
    if applied and not dry_run:
        applying.need_root("--apply")
    if server is not None:
        paths = _measured(server, token, paths, file)
    elif token is not None:
        raise Failure(WRONG_INPUT, "--token: found no --measure; expected both or neither")
    places = applying.places(interfaces, paths, file, connection, needed=applied, ipv6=ipv6)
    ways = ("down", "up") if direction == "both" else (direction,)
    answers: dict[str, Advice] = {}
    try:
        with Progress("advice", sys.stderr) as progress:
            for way in ways:
                answers[way] = ask(
                    file,
                    paths=paths,
                    traffic=traffic,
                    purpose=purpose,
                    prefer=prefer,
                    metered=metered,
                    caps=caps,
                    buffer=buffer,
                    direction=way,
                    connection=connection,
                    seed=seed,
                    jobs=jobs,
                    budget=budget / len(ways),
                    progress=lambda part: progress.update((part + len(answers)) / len(ways)),
                    estimate=_estimated if not answers else None,
                )
    except AdviceError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    advice = answers[ways[0]]
    if save is not None:
        files.write_text(save, advice.saved_scenario().to_toml())
        say(f"{save}: the network with the best settings")
    if out is not None:
        write(advice, out)
        say(f"{out / 'report.html'}: the report")
    if as_json:
        sys.stdout.write(_json(answers) + "\n")
        return
    upload = answers["up"] if len(answers) > 1 else None
    _show(advice, upload, form, places, everything=everything, ipv6=ipv6)
    if applied:
        control = upload.best.candidate.congestion if upload is not None else ""
        applying.apply(advice, places, dry_run=dry_run, yes=yes, ipv6=ipv6, upload=control)


def _json(answers: "Mapping[str, Advice]") -> str:
    """One document; of two directions an object with both."""
    import json

    if len(answers) == 1:
        return next(iter(answers.values())).to_json()
    both = {way: advice.to_dict() for way, advice in answers.items()}
    return json.dumps(both, indent=2, ensure_ascii=False, allow_nan=False)


def _measured(server: str, token: str | None, paths: tuple[str, ...], file: Path | None) -> tuple[str, ...]:
    """The paths as `--path` says them, from measurements; each is printed."""
    from mptcplab.advice.errors import AdviceError
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


def _estimated(effort: "Effort") -> None:
    """Before long work on a terminal."""
    if sys.stderr.isatty():
        say(f"This takes up to {effort.cpu_s:.0f} s of CPU time, less where it is soon clear.")


def _show(
    advice: "Advice",
    upload: "Advice | None",
    form: str,
    places: "Sequence[Place]",
    *,
    everything: bool,
    ipv6: bool,
) -> None:
    from mptcplab.advice.candidates import shown
    from mptcplab.advice.commands import commands
    from mptcplab.advice.told import text, uploads

    if upload is not None:
        print_line(f"Downloads\n\n{text(advice)}\n\nUploads\n\n{text(upload)}\n\n{uploads(advice, upload)}")
    else:
        print_line(text(advice))
    control = upload.best.candidate.congestion if upload is not None and upload.best.candidate.stock else ""
    lines = commands(advice.best.candidate, advice.question.paths, ipv6=ipv6, upload=control)[form]
    if lines:
        blanks = "" if places and form == "ip" else " and with the words in capitals filled in"
        own = f" ({shown(control)} for uploads)" if control and control != advice.best.candidate.congestion else ""
        print_line(f"\nTo set {advice.best.label}{own}, run as root{blanks}:")
    for line in lines:
        for place in places:
            line = place.fill(line)
        print_line(f"  {line}")
    kept = {each.candidate for each in (*advice.recommended, advice.best_single_path)}
    print_line(f"\n{len(advice.dropped) + len(kept)} settings compared; --all says why each was dropped.")
    if everything:
        print_line("\nDropped:")
        for candidate, reason in advice.dropped:
            print_line(f"  {candidate.label}: {reason}")
