"""The most that buffers of the kernel's sockets grow to: the third numbers of `tcp_rmem` and `tcp_wmem`."""

from collections.abc import Mapping
from typing import Any, Final

_RECEIVE_BYTES: Final = 6 << 20
"""As on the engine sim."""
_TCP_SEND_BYTES: Final = 16 << 20
"""Plain TCP has no key for it. As on the engine sim with `tso`."""
SEND_LIMIT_BYTES: Final = (1 << 31) - 1
"""The largest number that the kernel takes."""


def controls(send_bytes: int) -> dict[str, str]:
    """What a host's kernel is told of them; `send_bytes` as the function of this name has it."""
    return {
        "net/ipv4/tcp_rmem": f"4096 131072 {_RECEIVE_BYTES}",
        "net/ipv4/tcp_wmem": f"4096 16384 {send_bytes}",
    }


def scheduler(connection: Mapping[str, Any]) -> dict[str, Any]:
    """The kernel's own, with the parameters that a connection of a complete description has for it or the defaults."""
    own = dict(connection["scheduler"])
    if own["name"] == "linux":
        return own
    from mptcplab import registry  # not in guests, whose connections all have it

    entry = registry.find("schedulers", "linux")
    assert entry is not None, "it is one of the core's"
    return {"name": "linux", **{each.name: each.default for each in entry.parameters}}


def send_bytes(*connections: Mapping[str, Any]) -> int:
    """Of a host that sends the data of these connections of a complete description, in bytes."""
    return max(
        (
            _TCP_SEND_BYTES if each["protocol"] == "tcp" else round(scheduler(each)["send_buffer"] * (1 << 20))
            for each in connections
        ),
        default=_TCP_SEND_BYTES,
    )
