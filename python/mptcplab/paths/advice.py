"""What people overlook in endpoints and limits, seen by what came of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from mptcplab.paths.play import Opened
from mptcplab.scenario.errors import show


def remarks(opened: Opened) -> list[str]:
    """What keeps the paths of a connection from being used, each with its remedy."""
    if opened.told is None:
        return list(_unused(opened))
    return [*_limits(opened), *_server(opened), *_client(opened), *_unused(opened)]


def _with(side: Mapping[str, Any], flag: str) -> list[Mapping[str, Any]]:
    return [each for each in side["endpoints"] if flag in each["flags"]]


def _ids(endpoints: list[Mapping[str, Any]]) -> str:
    return ("endpoint " if len(endpoints) == 1 else "endpoints ") + ", ".join(str(each["id"]) for each in endpoints)


def _limits(opened: Opened) -> Iterator[str]:
    assert opened.told is not None, "asked before"
    client, server = opened.told["client"], opened.told["server"]
    joined = [each for each in opened.seen.subflows if each.is_join]
    opening = [each for each in _with(client, "subflow") if each["address"] > 0]
    if client["subflows"] == 0 and opening:
        yield (
            f"the client's limit of subflows is 0: its {_ids(opening)} opens nothing; on the client: "
            f"ip mptcp limits set subflows {len(opening)}"
        )
    elif len(opening) > client["subflows"]:
        yield (
            f"the client's limit of subflows is {client['subflows']}, and it has {len(opening)} endpoints for further "
            f"subflows: not all are used at once; on the client: ip mptcp limits set subflows {len(opening)}"
        )
    refused = sum(each.opener == "client" and not each.is_established for each in joined)
    if refused and server["subflows"] < sum(each.opener == "client" for each in joined):
        yield (
            f"the server refuses {refused} of the client's subflows, its limit being {server['subflows']}; on the "
            f"server: ip mptcp limits set subflows {sum(each.opener == 'client' for each in joined)}"
        )


def _server(opened: Opened) -> Iterator[str]:
    assert opened.told is not None, "asked before"
    client, server = opened.told["client"], opened.told["server"]
    announced = [each for each in _with(server, "signal") if each["address"] > 0]
    reached = {each.server for each in opened.seen.subflows if each.opener == "client"}
    missed = [each for each in announced if each["address"] not in reached]
    if missed and client["add_addr_accepted"] == 0 and server["allow_join_initial_addr_port"]:
        yield (
            f"the client's limit add_addr_accepted is 0: the server's {_ids(missed)} is announced and never joined; "
            f"on the client: ip mptcp limits set add_addr_accepted {len(announced)}"
        )
    elif missed:
        yield f"the server's {_ids(missed)} is not joined: the client's limits leave no room"
    opening = _with(server, "subflow")
    if opening:
        yield (
            f"the server's {_ids(opening)} has the flag subflow: a client listens on no port, so what the server opens "
            "is refused; use signal there"
        )
    if not server["allow_join_initial_addr_port"] and not announced:
        yield (
            "the server forbids subflows to the address that is called (allow_join_initial_addr_port 0) and announces "
            "no other: there is one subflow"
        )


def _client(opened: Opened) -> Iterator[str]:
    assert opened.told is not None, "asked before"
    client = opened.told["client"]
    announced = _with(client, "signal")
    if announced:
        yield (
            f"the client's {_ids(announced)} has the flag signal: a client listens on no port, so a server that joins "
            "it is refused; use subflow there"
        )
    alone = [each for each in client["endpoints"] if each["flags"] in (["backup"], ["fullmesh"])]
    if alone:
        yield f"the client's {_ids(alone)} opens no subflow of its own: add the flag subflow"
    first = [each for each in _with(client, "subflow") if each["address"] == 0]
    if first and len(client["endpoints"]) == 1:
        yield (
            f"the client's only endpoint, {first[0]['id']}, is for the address that opens the connection, so that it "
            "adds nothing"
        )


def _unused(opened: Opened) -> Iterator[str]:
    used = {each.place for each in opened.seen.subflows if each.is_established}
    unused = [path for place, path in enumerate(opened.paths) if place not in used]
    if unused and used:
        which = ", ".join(show(path) for path in unused)
        yield f"no subflow uses {'the path' if len(unused) == 1 else 'the paths'} {which}"
