"""How often segments leave the usual road, for what, on the workloads of the benchmark: calls that callgrind counts."""

from tools.bench import cold, measure

from .runs import say, show


def main() -> None:
    """Print the table."""
    show("For each 1,000 segments received", cold.rows(measure.build(), cold.WORKLOADS))
    spans = ", ".join(f"`{name}` {seconds:g} s" for name, seconds in cold.SECONDS.items())
    say(f"From the beginning, handshakes and slow start included: {spans}.")
