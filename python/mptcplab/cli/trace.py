"""`mptcplab trace`."""

from pathlib import Path

import click

from mptcplab.cli.common import FILE_PATH, WRONG_INPUT, Failure, print_line

_TIME = click.FloatRange(min=0.0)


@click.command()
@click.argument("place", metavar="DIR|FILE", type=FILE_PATH)
@click.option("--at", "at_s", type=_TIME, metavar="SECONDS", help="Explain the state and the last choice at this time.")
@click.option("--from", "from_s", type=_TIME, metavar="SECONDS", help="Leave out what was earlier.")
@click.option("--to", "to_s", type=_TIME, metavar="SECONDS", help="Leave out what was later.")
@click.option("--subflow", metavar="NAME", help="Show this subflow, by its path, and the choices among all.")
@click.option("--why", is_flag=True, help="Show with each choice what stood against every subflow.")
@click.option("--all", "everything", is_flag=True, help="Show every event: each segment, window and timer too.")
def trace(
    place: Path,
    at_s: float | None,
    from_s: float | None,
    to_s: float | None,
    subflow: str | None,
    why: bool,
    everything: bool,
) -> None:
    """Show why connections did what they did, from what `run --trace` wrote.

    Of choices that are alike the first is shown, and the first after each other decision. Times are seconds from the
    beginning of the run.

    \b
    Example: mptcplab trace out/why --from 10 --to 11 --why
             mptcplab trace out/why --at 10.5
    after:   mptcplab run wifi-dies --trace out/why
    """
    from mptcplab.qlog import reading, text

    if at_s is not None and (from_s is not None or to_s is not None or everything or why or subflow is not None):
        raise Failure(WRONG_INPUT, "--at explains one time; leave out --from, --to, --subflow, --why and --all")
    if from_s is not None and to_s is not None and from_s > to_s:
        raise Failure(WRONG_INPUT, f"--from {from_s:g} is after --to {to_s:g}")
    try:
        traces = [reading.read(file) for file in reading.find(place)]
    except reading.TraceFileError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    known = sorted({name for each in traces for name in each.names.values()})
    if subflow is not None and subflow not in known:
        raise Failure(WRONG_INPUT, f"--subflow {subflow}: there is no such subflow; expected one of {', '.join(known)}")
    view = text.View(from_s, to_s, subflow, why=why, everything=everything)
    shown = []
    for each in traces:
        try:
            part = text.lines(each, view) if at_s is None else text.at(each, at_s)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Failure(WRONG_INPUT, f"{each.file}: an event is not as `run --trace` writes it: {error!r}") from None
        shown += [part] if part else []
    if not shown:
        print_line("nothing was decided then")
    for number, part in enumerate(shown):
        if number > 0:
            print_line("")
        for line in part:
            print_line(line)
