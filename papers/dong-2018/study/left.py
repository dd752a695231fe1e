"""Items that the study does not compute, declared with the reason."""

from collections.abc import Callable

from mptcplab.reproduce import Context, Outcome


def left_out(reason: str) -> Callable[[Context], Outcome]:
    """An item without claims: everything that it publishes is declared."""

    def item(context: Context) -> Outcome:
        printed = context.published
        return Outcome([], not_covered=dict.fromkeys([*printed.values, *printed.statements], reason))

    return item
