"""The traffic of a scenario in iperf3's words."""

import random
from collections.abc import Mapping
from typing import Any, Final

from mptcplab.engines.linux.layout import Pair
from mptcplab.export.shell import comment

PORT: Final = 5201
_S: Final = 1e-9


def begin(pair: Pair, description: Mapping[str, Any], draws: random.Random) -> list[str]:
    """The lines that start a connection's server and client, the client at its time."""
    connection, kind = pair.connection, pair.kind
    low, high = connection["start_ns"]
    # Drawn here, as the script has no generator of its own; the engines draw from the same range.
    start_s = (low if low == high else draws.uniform(low, high)) * _S
    run = "mptcpize run " if pair.mptcp else ""
    size = _amount(connection, description, start_s)
    reverse = "-R " if connection["direction"] == "down" else ""
    control = connection["congestion"]["name"]
    streams = f"-P {connection['count']} " if connection["count"] > 1 else ""
    client = (
        f"{run}iperf3 -c {pair.server} -p {PORT} -B {pair.addresses[0][0]} {reverse}{streams}{size} -C {control} -f k"
    )
    return [
        f"# {comment(pair.name)}, from {start_s:.3f} s on",
        f'inside server{kind} {run}iperf3 -s -1 -p {PORT} >"$work/server{kind}" 2>&1 & children="$children $!"',
        f'(sleep {1 + start_s:.3f}; inside client{kind} {client}) >"$work/client{kind}" 2>&1 &',
        'clients="$clients $!" children="$children $!"',
    ]


def _amount(connection: Mapping[str, Any], description: Mapping[str, Any], start_s: float) -> str:
    """How much, in iperf3's words; what comes before the warm-up ends is left out of its means (`-O`)."""
    stop_s = (connection["stop_ns"] or description["duration_ns"]) * _S
    application = connection["application"]
    if application["kind"] == "file":
        return f"-n {application['size_bytes']}"
    omit_s = max(0, round(description["warmup_ns"] * _S - start_s))
    words = f"-O {omit_s} -t {max(1, round(stop_s - start_s - omit_s))}"
    return f"{words} -b {application['rate_bps']}" if application["kind"] == "rate" else words
