"""The real machines and interfaces that a scenario's links are bound to on the engine `testbed`."""

from typing import Annotated, Any, ClassVar

from mptcplab.scenario.errors import show
from mptcplab.scenario.value_types import Table, ValueType, fault, integer, text
from mptcplab.testbed import DATA_PORT, KEY_FILE, PORT, is_interface_name

_NAME = r"^[A-Za-z0-9_.:@-]{1,15}$"


def _name() -> ValueType:
    expected = 'the name of a network interface, such as "wlan0"'

    def validate(value: object) -> str:
        if not isinstance(value, str) or not is_interface_name(value):
            raise fault(show(value), expected)
        return value

    return ValueType(expected, validate, schema={"type": "string", "pattern": _NAME})


_INTERFACE = _name()


class Interfaces(Table):
    """Where a link's packets leave: the client's interface, and the server's if that matters."""

    expected: ClassVar[str] = "interfaces of a link"
    client: Annotated[str, _INTERFACE]
    server: Annotated[str, _INTERFACE] | None = None

    def written(self) -> object:
        """The client's alone where there is nothing more to say."""
        return self.client if self.server is None else self.table()


def _interfaces() -> ValueType:
    expected = 'the client\'s interface, such as "wlan0", or { client = "wlan0", server = "eth0" }'

    def validate(value: object) -> Interfaces:
        if isinstance(value, str):
            return Interfaces.model_validate({"client": _INTERFACE.validate(value)})
        if isinstance(value, dict):
            return Interfaces.model_validate(value)
        raise fault(show(value), expected)

    def write(value: Interfaces) -> Any:  # noqa: ANN401 - a string or a table
        return value.written()

    return ValueType(expected, validate, write, {"anyOf": [_INTERFACE.schema, Interfaces]})


INTERFACES = _interfaces()


def address(value: str) -> tuple[str, int]:
    """Host and port of an agent; the port may be left out. Raises ValueError."""
    host, colon, port = value.rpartition(":")
    if value.startswith("[") and value.endswith("]"):
        host, port = value[1:-1], ""
    elif not colon or (":" in host and not host.startswith("[")):
        host, port = value, ""
    else:
        host = host.strip("[]")
    if not host or any(letter.isspace() for letter in host):
        raise ValueError(value)
    number = int(port) if port else PORT
    if not 0 < number < 1 << 16:
        raise ValueError(value)
    return host, number


def _agent() -> ValueType:
    expected = 'where an agent listens, such as "192.168.1.20" or "server.example.org:7413"'

    def validate(value: object) -> str:
        if not isinstance(value, str):
            raise fault(show(value), expected)
        try:
            address(value)
        except ValueError:
            raise fault(show(value), expected) from None
        return value

    return ValueType(expected, validate, schema={"type": "string", "minLength": 1})


class Testbed(Table):
    """The two machines of the engine testbed."""

    __test__ = False  # no test, whatever its name begins with
    expected: ClassVar[str] = "the machines of a testbed"
    client: Annotated[str, _agent()]
    server: Annotated[str, _agent()]
    address: Annotated[str, text("the address at which the client reaches the server")] | None = None
    port: Annotated[int, integer(1, 65_000, "the first port of data connections")] = DATA_PORT
    key: Annotated[str, text("a key, made by mptcplab agent --new-key")] = KEY_FILE
