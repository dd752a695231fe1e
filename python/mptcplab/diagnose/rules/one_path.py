"""Whether a path is missing; and paths that the peer denies or a flag keeps back."""

from collections.abc import Iterator

from mptcplab.diagnose.facts import Endpoint, Host, Line
from mptcplab.diagnose.rules.counted import attributable
from mptcplab.diagnose.rules.finding import Case, Finding

_USED = frozenset(("subflow", "fullmesh"))


def lacking(case: Case) -> bool:
    """Whether a path is missing: the connection has one, or an endpoint of the client's is not in use."""
    if case.connection is None:
        return True
    if case.connection.protocol != "mptcp" or any(view.fallback for view in case.views):
        return False
    return len(case.paths()) < 2 or bool(unused(case))


def usable(host: Host) -> list[Endpoint]:
    """Endpoints that subflows may come from."""
    return [each for each in host.endpoints if each.flags & _USED]


def unused(case: Case) -> list[Endpoint]:
    """Endpoints of the client's from whose address no established subflow comes."""
    client = case.client
    if client is None:
        return []
    own = {str(flow.last.local.address) for view, flow in case.flows() if view.host is client and flow.established}
    return [each for each in usable(client) if each.address not in own]


def may_join(case: Case) -> Host | None:
    """The client, if a path is missing and its limit does not say why."""
    client = case.client
    if client is None or not lacking(case) or (client.limits and client.limits[-1].subflows == 0):
        return None
    return client


def c_flag(case: Case) -> Iterator[Finding]:
    """The server set the flag C, or its sysctl says that it does."""
    client = may_join(case)
    host = client or case.client
    if not lacking(case):
        return
    for event in host.events if host else ():
        if event.kind in ("CREATED", "ESTABLISHED") and ("deny_join_id0" in event.words or _denies(event.fields)):
            yield _flagged(case, [event.line], sure=True)
            return
    name = "net.mptcp.allow_join_initial_addr_port"
    server = case.server
    asked = server.sysctls.get(name) if server is not None else None
    if asked is not None and asked.value == "0":
        joins = client.counted("MPJoinSynTx")[0] if client is not None else 0
        known = client is None or attributable(client)
        if joins <= 0 or not known:
            yield _flagged(case, [asked.line], sure=known)


def _denies(fields: dict[str, str]) -> bool:
    # Linux before iproute2 6.17 prints the number: 2 is MPTCP_PM_EV_FLAG_DENY_JOIN_ID0.
    value = fields.get("flags", "").removeprefix("0x")
    return value.isdecimal() and bool(int(value[:4], 16) & 1)


def _flagged(case: Case, evidence: list[Line], *, sure: bool) -> Finding:
    return Finding(
        "c-flag",
        case.name,
        "the server denies joins to its first address, and no other was announced that the client could use",
        evidence,
        "on the server: ip mptcp endpoint add ADDRESS signal, or sysctl net.mptcp.allow_join_initial_addr_port=1",
        sure,
    )


def backup(case: Case) -> Iterator[Finding]:
    """A subflow whose flags say backup, while another carries the data."""
    seen = set()
    for view, flow in case.flows():
        if flow.backup and flow.established and view.host.name not in seen and len(case.paths()) > 1:
            if all(each.backup for each in case.paths()):
                continue
            seen.add(view.host.name)
            idle = flow.grown("bytes_acked") or flow.grown("bytes_received") or 0
            if (len(flow.looks) > 1 and idle > 10_000) or len(seen) > 1:
                continue
            whose = "this end" if "b" in flow.last.mptcp_flags else "the other end"
            yield Finding(
                "backup",
                case.name,
                f"{flow.last.local} ↔ {flow.last.remote} is a backup by {whose}",
                [flow.last.evidence, *(each.line for each in view.host.endpoints if "backup" in each.flags)],
                "ip mptcp endpoint change id N nobackup, if it is to carry data",
            )
