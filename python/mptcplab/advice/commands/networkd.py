"""With systemd-networkd, which has no endpoints: a unit adds them; it survives a restart."""

from mptcplab.advice.commands.iproute import endpoints
from mptcplab.advice.commands.networkmanager import limits
from mptcplab.advice.commands.setup import CHECK, Setup, lasting_filters, lasting_lines, lasting_undo, word


def lines(setup: Setup) -> list[str]:
    """To paste, as root."""
    paths = (*setup.used, *setup.left_out)
    return [
        "# on the host with the paths; networkctl status INTERFACE has the name of its .network file",
        *(line for path in paths for line in drop_in(setup, path)),
        "networkctl reload",
        *lasting_filters(setup),
        *hosts(setup),
        *CHECK,
        "# the way back",
        *(f"rm -f {_file(path)}" for path in paths),
        "networkctl reload",
        *lasting_undo(setup),
    ]


def hosts(setup: Setup) -> list[str]:
    """The control, the buffers and the limits of each, and the endpoints."""
    all_of_it = [*limits(setup), *endpoints_again(setup)]
    if not setup.upload:
        said = "# on both hosts: the control, the buffers and the limits; endpoints on the host with the paths only"
        return [said, *lasting_lines(setup, all_of_it)]
    return [
        "# on the host with the paths: the control, the buffers, the limits and the endpoints",
        *lasting_lines(setup.here(), all_of_it),
        "# on the other host: the control, the buffers and the limits",
        *lasting_lines(setup, limits(setup)),
    ]


def endpoints_again(setup: Setup) -> list[str]:
    """From nothing, so that the unit can be started twice."""
    return ["ip mptcp endpoint flush", *endpoints(setup)] if not setup.is_tcp else []


def drop_in(setup: Setup, path: str) -> list[str]:
    """The metric of the path's default route, from DHCP and from router advertisements.

    A file with a [Route] of its own has Metric= there.
    """
    metric = setup.metric(path)
    body = rf"[DHCPv4]\nRouteMetric={metric}\n[IPv6AcceptRA]\nRouteMetric={metric}\n"
    return [f"mkdir -p {_file(path).rpartition('/')[0]}", f"printf '{body}' > {_file(path)}"]


def _file(path: str) -> str:
    return f"/etc/systemd/network/FILE_OF_{word(path)}.network.d/50-mptcp.conf"
