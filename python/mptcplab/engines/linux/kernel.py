"""Settings and queries of the kernel: congestion controls, a host's parameters, its path manager, its counters."""

import contextlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mptcplab.engines.linux import buffers
from mptcplab.engines.linux.layout import Endpoint
from mptcplab.engines.live import Namespace
from mptcplab.engines.live.netlink import PathManager

_DEFAULT_CONTROL: Final = "net/ipv4/tcp_congestion_control"
_AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

_ALLOWED: Final = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")

SUBFLOW_LIMIT: Final = 8
"""Subflows of one connection in the kernel, the first counted (its limit is 8 beyond the first)."""

_OF_FIRST: Final = 100
"""The number of an endpoint for the first address, beyond those of all others."""
_FLAGS: Final = {"signal": 1 << 0, "subflow": 1 << 1, "backup": 1 << 2, "fullmesh": 1 << 3, "laminar": 1 << 5}


def controls() -> tuple[str, ...]:
    """The congestion controls that the kernel has now, those loaded as BPF among them."""
    try:
        return tuple(_AVAILABLE.read_text(encoding="ascii").split())
    except OSError:
        return ()


_RACK: Final = 1
_TAIL_LOSS_PROBES: Final = 3
"""Linux's own values of `tcp_recovery` and `tcp_early_retrans`."""


def recovery(loss_detection: str) -> dict[str, object]:
    """How a host's kernel finds losses: without SACK it is left with NewReno, and without RACK with RFC 6675.

    A tail loss probe is of RFC 8985 too, and Linux sends none without SACK.
    """
    rack = loss_detection == "rack-tlp"
    return {
        "net/ipv4/tcp_sack": int(loss_detection != "newreno"),
        "net/ipv4/tcp_recovery": _RACK if rack else 0,
        "net/ipv4/tcp_early_retrans": _TAIL_LOSS_PROBES if rack else 0,
    }


def parameters(*, ecn: bool, checksum: bool, send_bytes: int) -> dict[str, object]:
    """What a host's kernel is told, but for its congestion control and how it finds losses.

    `send_bytes` is the most that its send buffers grow to (`buffers.send_bytes`).
    """
    return {
        "net/ipv4/tcp_ecn": int(ecn),
        **buffers.controls(send_bytes),
        "net/ipv4/tcp_no_metrics_save": 1,
        "net/ipv4/tcp_syncookies": 0,
        "net/ipv4/tcp_max_syn_backlog": 4096,
        "net/ipv4/ip_local_port_range": "1024 65535",
        "net/core/somaxconn": 4096,
        "net/mptcp/enabled": 1,
        "net/mptcp/checksum_enabled": int(checksum),
        "net/mptcp/allow_join_initial_addr_port": 1,
    }


def configure(host: Namespace, congestion: str, *, ecn: bool, checksum: bool, send_bytes: int) -> None:
    """Set what a host's sockets start from (`parameters`), and read back what the machine's own settings leak into.

    Raises OSError when the kernel refuses a value or answers another.
    """
    host.set_controls(parameters(ecn=ecn, checksum=checksum, send_bytes=send_bytes))
    # A new namespace takes the machine's default, whatever that is. Not every control may be that of a namespace (a
    # restricted one may not); what counts is each socket's own, which is set and read back there.
    for control in (congestion, "reno"):
        with contextlib.suppress(PermissionError):
            host.set_controls({_DEFAULT_CONTROL: control})
            break
    found = host.control(_DEFAULT_CONTROL)
    if found not in (congestion, "reno"):
        raise OSError(f"set congestion control {congestion!r}, but the kernel reports {found!r}")


def configure_for_programs(host: Namespace, congestion: str, receive_buffer: int | None) -> None:
    """Set what is set on sockets of our own: a program's take what the host's start from.

    Raises OSError when the kernel refuses.
    """
    if host.control(_DEFAULT_CONTROL) != congestion:
        with _allowed(congestion):
            host.set_controls({_DEFAULT_CONTROL: congestion})
    if receive_buffer is not None:
        # A socket that is told a size has twice of it, the kernel's overhead being in it.
        size = 2 * receive_buffer
        host.set_controls({"net/ipv4/tcp_rmem": f"{min(4096, size)} {size} {size}"})


@contextlib.contextmanager
def _allowed(congestion: str) -> Iterator[None]:
    """Let namespaces have this control for their default, which else they may have the machine's and reno for only."""
    before = _ALLOWED.read_text(encoding="ascii")
    try:
        _ALLOWED.write_text(f"{before.strip()} {congestion}\n", encoding="ascii")
    except OSError as error:
        raise OSError(
            f"programs need {congestion!r} as a host's default control, which the kernel does not permit "
            f"({error.strerror}); "
            f"on the machine itself: sysctl -w net.ipv4.tcp_allowed_congestion_control='{before.strip()} {congestion}'"
        ) from None
    try:
        yield
    finally:
        _ALLOWED.write_text(before, encoding="ascii")


def set_path_manager(
    host: Namespace, endpoints: Sequence[Endpoint], *, subflows: int, accepted_addresses: int = 0
) -> None:
    """Let connections of the host have `subflows` beyond the first, and know each of `endpoints` but number 0."""
    host.run(_path_manager, endpoints, subflows, accepted_addresses)


def _path_manager(endpoints: Sequence[Endpoint], subflows: int, accepted_addresses: int) -> None:
    with PathManager() as manager:
        manager.limit(subflows=subflows, accepted_addresses=accepted_addresses)
        for each in endpoints:
            if each.number > 0:
                manager.add_endpoint(each.number, each.address, _flags(each, backup=each.backup), each.port)


def tell(host: Namespace, endpoints: Sequence[Endpoint], told: Mapping[str, Any]) -> None:
    """Set up a host's path manager as the scenario says."""
    host.set_controls({"net/mptcp/allow_join_initial_addr_port": int(told["allow_join_initial_addr_port"])})
    set_path_manager(host, endpoints, subflows=told["subflows"], accepted_addresses=told["add_addr_accepted"])


def _flags(endpoint: Endpoint, *, backup: bool) -> int:
    own = sum(_FLAGS[flag] for flag in endpoint.flags if flag != "backup")
    return own | (_FLAGS["backup"] if backup else 0)


def withdraw(host: Namespace, endpoint: Endpoint) -> None:
    """The address is gone, and the kernel's path manager is told, as a network manager tells it.

    Raises OSError when the kernel refuses.
    """

    def work() -> None:
        with PathManager() as manager:
            manager.delete_endpoint(endpoint.number, endpoint.address)

    host.run(work)


def restore(host: Namespace, endpoint: Endpoint, *, backup: bool) -> None:
    """The address is back: subflows join from it again. Raises OSError when the kernel refuses."""

    def work() -> None:
        with PathManager() as manager:
            flags = _flags(endpoint, backup=backup)
            manager.add_endpoint(endpoint.number or _OF_FIRST, endpoint.address, flags, endpoint.port)

    host.run(work)


def set_backup(host: Namespace, endpoint: Endpoint, *, backup: bool) -> None:
    """Subflows from the address become backups, or cease to be. Raises OSError when the kernel refuses."""

    def work() -> None:
        with PathManager() as manager:
            if endpoint.number == 0:
                # Flags are those of an endpoint, and for the first address there is none.
                with contextlib.suppress(FileExistsError):
                    manager.add_endpoint(_OF_FIRST, endpoint.address, _flags(endpoint, backup=False))
            manager.set_flags(endpoint.number or _OF_FIRST, endpoint.address, _flags(endpoint, backup=backup))

    host.run(work)


_RECORDED: Final = (
    "net/core/rmem_max",
    "net/core/wmem_max",
    "net/core/default_qdisc",
    "net/ipv4/tcp_adv_win_scale",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_early_retrans",
    "net/ipv4/tcp_min_tso_segs",
    "net/ipv4/tcp_recovery",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_shrink_window",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
    "net/mptcp/add_addr_timeout",
    "net/mptcp/checksum_enabled",
    "net/mptcp/close_timeout",
    "net/mptcp/scheduler",
    "net/mptcp/stale_loss_cnt",
    "net/mptcp/syn_retrans_before_tcp_fallback",
)


def about(hosts: Iterable[Namespace], told: Iterable[str] = ()) -> dict[str, Any]:
    """Release, offloads and the parameters that results depend on, and `told`, those that the scenario sets.

    What all hosts have alike stands once.
    """
    names = dict.fromkeys((*_RECORDED, *told))
    parameters = {host.name: _parameters(host, names) for host in hosts}
    first = next(iter(parameters.values()), {})
    alike = {name: value for name, value in first.items() if all(of.get(name) == value for of in parameters.values())}
    own = {host: {name: value for name, value in of.items() if name not in alike} for host, of in parameters.items()}
    return {
        "release": platform.release(),
        "version": platform.version(),
        "offloads": "TUN devices that take segments of up to 64 kB and unfinished checksums",
        "parameters": alike,
        "of_hosts": {host: of for host, of in own.items() if of},
    }


def _parameters(host: Namespace, names: Iterable[str]) -> dict[str, str]:
    """As they are; those that this kernel does not have are left out."""
    found = {}
    for name in names:
        with contextlib.suppress(OSError):
            found[name.replace("/", ".")] = host.control(name)
    return found


def counters(host: Namespace) -> dict[str, int]:
    """The host's MPTcpExt counters that are not 0."""
    return host.run(lambda: _counters(Path("/proc/thread-self/net/netstat").read_text(encoding="ascii")))


def _counters(text: str) -> dict[str, int]:
    rows = [line.split() for line in text.splitlines() if line.startswith("MPTcpExt:")]
    if len(rows) != 2:
        return {}
    return {name: int(value) for name, value in zip(rows[0][1:], rows[1][1:], strict=True) if value != "0"}


def dropped_by_interfaces(host: Namespace) -> int:
    """Packets that the host's own interfaces dropped on their way out."""
    text = host.run(lambda: Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
    rows: list[Any] = [line.partition(":")[2].split() for line in text.splitlines() if ":" in line]
    return sum(int(row[11]) for row in rows)
