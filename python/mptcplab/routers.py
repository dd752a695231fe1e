"""Routers that links end at, by name: what they do to the packets of Multipath TCP.

A link with `router = "hotel"` has the router's `middleboxes` and `mtu` where it does not give its own. A complete
scenario has the values and not the name. `mptcplab list routers` shows all of them with their sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that a router gives."""

    key: str
    value: Any
    source: str

    @property
    def written(self) -> str:
        """The value as a scenario file has it."""
        if not isinstance(self.value, tuple):
            return f'"{self.value}"'
        boxes = (
            "{ " + ", ".join(f'{key} = "{part}"' for key, part in box.items()) + " }"
            if isinstance(box, Mapping)
            else f'"{box}"'
            for box in self.value
        )
        return f"[{', '.join(boxes)}]"


@dataclass(frozen=True, slots=True)
class Router:
    """One kind of router, or several in a row."""

    name: str
    summary: str
    settings: tuple[Setting, ...]


ROUTERS: Final = (
    Router(
        "home",
        "a home router with one public address",
        (Setting("middleboxes", ("nat",), "translation that filters by address and port (RFC 5382 §5 allows it)"),),
    ),
    Router(
        "pppoe",
        "a home router on DSL with PPPoE",
        (
            Setting("middleboxes", ("nat",), "as home"),
            Setting("mtu", "1492 B", "RFC 2516 §7: 8 of 1500 bytes are PPPoE's and PPP's"),
        ),
    ),
    Router(
        "cgnat",
        "a home router behind a carrier's NAT",
        (Setting("middleboxes", ("nat", "nat"), "NAT444: the customer's NAT, then the carrier's (RFC 6888 §1)"),),
    ),
    Router(
        "nat64",
        "an IPv6-only network whose NAT64 reaches servers with IPv4",
        (
            Setting(
                "middleboxes", ("nat",), "RFC 6146: stateful translation of address and port; packets here stay IPv4"
            ),
            Setting("mtu", "1480 B", "RFC 7915 §1: the IPv6 header is 20 bytes longer"),
        ),
    ),
    Router(
        "lte",
        "a mobile network with a carrier's NAT",
        (
            Setting("middleboxes", ("nat",), "RFC 6888: carriers translate; assumed here for every network"),
            Setting(
                "mtu", "1358 B", "assumed: what GTP and IPsec leave of 1500 bytes, as 3GPP TS 23.501 Annex J is quoted"
            ),
        ),
    ),
    Router(
        "hotel",
        "a hotspot that lets nothing but the handshake pass before the login",
        (
            Setting(
                "middleboxes",
                ("nat", {"kind": "captive", "until": "60 s"}),
                "RFC 8952 describes captive portals; that SYNs are answered and 60 s to the login are assumptions",
            ),
        ),
    ),
    Router(
        "wireguard",
        "a tunnel of WireGuard",
        (Setting("mtu", "1420 B", "wg-quick(8): 80 of 1500 bytes, enough for IPv6 outside"),),
    ),
)

NAMES: Final = tuple(router.name for router in ROUTERS)


def find(name: str) -> Router | None:
    """The router of this name."""
    return next((router for router in ROUTERS if router.name == name), None)


def _plain(value: object) -> object:
    return [dict(each) if isinstance(each, Mapping) else each for each in value] if isinstance(value, tuple) else value


def expanded(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a link with the values of its router, if it names one, in place of the name.

    >>> expanded({"router": "pppoe", "rate": "16 Mbit/s", "mtu": "1480 B"})
    {'rate': '16 Mbit/s', 'mtu': '1480 B', 'middleboxes': ['nat']}
    """
    router = find(table["router"]) if isinstance(table.get("router"), str) else None
    if router is None:
        return dict(table)
    full = {key: value for key, value in table.items() if key != "router"}
    for setting in router.settings:
        full.setdefault(setting.key, _plain(setting.value))
    return full
