"""With NetworkManager 1.40 or newer, which keeps the endpoints itself; it survives a restart."""

from mptcplab.advice.commands.setup import CHECK, Setup, lasting_filters, lasting_lines, lasting_undo, word


def lines(setup: Setup) -> list[str]:
    """To paste, as root."""
    return [
        *both_hosts(setup),
        "# on the host with the paths; nmcli connection show has the names of connections",
        *lasting_filters(setup),
        *connections(setup),
        *CHECK,
        "# the way back",
        *(
            f"nmcli connection modify CONNECTION_OF_{word(path)} connection.mptcp-flags default ipv4.route-metric -1 "
            "ipv6.route-metric -1"
            for path in (*setup.used, *setup.left_out)
        ),
        *(f"nmcli connection up CONNECTION_OF_{word(path)}" for path in (*setup.used, *setup.left_out)),
        *lasting_undo(setup),
    ]


def both_hosts(setup: Setup) -> list[str]:
    """The control, the buffers and the limits of each."""
    what = "the control, the buffers and the limits, at every start"
    if not setup.upload:
        return [f"# on both hosts: {what}", *lasting_lines(setup, limits(setup))]
    return [
        f"# on the other host: {what}",
        *lasting_lines(setup, limits(setup)),
        f"# on the host with the paths: {what}",
        *lasting_lines(setup.here(), limits(setup)),
    ]


def limits(setup: Setup) -> list[str]:
    """NetworkManager leaves them alone."""
    if setup.is_tcp:
        return []
    return [f"ip mptcp limits set subflows {setup.subflows} add_addr_accepted {setup.subflows}"]


def connections(setup: Setup) -> list[str]:
    """Each with the metric of its default route and the flags of its endpoint."""
    paths = (*setup.used, *setup.left_out)
    found = []
    for path in paths:
        flags = ",".join(setup.flags(path)) or "disabled"
        found.append(
            f"nmcli connection modify CONNECTION_OF_{word(path)} connection.mptcp-flags {flags} "
            f"ipv4.route-metric {setup.metric(path)} ipv6.route-metric {setup.metric(path)}"
        )
    return [*found, *(f"nmcli connection up CONNECTION_OF_{word(path)}" for path in paths)]
