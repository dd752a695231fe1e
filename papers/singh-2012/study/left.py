"""Items that the study leaves out, each with its reason."""

from collections.abc import Callable

from mptcplab.reproduce import Context, Outcome


def left(reason: str) -> Callable[[Context], Outcome]:
    """An item of which nothing is covered."""

    def item(context: Context) -> Outcome:
        published = context.published
        return Outcome([], not_covered=dict.fromkeys((*published.values, *published.statements), reason))

    return item
