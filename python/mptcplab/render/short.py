"""What an interactive session prints of a result, a comparison or a prediction: ten lines at most, without frames."""

from typing import TYPE_CHECKING, Final

from mptcplab.render.text_tables import decimals, formatter

if TYPE_CHECKING:
    from mptcplab.comparison.side_by_side import EngineComparison
    from mptcplab.models.predict import Prediction
    from mptcplab.results.result import Result

_LINES: Final = 10


def of_result(result: "Result") -> str:
    """Title, then each connection with its goodput, what it completed, and its paths."""
    count = len(result.runs)
    runs = f"seed {result.provenance.seed}" if count == 1 else f"{count} runs from seed {result.provenance.seed}"
    head = f"<Result: {result.scenario.title}, {result.scenario.duration_ns / 1e9:g} s on {result.engine}, {runs}"
    named: dict[str, list[dict[str, object]]] = {}
    for row in result.rows("connections"):
        named.setdefault(row["name"], []).append(row)
    shares: dict[tuple[str, str], list[float]] = {}
    for row in result.rows("subflows"):
        if row["share"] is not None:
            shares.setdefault((row["connection"], row["path"]), []).append(row["share"])
    lines = []
    for name, rows in named.items():
        goodputs = [row["goodput_bps"] for row in rows if isinstance(row["goodput_bps"], float | int)]
        value = f"{sum(goodputs) / len(goodputs) / 1e6:.4g} Mbit/s" if goodputs else "no goodput known"
        first = rows[0]
        each = f", mean of {len(rows)}" if len(rows) > 1 else ""
        own = [(path, values) for (connection, path), values in shares.items() if connection == name]
        paths = ", ".join(f"{path} {sum(values) / len(values):.0%}" for path, values in own) if len(own) > 1 else ""
        lines.append(
            f"  {name}: {value}{each}, {first['protocol']} {first['congestion']}{f' ({paths})' if paths else ''}"
        )
    return _cut(head, lines, "  .connections .subflows .links .samples .plot .report()>")


def of_engines(comparison: "EngineComparison") -> str:
    """Each connection's goodput by engine."""
    lines = []
    for row in comparison.frames["connections"].to_dicts():
        values = (row[f"goodput_bps:{engine}"] for engine in comparison.engines)
        shown = ("not known" if value is None else f"{value / 1e6:.4g} Mbit/s" for value in values)
        pairs = zip(comparison.engines, shown, strict=True)
        lines.append(f"  {row['name']}: {', '.join(f'{engine} {value}' for engine, value in pairs)}")
    first = next(iter(comparison.results.values()))
    head = f"<EngineComparison: {first.scenario.title}, {' against '.join(comparison.engines)}"
    return _cut(head, lines, "  .frames .results>")


def of_prediction(prediction: "Prediction") -> str:
    """The total and each path; of several connections their number and range."""
    totals = prediction.total_bps
    rates, unit = (prediction.rates_segments_per_s, "packets/s") if totals is None else (prediction.rates_bps, "bit/s")
    whole = prediction.total_segments_per_s if totals is None else totals
    assert rates is not None, "rates are known where their total is"
    head = f"<Prediction for {prediction.control}: "
    if whole.ndim:
        return (
            f"{head}{len(whole)} connections of {rates.shape[-1]} paths, {whole.min():.5g} to {whole.max():.5g} {unit}>"
        )
    lines = [
        f"  path {at + 1}: {rate:.5g} {unit}, loss {100 * loss:g} %, RTT {1e3 * rtt:g} ms, window {window:.4g} packets"
        for at, (rate, loss, rtt, window) in enumerate(
            zip(rates, prediction.loss_rate, prediction.rtt_s, prediction.windows_segments, strict=True)
        )
    ]
    return _cut(f"{head}{float(whole):.5g} {unit}", lines, "  .rates_segments_per_s .shares .mean_loss_rate>")


def prediction_rows(prediction: "Prediction") -> list[tuple[str, str, list[str]]]:
    """Columns of a table: header, unit, cells."""
    totals = prediction.total_bps
    rates = prediction.rates_segments_per_s if totals is None else prediction.rates_bps
    assert rates is not None, "rates are known where their total is"
    values = [float(rate) if totals is None else float(rate) / 1e6 for rate in rates]
    show = formatter(decimals(values))
    return [
        ("path", "", [str(at + 1) for at in range(len(values))]),
        ("loss", "%", [f"{100 * value:g}" for value in prediction.loss_rate]),
        ("RTT", "ms", [f"{1e3 * value:g}" for value in prediction.rtt_s]),
        ("throughput", "packets/s" if totals is None else "Mbit/s", [show(value) for value in values]),
        ("share", "%", [f"{100 * value:.1f}" for value in prediction.shares]),
        ("window", "packets", [f"{value:.2f}" for value in prediction.windows_segments]),
    ]


def _cut(head: str, lines: list[str], tail: str) -> str:
    room = _LINES - 2
    if len(lines) > room:
        lines = [*lines[: room - 1], f"  … and {len(lines) - room + 1} more"]
    return "\n".join([head, *lines, tail])
