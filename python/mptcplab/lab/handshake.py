"""The first packets of a connection in words: who says what, with which options of Multipath TCP (RFC 8684 §3)."""

import struct
from typing import Any, Final

FLAGS: Final = ((0x02, "SYN"), (0x01, "FIN"), (0x04, "RST"), (0x08, "PSH"), (0x10, "ACK"))
_MPTCP: Final = 30
_PLAIN: Final = {2: "MSS", 3: "window scale", 4: "SACK permitted", 5: "SACK", 8: "timestamps"}
_SUBTYPES: Final = (
    "MP_CAPABLE",
    "MP_JOIN",
    "DSS",
    "ADD_ADDR",
    "REMOVE_ADDR",
    "MP_PRIO",
    "MP_FAIL",
    "MP_FASTCLOSE",
    "MP_TCPRST",
)


def packet(data: bytes) -> dict[str, Any] | None:
    """Ends, flags, length and options of an IPv4 packet with TCP; None for anything else."""
    if len(data) < 40 or data[0] >> 4 != 4 or data[9] != 6:
        return None
    tcp = data[(data[0] & 15) * 4 :]
    if len(tcp) < 20:
        return None
    total = int.from_bytes(data[2:4])
    header = (tcp[12] >> 4) * 4
    source, target, sequence, acknowledgment = struct.unpack_from("!HHII", tcp)
    flags = [word for bit, word in FLAGS if tcp[13] & bit]
    return {
        "from": f"{_address(data[12:16])}:{source}",
        "to": f"{_address(data[16:20])}:{target}",
        "flags": flags,
        "seq": sequence,
        "ack": acknowledgment if "ACK" in flags else None,
        "bytes": max(0, total - (data[0] & 15) * 4 - header),
        "options": options(tcp[20:header]),
    }


def _address(octets: bytes) -> str:
    return ".".join(map(str, octets))


def options(data: bytes) -> list[str]:
    """The options in the order in which they stand, a text each; what is cut off or malformed ends them."""
    found = []
    at = 0
    while at < len(data):
        kind = data[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(data) or data[at + 1] < 2 or at + data[at + 1] > len(data):
            break
        body = data[at + 2 : at + data[at + 1]]
        found.append(_multipath(body) if kind == _MPTCP and body else _plain(kind, body))
        at += data[at + 1]
    return found


def _plain(kind: int, body: bytes) -> str:
    name = _PLAIN.get(kind, f"option {kind}")
    if kind == 2 and len(body) == 2:
        return f"{name} {int.from_bytes(body)}"
    if kind == 3 and len(body) == 1:
        return f"{name} {body[0]}"
    return name


def _multipath(body: bytes) -> str:
    subtype = body[0] >> 4
    name = _SUBTYPES[subtype] if subtype < len(_SUBTYPES) else f"MPTCP subtype {subtype}"
    if subtype == 0:
        return f"{name} (version {body[0] & 15}{_keys(len(body))})"
    if subtype == 1:
        return f"{name} ({_join(body)})"
    if subtype == 2 and len(body) > 1:
        parts = [word for bit, word in ((0x04, "mapping"), (0x01, "data ACK"), (0x10, "DATA_FIN")) if body[1] & bit]
        return f"{name} ({', '.join(parts)})"
    if subtype in (3, 4) and len(body) > 1:
        echo = " echo" if subtype == 3 and body[0] & 1 else ""
        return f"{name}{echo} (address {body[1]})"
    return name


def _keys(length: int) -> str:
    """Of MP_CAPABLE, by its length (RFC 8684 §3.1)."""
    return {2: "", 10: ", sender's key", 18: ", both keys", 20: ", both keys, data", 22: ", both keys, data"}.get(
        length, ""
    )


def _join(body: bytes) -> str:
    """Of MP_JOIN, by its length (RFC 8684 §3.2)."""
    backup = ", backup" if len(body) < 22 and body[0] & 1 else ""
    if len(body) == 10:
        return f"address {body[1]}, token {body[2:6].hex()}, nonce{backup}"
    if len(body) == 14:
        return f"address {body[1]}, HMAC (64 bits), nonce{backup}"
    return "HMAC (160 bits)"
