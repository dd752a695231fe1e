"""What happened to a connection's paths, in the order of time, each with its cause."""

from collections.abc import Sequence
from dataclasses import dataclass

from mptcplab.paths.play import Opened
from mptcplab.paths.seen import Signal, Subflow


@dataclass(frozen=True)
class Happening:
    """A line of the table."""

    at_s: float
    """From the first SYN on."""
    what: str
    client: str
    server: str
    because: str


def story(opened: Opened) -> list[Happening]:
    """All that happened, the first SYN first."""
    seen = opened.seen
    if not seen.subflows:
        return []
    start_ns = seen.subflows[0].at_ns
    found = [
        Happening(
            _seconds(each.at_ns, start_ns),
            _opening(each),
            _client(opened, each.place),
            server_name(opened, each.server),
            _cause(opened, each),
        )
        for each in seen.subflows
    ]
    found += [
        Happening(
            _seconds(each.closed_ns, start_ns),
            "closes" if each.is_established else "is refused",
            _client(opened, each.place),
            server_name(opened, each.server),
            "",
        )
        for each in seen.subflows
        if each.closed_ns is not None
    ]
    found += [_signal(opened, each, start_ns) for each in seen.signals]
    # What a peer says comes before what it leads to.
    return sorted(found, key=lambda each: each.at_s)


def server_name(opened: Opened, number: int) -> str:
    """An address of the server: that which is called, or one of its endpoints'."""
    if number == 0 or opened.told is None:
        return "server"
    of = next((each for each in opened.told["server"]["endpoints"] if each["address"] == number), None)
    place = opened.told["server_places"][number] if number < len(opened.told["server_places"]) else 0
    name = f"server {opened.paths[place]}" if place else f"server address {number + 1}"
    return name if of is None else f"{name} (id {of['id']})"


def _seconds(at_ns: int, start_ns: int) -> float:
    return (at_ns - start_ns) / 1e9


def _client(opened: Opened, place: int) -> str:
    return opened.paths[place]


def _opening(each: Subflow) -> str:
    what = "joins" if each.is_join else "opens"
    if each.opener == "server":
        what = "is joined by the server"
    return f"{what}, backup" if any(each.backups) else what


def _signal(opened: Opened, each: Signal, start_ns: int) -> Happening:
    at_s = _seconds(each.at_ns, start_ns)
    if each.kind == "priority":
        what = "becomes a backup" if each.backup else "is no longer a backup"
        return Happening(at_s, what, _client(opened, each.place), "", f"MP_PRIO of the {each.host}")
    port = f", port {each.port}" if each.port else ""
    what = f"{each.host} {each.kind} id {each.id}{port}"
    option = "ADD_ADDR" if each.kind == "announces" else "REMOVE_ADDR"
    return Happening(at_s, what, "", "", f"{option}{_of(opened, each.host, each.id)}")


def _of(opened: Opened, host: str, number: int) -> str:
    if opened.told is None:
        return ""
    side = opened.told[host]
    of = [each for each in side["endpoints"] if each["id"] == number or (number == 0 and each["address"] == 0)]
    return f", endpoint {of[0]['id']}: {words(of[0]['flags'])}" if of else ""


def words(flags: Sequence[str]) -> str:
    """The flags of an endpoint."""
    return " ".join(flags)


def _cause(opened: Opened, each: Subflow) -> str:
    if not each.is_join:
        return "the connection itself"
    if opened.told is None:
        return f"path manager {opened.manager}"
    side = opened.told[each.opener]
    own = each.place if each.opener == "client" else each.server
    of = next((one for one in side["endpoints"] if one["address"] == own), None)
    by = "the host's routing" if of is None else f"{each.opener} endpoint {of['id']}: {words(of['flags'])}"
    announced = each.server > 0 and each.opener == "client"
    if not announced:
        return by
    if of is None or not {"fullmesh", "laminar", "subflow"} & set(of["flags"]):
        by = "the host's routing"
    return f"the announcement; from here by {by}"
