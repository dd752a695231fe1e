"""`mptcplab predict`: the steady state of one connection from its paths' loss rates and RTTs, or a file's time."""

import json
import math
import re
import sys
from typing import TYPE_CHECKING, Final

import click

from mptcplab.cli.common import WRONG_INPUT, Failure, complete, console, print_line
from mptcplab.models.control_names import PREDICTED

if TYPE_CHECKING:
    from mptcplab.models.predict import Prediction


@click.command()
@click.option("-p", "--loss", metavar="P,P…", required=True, help='Loss rate of each path: a fraction, or "1 %".')
@click.option("-r", "--rtt", metavar="MS,MS…", required=True, help="Round-trip time of each path: ms, or with a unit.")
@click.option("-b", "--segments-per-ack", "b", type=float, default=1.0, help="Data segments per ACK.")
@click.option("-m", "--mss", type=float, metavar="BYTES", help="Payload of a segment; rates are then given in bit/s.")
@click.option(
    "-c",
    "--congestion",
    "control",
    metavar="NAME",
    default="lia",
    shell_complete=complete(lambda: PREDICTED),
    help=f"One of {', '.join(PREDICTED)}.",
)
@click.option(
    "--set", "parameters", metavar="NAME=VALUE", multiple=True, help="Parameter of the control; may be repeated."
)
@click.option("-s", "--statistics", is_flag=True, help="Also print windows, shares and loss ratios.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON document instead.")
@click.option("--size", metavar="SIZE", help="Compute the completion time of a file of this size instead.")
@click.option("--rate", metavar="RATE,RATE…", help="With --size: capacity of each path; by default unlimited.")
@click.option("--initial-window", type=int, default=10, help="With --size: initial window in segments.")
def predict(
    loss: str,
    rtt: str,
    b: float,
    mss: float | None,
    control: str,
    parameters: tuple[str, ...],
    statistics: bool,
    as_json: bool,
    size: str | None,
    rate: str | None,
    initial_window: int,
) -> None:
    """Predict steady-state throughput from loss rates and round-trip times, in packets/s, or in bit/s with `-m`.

    With `--size`, predict the completion time of a file, from the SYN on (round model, `mptcplab.models.rounds`).

    \b
    Example: mptcplab predict -p 0.01,0.02 -r 20,20 -m 1460 -c olia -s
    Example: mptcplab predict -p "1 %,2 %" -r "20 ms,20 ms"
    Example: mptcplab predict -p 0,0 -r 20,80 --size "50 kB" --rate "100 Mbit/s,100 Mbit/s"
    """
    from mptcplab.models import predict as model  # numpy loads slowly
    from mptcplab.models.checks import ModelInputError

    losses, rtts = _numbers("-p", loss, "0.01,0.02 or 1 %,2 %"), _numbers("-r", rtt, "20,20 or 20 ms,0.1 s")
    for value in rtts:
        if not (math.isfinite(value) and value > 0):
            raise Failure(WRONG_INPUT, f"-r {rtt}: found {value:g} ms; expected a positive round-trip time")
    if size is not None:
        if control != "lia" or parameters:
            raise Failure(WRONG_INPUT, "--size models only slow start and LIA: leave out -c and --set")
        from mptcplab.cli.predict_file import predict_file, show_file

        show_file(*predict_file(size, losses, rtts, rate, initial_window, mss), as_json=as_json)
        return
    for given, option in ((rate, "--rate"), (None if initial_window == 10 else initial_window, "--initial-window")):
        if given is not None:
            raise Failure(WRONG_INPUT, f"{option} {given}: can only be used with --size")
    try:
        answer = model.predict(
            losses, [value / 1e3 for value in rtts], control, b, mss, **_parameters(control, parameters)
        )
    except ModelInputError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    if as_json:
        sys.stdout.write(json.dumps(_document(answer, b), indent=2, allow_nan=False) + "\n")
        return
    _show(answer, statistics=statistics)


_QUANTITY: Final = re.compile(r"([^\s%a-df-zA-DF-Z]+)\s*(%|us|ms|s|)")
_UNITS: Final = {"-p": {"": 1.0, "%": 0.01}, "-r": {"": 1.0, "us": 1e-3, "ms": 1.0, "s": 1e3}}
"""Of each option its units, in fractions and milliseconds."""


def _numbers(option: str, text: str, example: str) -> list[float]:
    """The numbers of a list, fractions or milliseconds; refuses what is none."""
    numbers = []
    for part in text.split(","):
        quantity = _QUANTITY.fullmatch(part.strip())
        number, unit = quantity.group(1, 2) if quantity else (part, "")
        try:
            numbers.append(float(number) * _UNITS[option][unit])
        except (ValueError, KeyError):
            found = f"{part!r}" if part.strip() else "nothing between two commas"
            found = "nothing" if not text.strip() else found
            raise Failure(
                WRONG_INPUT, f"{option} {text}: found {found}; expected numbers with commas, such as {example}"
            ) from None
    return numbers


def _parameters(control: str, given: tuple[str, ...]) -> dict[str, float | str]:
    """`k=-0.5` by name; a word stays a word, which only BALIA's decrease takes."""
    from mptcplab.models.predict import CONTROLS

    read: dict[str, float | str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise Failure(WRONG_INPUT, f"--set {item}: expected NAME=VALUE, such as k=-0.5")
        try:
            read[name] = float(value)
        except ValueError:
            read[name] = value
        # The library's functions take numbers where they are typed as numbers.
        if control in CONTROLS and name in CONTROLS[control][1] and isinstance(read[name], str) != (name == "decrease"):
            kind = "'half' or 'algorithm'" if name == "decrease" else "a number"
            raise Failure(WRONG_INPUT, f"--set {item}: expected {kind} for {name}")
    return read


def _document(answer: "Prediction", b: float) -> dict[str, object]:
    bps = answer.rates_bps
    columns = {
        "loss_rate": answer.loss_rate,
        "rtt_s": answer.rtt_s,
        "window_segments": answer.windows_segments,
        "throughput_packets_per_s": answer.rates_segments_per_s,
        "throughput_bps": bps,
        "share": answer.shares,
        "loss_share": answer.loss_shares,
        "packets_per_loss": answer.segments_per_loss_by_path,
    }
    paths = [
        {name: None if values is None else float(values[path]) for name, values in columns.items()}
        for path in range(len(answer.rtt_s))
    ]
    total_bps = answer.total_bps
    return {
        "congestion": answer.control,
        "segments_per_ack": b,
        "mss_bytes": answer.mss_bytes,
        "throughput_packets_per_s": float(answer.total_segments_per_s),
        "throughput_bps": None if total_bps is None else float(total_bps),
        "loss_rate": float(answer.mean_loss_rate),
        "packets_per_loss": float(answer.segments_per_loss),
        "paths": paths,
    }


def _show(answer: "Prediction", *, statistics: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    bps, total_bps = answer.rates_bps, answer.total_bps
    in_bits = bps is not None and total_bps is not None
    rates = bps if bps is not None else answer.rates_segments_per_s
    total = float(total_bps if total_bps is not None else answer.total_segments_per_s)
    unit, digits = ("bit/s", 0) if in_bits else ("packets/s", 1)
    n = len(answer.rtt_s)
    print_line(f"{answer.control} over {n} path{'s' if n > 1 else ''}: {total:.{digits}f} {unit}\n")
    columns = [
        ("path", "", [str(path + 1) for path in range(n)], ""),
        ("loss", "%", [f"{value * 100:g}" for value in answer.loss_rate], f"{float(answer.mean_loss_rate) * 100:.4g}"),
        ("RTT", "ms", [f"{value * 1e3:g}" for value in answer.rtt_s], ""),
        ("throughput", unit, [f"{value:.{digits}f}" for value in rates], f"{total:.{digits}f}"),
    ]
    if statistics:
        by_path = answer.segments_per_loss_by_path
        columns += [
            ("share", "%", [f"{value * 100:.2f}" for value in answer.shares], "100.00"),
            ("window", "packets", [f"{value:.2f}" for value in answer.windows_segments], ""),
            ("of losses", "%", [f"{value * 100:.2f}" for value in answer.loss_shares], "100.00"),
            ("per loss", "packets", [f"{value:.2f}" for value in by_path], f"{float(answer.segments_per_loss):.2f}"),
        ]
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_footer=n > 1)
    for position, (header, column_unit, _, footer) in enumerate(columns):
        heading = Text(f"{header}\n{column_unit}")
        drawn.add_column(heading, justify="right", no_wrap=True, footer=Text(footer if position else "all"))
    for row in zip(*(cells for _, _, cells, _ in columns), strict=True):
        drawn.add_row(*map(Text, row))
    console().print(drawn)
