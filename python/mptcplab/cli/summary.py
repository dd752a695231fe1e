"""`mptcplab summary`: the comparison of a finished sweep."""

from pathlib import Path

import click

from mptcplab.cli.common import FILE_PATH, METRIC, WRONG_INPUT, Failure, baselines, say


@click.command()
@click.argument("directory", metavar="DIR", type=FILE_PATH)
@click.option(
    "--by",
    "factors",
    metavar="KEY,…",
    help="Columns of the dataset to compare by; by default the variants, or the factors of a grid.",
)
@METRIC
@click.option("--baseline", metavar="KEY=VALUE", multiple=True, help="What to compare to; by default the first.")
@click.option("--save", is_flag=True, help="Also write comparison.json, comparison.parquet, report.html and plots/.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document instead.")
def summary(
    directory: Path, factors: str | None, metric: str | None, baseline: tuple[str, ...], save: bool, as_json: bool
) -> None:
    """Compare the variants of a finished sweep: means, 95 % intervals, paired differences, ranks.

    \b
    Example: mptcplab summary out/two-paths
    Example: mptcplab summary out/two-paths --metric m.completion --by connection.m.congestion
    """
    from mptcplab.cli.compare_settings import show
    from mptcplab.comparison.metric import MetricError
    from mptcplab.sweeps.facade import Dataset

    try:
        found = Dataset(directory).compare(
            None if factors is None else [name.strip() for name in factors.split(",")],
            metric=metric,
            baseline=baselines(baseline),
        )
    except MetricError as error:
        raise Failure(WRONG_INPUT, str(error)) from None
    show(found, as_json=as_json)
    if save:
        found.save(directory)
        say(f"wrote {directory / 'report.html'}")
