"""`mptcplab design`: only the points of an experiment design."""

import csv
import io
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mptcplab import files
from mptcplab.cli.common import AT_LEAST_1, FILE_PATH, JSON, WRONG_INPUT, Failure, print_json, say

if TYPE_CHECKING:
    from mptcplab.designs import Factor
    from mptcplab.designs.plain import Floats

_KINDS = ("wsp", "lhs", "grid", "random", "adaptive")


@click.command()
@click.argument("kind", metavar="|".join(_KINDS))
@click.option("--points", type=AT_LEAST_1, metavar="N", help="Number of points; for a grid, in total.")
@click.option("--dimensions", type=AT_LEAST_1, metavar="D", help="Number of dimensions of the unit cube.")
@click.option(
    "--factor",
    "factors",
    metavar="KEY=FROM..TO",
    multiple=True,
    help='A dimension, given by its key and range, such as link.one.rate="1 Mbit/s..100 Mbit/s"; may be repeated.',
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Seed of the design.")
@click.option(
    "--candidates", type=AT_LEAST_1, help="wsp: number of candidate points; by default 10 per point, at least 1000."
)
@click.option(
    "--known", type=FILE_PATH, metavar="FILE", help="adaptive: CSV of the points so far, with a column of the response."
)
@click.option("--response", metavar="COLUMN", help="adaptive: that column; points are added where it changes.")
@click.option("--out", type=FILE_PATH, metavar="FILE", help="File to write the CSV to, instead of printing it.")
@JSON
@click.option("--plot", type=FILE_PATH, metavar="FILE", help="File for a plot of the design, .png or .svg.")
def design(
    kind: str,
    points: int | None,
    dimensions: int | None,
    factors: tuple[str, ...],
    seed: int,
    candidates: int | None,
    known: Path | None,
    response: str | None,
    out: Path | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Print the points of a design as CSV, and report how evenly they fill the space.

    \b
    Example: mptcplab design wsp --points 98 --dimensions 6 --seed 1 --out points.csv --plot points.png
    Example: mptcplab design adaptive --dimensions 2 --known found.csv --response goodput --points 10
    """
    from mptcplab.designs import DesignError, FactorError, quality  # scipy loads slowly
    from mptcplab.designs.design import choose

    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise Failure(WRONG_INPUT, f"--plot {plot}: found the ending {plot.suffix!r}; expected .png or .svg")
    try:
        ranges = [_factor(text) for text in factors or []]
    except FactorError as error:
        raise Failure(WRONG_INPUT, f"--factor: {error}") from None
    if dimensions is None and not ranges:
        raise Failure(
            WRONG_INPUT, "the number of dimensions is missing: give --dimensions D, or one --factor per dimension"
        )
    if dimensions is not None and ranges and dimensions != len(ranges):
        raise Failure(WRONG_INPUT, f"{len(ranges)} factors are given, but --dimensions is {dimensions}")
    count = dimensions or len(ranges)
    for place in (out, plot):
        if place is not None:
            files.check_target(place)
    if kind != "adaptive" and (known is not None or response is not None):
        raise Failure(WRONG_INPUT, f"--known and --response are for adaptive; {kind} does not use them")
    try:
        if kind == "adaptive":
            chosen = _further(known, response, ranges, points, count, seed, candidates)
        else:
            chosen = choose(kind, points, count, seed, candidates)
    except DesignError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    names = [each.key for each in ranges] or [f"x{number}" for number in range(1, count + 1)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["point", *names])
    for number, row in enumerate(chosen):
        at = list(map(float, row))
        cells = [each.at(x) for each, x in zip(ranges, at, strict=True)] if ranges else [repr(x) for x in at]
        writer.writerow([number, *cells])
    measured = quality(chosen)
    if as_json:
        points_of = [dict(row) for row in csv.DictReader(io.StringIO(text.getvalue()))]
        print_json(
            {
                "kind": kind,
                "seed": seed,
                "minimum_distance": _known(measured.minimal_distance),
                "cover": _known(measured.cover),
                "points": [{name: _value(row[name]) for name in names} for row in points_of],
            }
        )
    elif out is None:
        sys.stdout.write(text.getvalue())
    if out is not None:
        files.write_text(out, text.getvalue())
    say(
        f"{kind}: {len(chosen)} points in {count} dimensions, minimum distance {measured.minimal_distance:.4f}, "
        f"cover measure {measured.cover:.4f}"
    )
    if plot is not None:
        _draw(chosen, names, kind, plot)


def _further(
    known: Path | None,
    response: str | None,
    ranges: "list[Factor]",
    points: int | None,
    dimensions: int,
    seed: int,
    candidates: int | None,
) -> "Floats":
    """The points after those of a file."""
    from mptcplab.designs import DesignError, adaptive
    from mptcplab.designs.known import read

    if known is None or response is None:
        raise DesignError("adaptive goes on from points with a response: give --known FILE and --response COLUMN")
    if points is None:
        raise DesignError("the number of points is missing: give --points N")
    there, found = read(known, ranges, dimensions, response)
    return adaptive(there, found, points, seed=seed, candidates=candidates)


def _factor(text: str) -> "Factor":
    from mptcplab.designs import FactorError, factor

    key, found, ends = text.partition("=")
    low, apart, high = ends.partition("..")
    if not (found and apart and key.strip()):
        raise FactorError(repr(text), 'KEY=FROM..TO, such as link.one.delay="1 ms..25 ms"')
    return factor(key.strip(), [_value(low.strip()), _value(high.strip())])


def _known(measure: float) -> float | None:
    """A single point has no distances."""
    return None if math.isnan(measure) else measure


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _draw(chosen: "Floats", names: list[str], kind: str, file: Path) -> None:
    import json

    import vl_convert

    from mptcplab.designs.plot import draw
    from mptcplab.plots import style

    config = {**style.config("#222222"), "background": "white"}
    spec = json.dumps({**draw(chosen, names, kind).to_dict(), "config": config})
    drawing = vl_convert.vegalite_to_svg(spec)
    if file.suffix == ".svg":
        files.write_text(file, drawing)
    else:
        with files.written(file) as opened:
            opened.write(vl_convert.svg_to_png(drawing, scale=2.0))
    say(f"wrote {file}")
