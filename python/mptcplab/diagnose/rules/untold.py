"""What would have to be asked where the outputs do not tell."""

from collections.abc import Iterator

from mptcplab.diagnose.rules.finding import Case, Finding


def one_path(case: Case) -> Iterator[Finding]:
    """A connection with one subflow, if no other rule says why."""
    connection = case.connection
    if connection is None or connection.protocol != "mptcp" or any(view.fallback for view in case.views):
        return
    if len(case.paths()) != 1:
        return
    lacking = []
    if case.client is None:
        lacking.append("on the client: sh collect.sh (mptcplab diagnose --collect)")
    else:
        lacking += ["ip mptcp limits"] if not case.client.limits else []
        lacking += ["ip mptcp endpoint"] if not case.client.endpoints else []
        lacking += ["nstat -asz"] if not case.client.counters else []
        lacking += ["on the server: nstat -asz; sysctl net.mptcp"] if case.server is None else []
    yield Finding(
        "one-path",
        case.name,
        "one subflow, and these outputs do not tell why",
        [case.views[0].evidence],
        "; ".join(lacking) or "on both hosts, around a new connection: nstat -n; ip mptcp monitor; nstat",
        sure=False,
    )


def rate_unknown(case: Case) -> Iterator[Finding]:
    """A connection that carries data, if no other rule says what limits it."""
    connection = case.connection
    if connection is None or not (connection.receiver or connection.sender):
        return
    sender = connection.sender
    yield Finding(
        "rate-unknown",
        case.name,
        "these outputs do not tell what limits the rate" + ("" if sender else ": the sender decides what is sent"),
        [case.views[0].evidence],
        "ss -ntMiem, three times a second apart" + ("" if sender else ", on the sender"),
        sure=False,
    )
