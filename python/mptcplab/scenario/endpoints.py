"""What a scenario tells the kernel's path manager: `[[endpoint]]` and `[limits]`, in the words of `ip mptcp`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import Field, model_validator

from mptcplab.scenario.errors import show
from mptcplab.scenario.value_types import (
    Table,
    ValueType,
    Wrong,
    boolean,
    choice,
    faults,
    integer,
    name_list,
    table_of,
    text,
)

FLAGS: Final = ("subflow", "signal", "backup", "fullmesh", "laminar")
MANAGER: Final = "linux"
"""The path manager that is told."""
ENDPOINT_LIMIT: Final = 8
"""Endpoints of a host, and the most that a limit may be."""
LAMINAR_KERNEL: Final = "6.18"
"""The first that knows the flag `laminar`."""

_USUAL: Final = {"client": ("subflow",), "server": ("signal",)}


def _flags() -> ValueType:
    names = name_list('an array of flags, such as ["subflow", "backup"]')
    each = choice(*FLAGS)

    def validate(value: object) -> tuple[str, ...]:
        return tuple(each.validate(name) for name in names.validate(value))

    schema = {"type": "array", "items": each.schema, "minItems": 1, "uniqueItems": True}
    return ValueType(names.expected, validate, list, schema)


class Endpoint(Table):
    """An address that the path manager of the clients or the servers has in its list."""

    expected: ClassVar[str] = "an endpoint"
    host: Annotated[str, choice("client", "server")]
    path: Annotated[str, text("the name of a path or a link: the host's address on it")] | None = None
    id: Annotated[int, integer(1, 255, "an address id, a whole number")] | None = None
    flags: Annotated[tuple[str, ...], _flags()] = Field(
        default_factory=lambda data: _USUAL.get(data.get("host", ""), ())
    )
    port: Annotated[int, integer(1, 65_535, "a port, a whole number")] | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wrong: list[Wrong] = []
        if self.host == "client" and self.path is None:
            wrong.append((("path",), "nothing", "the path whose address of the client it is"))
        if {"signal", "fullmesh"} <= set(self.flags):
            wrong.append((("flags",), 'both "signal" and "fullmesh"', "one of them: the kernel refuses both together"))
        if self.port is not None and ("signal" not in self.flags or "subflow" in self.flags):
            wrong.append((("port",), str(self.port), 'none, or flags with "signal" and without "subflow"'))
        if wrong:
            raise faults("Endpoint", wrong)
        return self


def _limit(what: str) -> ValueType:
    return integer(0, ENDPOINT_LIMIT, what)


class HostLimits(Table):
    """What bounds the connections of a host; the defaults are the kernel's."""

    expected: ClassVar[str] = "the limits of a host, a table"
    subflows: Annotated[int, _limit("subflows beside the first")] = 2
    add_addr_accepted: Annotated[int, _limit("announced addresses that are joined")] = 0
    allow_join_initial_addr_port: Annotated[bool, boolean()] = True


_HOST = table_of(HostLimits, "the limits of a host, such as { subflows = 2, add_addr_accepted = 1 }")


class Limits(Table):
    """The limits of both hosts."""

    expected: ClassVar[str] = "limits, a table with the tables client and server"
    client: Annotated[HostLimits, _HOST] = HostLimits()
    server: Annotated[HostLimits, _HOST] = HostLimits()


@dataclass(frozen=True)
class Numbered:
    """An endpoint with its number."""

    id: int
    endpoint: Endpoint


def numbered(endpoints: Sequence[Endpoint], host: str) -> list[Numbered]:
    """The endpoints of a host with their numbers: those that are given, otherwise the next that is free.

    >>> from mptcplab.scenario.endpoints import Endpoint, numbered
    >>> each = [Endpoint(host="client", path=path, id=number) for path, number in (("a", 4), ("b", None), ("c", None))]
    >>> [one.id for one in numbered(each, "client")]
    [4, 5, 6]
    """
    taken: set[int] = set()
    last = 1
    found = []
    for endpoint in endpoints:
        if endpoint.host != host:
            continue
        number = endpoint.id
        if number is None:
            free = (each for each in (*range(last, 256), *range(1, last)) if each not in taken)
            number = next(free)
        taken.add(number)
        last = max(last, number)
        found.append(Numbered(number, endpoint))
    return found


def described(
    endpoints: Sequence[Endpoint], limits: Limits | None, paths: Sequence[str], kernel: str
) -> dict[str, Any]:
    """What both ends of a connection over `paths` are told, as crates/scenario/src/kernel_paths.rs reads it.

    An endpoint on a path that the connection does not use is left out. The server has an address for each of its
    endpoints, beside the one that is called, which is that of the first path.
    """
    limits = limits or Limits()
    places = {path: place for place, path in enumerate(paths)}
    server_places = [0]
    server = []
    for each in numbered(endpoints, "server"):
        place = 0 if each.endpoint.path is None else places.get(each.endpoint.path)
        if place is None:
            continue
        address = 0
        if place > 0 or each.endpoint.path is None:
            address = len(server_places)
            server_places.append(place)
        server.append(_endpoint(each, address))
    client = [
        _endpoint(each, places[each.endpoint.path])
        for each in numbered(endpoints, "client")
        if each.endpoint.path is not None and each.endpoint.path in places
    ]
    return {
        "kernel": kernel,
        "client": {**limits.client.table(), "endpoints": client},
        "server": {**limits.server.table(), "endpoints": server},
        "server_places": server_places,
    }


def _endpoint(each: Numbered, address: int) -> dict[str, Any]:
    return {"id": each.id, "address": address, "flags": list(each.endpoint.flags), "port": each.endpoint.port}


def repeated(endpoints: Sequence[Endpoint | None]) -> Mapping[int, tuple[str, str, str]]:
    """What endpoints take that another of the same host has: by index the key, what was found and what would do."""
    found: dict[int, tuple[str, str, str]] = {}
    ids: set[tuple[str, int]] = set()
    addresses: set[tuple[str, str, int | None]] = set()
    counts = {"client": 0, "server": 0}
    for index, endpoint in enumerate(endpoints):
        if endpoint is None:
            continue
        counts[endpoint.host] += 1
        if counts[endpoint.host] > ENDPOINT_LIMIT:
            what = f"the {counts[endpoint.host]}th endpoint of the {endpoint.host}"
            found[index] = ("host", what, f"at most {ENDPOINT_LIMIT}, the kernel's limit")
        if endpoint.id is not None:
            if (endpoint.host, endpoint.id) in ids:
                found[index] = (
                    "id",
                    f"{endpoint.id} again",
                    f"an id that no other endpoint of the {endpoint.host} has",
                )
            ids.add((endpoint.host, endpoint.id))
        if endpoint.path is not None:
            address = (endpoint.host, endpoint.path, endpoint.port)
            if address in addresses:
                what = f"{show(endpoint.path)} again"
                found[index] = ("path", what, "one endpoint for each address: the kernel refuses a second one")
            addresses.add(address)
    return found
