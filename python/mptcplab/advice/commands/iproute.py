"""With `ip`, `ip mptcp` and `sysctl`: at once, until the next start."""

from typing import Final

from mptcplab.advice.commands.setup import CHECK, Setup, sysctl_lines, word

SAVED: Final = "/run/default-routes-before-mptcp"


def lines(setup: Setup) -> list[str]:
    """To paste, as root."""
    return [
        "# on both hosts: the control, the buffers and the limits",
        *sysctl_lines(setup),
        *([f"ip mptcp limits set subflows {setup.subflows} add_addr_accepted {setup.subflows}"] * (not setup.is_tcp)),
        "# on the host with the paths: new connections open on " + setup.members[0],
        f"ip route save default > {SAVED}",
        "ip mptcp endpoint flush",
        *routes(setup),
        *endpoints(setup),
        *([] if setup.is_tcp else ["# programs that do not ask for Multipath TCP: mptcpize run PROGRAM, at both ends"]),
        *CHECK[: 2 if setup.is_tcp else None],
        "# the way back; after a restart nothing is left of any of this",
        *undo(setup),
    ]


def routes(setup: Setup) -> list[str]:
    """A default route for each path: without one of its own a subflow never leaves on its path."""
    first, *others = setup.used
    found = [f"ip route replace default via GATEWAY_OF_{word(first)} dev INTERFACE_OF_{word(first)}"]
    for other in others:
        name = word(other)
        metric = setup.metric(other)
        found.append(f"ip route replace default via GATEWAY_OF_{name} dev INTERFACE_OF_{name} metric {metric}")
        # A strict filter would drop what comes back on a path that is not the route to the server.
        found.append(f"sysctl -w net/ipv4/conf/INTERFACE_OF_{name}/rp_filter=2")
    return found


def endpoints(setup: Setup) -> list[str]:
    """One for each path but the first."""
    return [
        f"ip mptcp endpoint add ADDRESS_ON_{word(path)} dev INTERFACE_OF_{word(path)} {' '.join(setup.flags(path))}"
        for path in setup.used[1:]
    ]


def undo(setup: Setup) -> list[str]:
    """What puts back the routes that were saved, and the kernel's defaults."""
    found = [
        "ip mptcp endpoint flush",
        "ip route flush exact default",
        f"ip route restore < {SAVED}",
        "sysctl -w net.ipv4.tcp_congestion_control=cubic",
    ]
    if setup.window_bytes:
        found += [
            'sysctl -w net.ipv4.tcp_rmem="4096 131072 6291456"',
            'sysctl -w net.ipv4.tcp_wmem="4096 16384 4194304"',
        ]
    if not setup.is_tcp:
        found.append("ip mptcp limits set subflows 2 add_addr_accepted 0")
    return [*found, *([f"mptcplab bpf unload {setup.program}"] if setup.program else [])]
