"""With `ip`, `ip mptcp` and `sysctl`: at once, until the next start."""

from typing import Final

from mptcplab.advice.commands.setup import CHECK, Setup, sysctl_lines, word

BEFORE: Final = "/run/before-mptcp"
"""What was there before, in files that begin so; gone after a restart, as is what was set."""


def lines(setup: Setup) -> list[str]:
    """To paste, as root."""
    return [
        "# on both hosts: the control, the buffers and the limits",
        f"sysctl {' '.join(setup.sysctls)} > {BEFORE}.sysctls",
        f"ip mptcp limits show > {BEFORE}.limits",
        *sysctl_lines(setup),
        *([f"ip mptcp limits set subflows {setup.subflows} add_addr_accepted {setup.subflows}"] * (not setup.is_tcp)),
        "# on the host with the paths: new connections open on " + setup.members[0],
        f"ip route save default > {BEFORE}.routes",
        f"ip mptcp endpoint show > {BEFORE}.endpoints",
        "ip mptcp endpoint flush",
        *routes(setup),
        *endpoints(setup),
        *([] if setup.is_tcp else ["# programs that do not ask for Multipath TCP: mptcpize run PROGRAM, at both ends"]),
        *CHECK[: 2 if setup.is_tcp else None],
        "# the way back, on the host with the paths; after a restart nothing is left of any of this",
        "ip mptcp endpoint flush",
        f"while read -r endpoint; do ip mptcp endpoint add $endpoint; done < {BEFORE}.endpoints",
        "ip route flush exact default",
        f"ip route restore < {BEFORE}.routes",
        "# the way back, on both hosts",
        f"sysctl -p {BEFORE}.sysctls",
        f"ip mptcp limits set $(cat {BEFORE}.limits)",
        *([f"mptcplab bpf unload {setup.program}"] if setup.program else []),
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
