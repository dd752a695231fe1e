"""With `ip`, `ip mptcp` and `sysctl`: at once, until the next start."""

from typing import Final

from mptcplab.advice.commands.setup import CHECK, Setup, interface, sysctl_lines, upload_lines, word

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
        *upload_lines(setup),
        f"{setup.ip_route} save default > {BEFORE}.routes",
        *([f"sysctl {' '.join(setup.filters)} > {BEFORE}.filters"] if setup.filters else []),
        f"ip mptcp endpoint show > {BEFORE}.endpoints",
        "ip mptcp endpoint flush",
        *routes(setup),
        *(f"sysctl -w {key}=2" for key in setup.filters),
        *endpoints(setup),
        *([] if setup.is_tcp else ["# programs that do not ask for Multipath TCP: mptcpize run PROGRAM, at both ends"]),
        *CHECK[: 2 if setup.is_tcp else None],
        "# the way back, on the host with the paths; after a restart nothing is left of any of this",
        "ip mptcp endpoint flush",
        f"while read -r endpoint; do ip mptcp endpoint add $endpoint; done < {BEFORE}.endpoints",
        f"{setup.ip_route} flush exact default",
        f"{setup.ip_route} restore < {BEFORE}.routes",
        *([f"sysctl -p {BEFORE}.filters"] if setup.filters else []),
        "# the way back, on both hosts",
        f"sysctl -p {BEFORE}.sysctls",
        f"ip mptcp limits set $(cat {BEFORE}.limits)",
        *([f"mptcplab bpf unload {setup.program}"] if setup.program else []),
    ]


def routes(setup: Setup) -> list[str]:
    """A default route for each path: without one of its own a subflow never leaves on its path."""
    found = []
    for place, path in enumerate(setup.used):
        # IPv6 takes no metric for 1024, which is that of router advertisements.
        metric = f" metric {setup.metric(path)}" if place > 0 or setup.ipv6 else ""
        found.append(f"{setup.ip_route} replace default via GATEWAY_OF_{word(path)} dev {interface(path)}{metric}")
    return found


def endpoints(setup: Setup) -> list[str]:
    """One for each path but the first."""
    return [
        f"ip mptcp endpoint add ADDRESS_ON_{word(path)} dev {interface(path)} {' '.join(setup.flags(path))}"
        for path in setup.used[1:]
    ]
