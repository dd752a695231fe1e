"""The settings as commands to run, or what runs them where no stock kernel does."""

from mptcplab.advice.candidates import Candidate
from mptcplab.bpf.controls import NAMES

STOCK = ("cubic", "reno")
MODULES = ("bbr", "dctcp")
"""Controls that most distributions build as modules, tcp_NAME."""


def commands(candidate: Candidate) -> tuple[str, ...]:
    """For Linux, as root, on the hosts that are named; lines with # explain."""
    control = candidate.congestion
    sender = _provided(control)
    sender.append(f"sysctl -w net.ipv4.tcp_congestion_control={control}")
    if control == "dctcp":
        sender.append("sysctl -w net.ipv4.tcp_ecn=1   # on both hosts")
    if control == "bbr" and not candidate.stock:
        sender.append("# the kernel's bbr is version 1, the advice is for version 3; --for linux advises on version 1")
    lines = ["# on the host that sends the data (the server, for downloads)", *sender]
    first, others = candidate.paths[0], candidate.paths[1:]
    if candidate.is_tcp:
        lines += [
            f"# on the client: {first} is the only path of new connections",
            "ip mptcp endpoint flush",
            f"ip route replace default via GATEWAY_OF_{_word(first)} dev INTERFACE_OF_{_word(first)}",
        ]
        return tuple(lines)
    lines += [
        "# on both hosts",
        "sysctl -w net.mptcp.enabled=1",
        "ip mptcp limits set subflows 8 add_addr_accepted 8",
        f"# on the client: connections open on {first}",
        f"ip route replace default via GATEWAY_OF_{_word(first)} dev INTERFACE_OF_{_word(first)}",
    ]
    kind = "subflow backup" if candidate.backup else "subflow"
    lines += [
        f"ip mptcp endpoint add ADDRESS_ON_{_word(other)} dev INTERFACE_OF_{_word(other)} {kind}" for other in others
    ]
    lines.append("mptcpize run PROGRAM   # for programs that do not ask for Multipath TCP themselves, at both ends")
    if not candidate.backup and candidate.scheduler != "linux":
        lines.append(
            f"# the stock kernel has no scheduler {candidate.scheduler}: with these commands it uses its own; "
            "--for linux advises on what it can do"
        )
    return tuple(lines)


def _provided(control: str) -> list[str]:
    """What makes the kernel know the control."""
    if control in MODULES:
        return [f"modprobe tcp_{control}"]
    return [f"mptcplab bpf load {control}"] if control not in STOCK and control in NAMES else []


def _word(path: str) -> str:
    return "".join(letter.upper() if letter.isalnum() else "_" for letter in path)
