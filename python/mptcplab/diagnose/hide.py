"""Addresses and host names replaced, each always by the same, so that an answer can be shown to others.

IPv4 becomes 198.18.0.0/15 (RFC 2544), IPv6 2001:db8::/32 (RFC 3849), MAC 00-00-5E-00-53 (RFC 7042).
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

_MAC: Final = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
_FOUR: Final = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_SIX: Final = re.compile(r"(?<![0-9A-Za-z:_])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?![0-9A-Za-z:_])")
_KEPT: Final = frozenset(("0.0.0.0", "255.255.255.255", "127.0.0.0", "127.0.0.1", "::", "::1"))


class Hide:
    """Replaces in texts; the same addresses get the same replacements for as long as the object lives."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        """`hosts` are names to replace as well, by `host-1` and so on."""
        self._told: dict[str, str] = {}
        self._hosts = {name: f"host-{number}" for number, name in enumerate(hosts, start=1) if name}
        words = "|".join(map(re.escape, sorted(self._hosts, key=len, reverse=True)))
        self._names = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if words else None

    def text(self, text: str) -> str:
        """The text with its addresses replaced."""
        text = _MAC.sub(lambda found: self._of(found.group().lower(), "mac"), text)
        text = _SIX.sub(lambda found: self._address(found.group()), text)
        text = _FOUR.sub(lambda found: self._address(found.group()), text)
        return text if self._names is None else self._names.sub(lambda found: self._hosts[found.group()], text)

    def document(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """A JSON document with all of its texts replaced; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.document(each) for each in value]
        if isinstance(value, dict):
            return {key: self.document(each) for key, each in value.items()}
        return value

    def _address(self, text: str) -> str:
        try:
            address = ip_address(text)
        except ValueError:
            return text
        return text if str(address) in _KEPT else self._of(str(address), f"v{address.version}")

    def _of(self, key: str, kind: str) -> str:
        if key not in self._told:
            number = sum(1 for each in self._told.values() if _kind(each) == kind) + 1
            if kind == "mac":
                self._told[key] = f"00:00:5e:00:53:{number & 255:02x}"
            elif kind == "v4":
                self._told[key] = str(IPv4Address("198.18.0.0") + number)
            else:
                self._told[key] = str(IPv6Address("2001:db8::") + number)
        return self._told[key]


def _kind(replacement: str) -> str:
    return "mac" if replacement.startswith("00:00:5e") else "v4" if "." in replacement else "v6"
