"""Where a path leaves this machine: its interface, address and gateway, said or found out."""

import ipaddress
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mptcplab.advice.commands.setup import word
from mptcplab.advice.errors import AdviceError
from mptcplab.advice.paths import known_path
from mptcplab.scenario.errors import show

EXAMPLE: Final = '"lte: wwan0" or "lte: wwan0 via 10.0.0.1"'
_SAID: Final = re.compile(r"(?P<interface>[A-Za-z0-9_.@-]{1,15})(?:\s+via\s+(?P<gateway>\S+))?")


@dataclass(frozen=True, slots=True)
class Place:
    """A path on this machine, over IPv4 or IPv6."""

    path: str
    interface: str
    address: str
    gateway: str | None
    """None for a link with one host at its end, which needs none."""

    def fill(self, text: str) -> str:
        """A printed line with the names filled in."""
        name = word(self.path)
        gateway = f"via GATEWAY_OF_{name} "
        text = text.replace(gateway, "" if self.gateway is None else f"via {self.gateway} ")
        return text.replace(f"INTERFACE_OF_{name}", self.interface).replace(f"ADDRESS_ON_{name}", self.address)


def read_interfaces(texts: Sequence[str], paths: Sequence[str], *, ipv6: bool = False) -> list[Place]:
    """`NAME: INTERFACE` or `NAME: INTERFACE via GATEWAY`, one for each path. Raises AdviceError."""
    found: dict[str, Place] = {}
    for text in texts:
        where = f"--interface {show(text)}"
        name, colon, rest = (part.strip() for part in text.partition(":"))
        match = _SAID.fullmatch(rest)
        if not colon or match is None:
            raise AdviceError(where, "no path and interface", f"a path's name and an interface, such as {EXAMPLE}")
        known_path(where, name, paths)
        if name in found:
            raise AdviceError(where, f"a second interface for {name}", "one for each path")
        found[name] = _place(where, name, match["interface"], match["gateway"], ipv6=ipv6)
    missing = [path for path in paths if path not in found]
    if missing:
        raise AdviceError("--interface", f"none for {', '.join(missing)}", f"one for each path, such as {EXAMPLE}")
    return [found[path] for path in paths]


def _place(where: str, path: str, interface: str, gateway: str | None, *, ipv6: bool) -> Place:
    family, version = ("inet6", ipaddress.IPv6Address) if ipv6 else ("inet", ipaddress.IPv4Address)
    number = 6 if ipv6 else 4
    links = _ip(number, "address", "show", "dev", interface)
    if links is None:
        raise AdviceError(where, f"no interface {show(interface)}", "one of this machine; ip link shows them")
    link = links[0]
    addresses = [each["local"] for each in link["addr_info"] if each["family"] == family and each["scope"] == "global"]
    if not addresses:
        raise AdviceError(where, f"no IPv{number} address on {interface}", "an interface with an address")
    if gateway is not None:
        try:
            version(gateway)
        except ValueError:
            raise AdviceError(where, f"the gateway {show(gateway)}", f"an IPv{number} address") from None
    else:
        routes = _ip(number, "route", "show", "default", "dev", interface) or []
        gateway = next((route["gateway"] for route in routes if "gateway" in route), None)
        if gateway is None and not routes and "POINTOPOINT" not in link["flags"]:
            expected = f'it, as in "{path}: {interface} via GATEWAY": {interface} has no default route'
            raise AdviceError(where, "no gateway", expected)
    return Place(path, interface, addresses[0], gateway)


def _ip(family: int, *words: str) -> list[dict[str, Any]] | None:
    done = subprocess.run(["ip", f"-{family}", "-j", *words], capture_output=True, text=True, check=False, timeout=30)
    if done.returncode != 0:
        return None
    return [each for each in json.loads(done.stdout or "[]") if each]
