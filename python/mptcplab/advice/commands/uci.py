"""With UCI, on OpenMPTCProuter and OpenWrt; it survives a restart.

OpenMPTCProuter's service `mptcp` reads `multipath` of each interface and makes endpoints of it. OpenWrt has no such
service: there a script of hotplug.d does.
"""

from mptcplab.advice.commands.setup import LASTING_BEFORE, Setup, word


def lines(setup: Setup) -> list[str]:
    """To paste on the router, as root."""
    setup = setup.here()
    options = _options(setup)
    every = f"for option in {' '.join(options)}; do"
    return [
        "# UCI's names of the interfaces, such as wan1: uci show network",
        *([f"mptcplab bpf load {setup.program}"] if setup.program else []),
        f"{every} uci -q show network.$option || :; done > {LASTING_BEFORE}.uci",
        "# interfaces, and globals of OpenMPTCProuter",
        *(f"uci set network.{option}={value}" for option, value in options.items()),
        "uci commit network",
        "/etc/init.d/network reload",
        "/etc/init.d/mptcp restart   # OpenMPTCProuter; on OpenWrt these instead, with the package ip-full:",
        f"sysctl {' '.join(setup.sysctls)} > {LASTING_BEFORE}.sysctls",
        *(f"echo {key}={value!r} >> /etc/sysctl.d/90-mptcp.conf" for key, value in setup.sysctls.items()),
        *_hotplug(setup),
        "/etc/init.d/sysctl restart && ifup -a",
        "# check, while a connection is open: ip mptcp endpoint show; ss -Mni",
        "# the way back",
        f"{every} uci -q delete network.$option || :; done",
        f"sed 's/^/set /' {LASTING_BEFORE}.uci | uci batch",
        "uci commit network",
        "rm -f /etc/hotplug.d/iface/90-mptcp /etc/sysctl.d/90-mptcp.conf",
        f"[ ! -e {LASTING_BEFORE}.sysctls ] || sysctl -p {LASTING_BEFORE}.sysctls",
        "ip mptcp endpoint flush",
        "/etc/init.d/network reload",
    ]


def _options(setup: Setup) -> dict[str, str]:
    """Of the file `network`, with their values."""
    paths = (*setup.used, *setup.left_out)
    return {
        **{f"UCI_OF_{word(path)}.metric": str(setup.metric(path)) for path in paths},
        **{f"UCI_OF_{word(path)}.multipath": mode(setup, path) for path in paths},
        "globals.multipath": "disable" if setup.is_tcp else "enable",
        "globals.congestion": setup.control,
        **({} if setup.is_tcp else {"globals.mptcp_subflows": str(setup.subflows)}),
    }


def mode(setup: Setup, path: str) -> str:
    """What OpenMPTCProuter calls the use of a path."""
    if path == setup.members[0]:
        return "master"
    if path in setup.left_out:
        return "off"
    return "backup" if path in setup.backup else "on"


def _hotplug(setup: Setup) -> list[str]:
    """A script that makes an endpoint of each interface that comes up."""
    if setup.is_tcp:
        return []
    return [
        "cat > /etc/hotplug.d/iface/90-mptcp <<'END'",
        '[ "$ACTION" = ifup ] || exit 0',
        ". /lib/functions/network.sh",
        f'network_get_ipaddr{"6" if setup.ipv6 else ""} address "$INTERFACE"',
        f"ip mptcp limits set subflows {setup.subflows} add_addr_accepted {setup.subflows}",
        'case "$INTERFACE" in',
        *(
            f'UCI_OF_{word(path)}) ip mptcp endpoint add "$address" dev "$DEVICE" {" ".join(setup.flags(path))} ;;'
            for path in setup.used[1:]
        ),
        "esac",
        "END",
    ]
