"""What an agent reads and changes on its machine: interfaces, kernel parameters, routes, MPTCP endpoints, shapers.

Programs `ip` and `tc` are run with lists of words that were checked; nothing passes through a shell.
"""

import json
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_PARAMETER: Final = re.compile(r"net/[a-z0-9_]+(/[a-z0-9_]+)+")
_WITHIN_S: Final = 10
_DIRECTORY: Final = "mptcplab-agent-"
DEFAULT_QDISCS: Final = ("noqueue", "pfifo_fast", "fq_codel", "fq", "mq", "pfifo", "cake", "sfq")
"""Kinds that the kernel gives an interface by itself."""
FIRST_TABLE: Final = 7400
"""Of the routing tables that are made here; they have the interface's index on top."""
PRIORITY: Final = 7400
"""Of the rules that are made here, before those of the main table."""


class Refused(OSError):  # noqa: N818 - what a system call that refuses raises
    """The machine does not do what it is asked; the message says what and why."""


def run(*words: str) -> str:
    """What a program writes. Raises Refused with what it said when it fails."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_WITHIN_S, check=False
        )
    except FileNotFoundError:
        raise Refused(f"{words[0]} was not found; on Debian: apt-get install iproute2") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{' '.join(words)} did not end within {_WITHIN_S} s") from None
    if done.returncode:
        raise Refused(f"{' '.join(words)}: {(done.stderr or done.stdout).strip() or f'status {done.returncode}'}")
    return done.stdout


def _listed(*words: str) -> list[dict[str, Any]]:
    text = run(*words).strip()
    found = json.loads(text) if text else []
    return [each for each in (found if isinstance(found, list) else [found]) if each]


def interfaces() -> dict[str, dict[str, Any]]:
    """This machine's, without loopback: index, whether each is up, MTU, and its global addresses."""
    found = {}
    for each in _listed("ip", "-j", "address", "show"):
        if "LOOPBACK" in each.get("flags", ()):
            continue
        addresses = [info["local"] for info in each.get("addr_info", ()) if info.get("scope") == "global"]
        found[each["ifname"]] = {
            "index": each["ifindex"],
            "up": "UP" in each.get("flags", ()),
            "mtu": each.get("mtu"),
            "addresses": addresses,
        }
    return found


def counters(interface: str) -> dict[str, int]:
    """Packets that an interface dropped and failed to send, since it is there."""
    found = _listed("ip", "-j", "-s", "link", "show", "dev", interface)[0]["stats64"]
    return {
        "tx_dropped": found["tx"]["dropped"],
        "rx_dropped": found["rx"]["dropped"],
        "tx_errors": found["tx"]["errors"],
    }


def parameter(name: str) -> str:
    """The value of a kernel parameter, by its path below /proc/sys. Raises OSError when there is none."""
    if not _PARAMETER.fullmatch(name):
        raise Refused(f"{name!r} is not a network parameter")
    return Path("/proc/sys", name).read_text(encoding="ascii").strip()


def set_parameter(name: str, value: object) -> None:
    """Set it. Raises OSError when the kernel refuses."""
    before = parameter(name)
    if before.split() == str(value).split():
        return
    try:
        Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")
    except OSError as error:
        raise Refused(f"{name.replace('/', '.')} = {value}: {error.strerror}") from None


def route(server: str, interface: str) -> tuple[str | None, str]:
    """How packets leave for `server` by an interface: the gateway, if there is one, and the address that they have.

    Raises Refused when the interface has no route there.
    """
    try:
        found = _listed("ip", "-j", "route", "get", server, "oif", interface)[0]
    except (Refused, IndexError):
        raise Refused(f"{interface} has no route to {server}; is it connected?") from None
    if found.get("dev") != interface:
        raise Refused(f"{server} is reached through {found.get('dev')}, not through {interface}")
    return found.get("gateway"), found["prefsrc"]


def leaves_by(server: str, source: str) -> str | None:
    """The interface by which packets from `source` leave for `server` as things stand."""
    try:
        device = _listed("ip", "-j", "route", "get", server, "from", source)[0].get("dev")
    except (Refused, IndexError):
        return None
    return None if device is None else str(device)


def add_route(server: str, source: str, interface: str, gateway: str | None, table: int) -> None:
    """Let packets from `source` to `server` leave by an interface."""
    way = ("via", gateway) if gateway else ()
    run("ip", "route", "replace", server, *way, "dev", interface, "src", source, "table", str(table))
    run("ip", "rule", "add", "from", source, "to", server, "lookup", str(table), "priority", str(PRIORITY))


def endpoints() -> list[dict[str, Any]]:
    """The endpoints of the kernel's path manager."""
    return _listed("ip", "-j", "mptcp", "endpoint", "show")


def limits() -> tuple[int, int]:
    """Of the kernel's path manager: subflows, and addresses of the peer that are taken."""
    # Without JSON: iproute2 before 6.2 writes words here whatever it is asked for.
    words = run("ip", "mptcp", "limits", "show").split()
    found = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return found.get("subflows", 0), found.get("add_addr_accepted", 0)


def set_limits(subflows: int, accepted: int) -> None:
    """Set them."""
    run("ip", "mptcp", "limits", "set", "subflows", str(subflows), "add_addr_accepted", str(accepted))


def add_endpoint(address: str, interface: str | None, flags: Sequence[str], number: int | None = None) -> None:
    """Let connections use an address for further subflows."""
    own = ("id", str(number)) if number is not None else ()
    device = ("dev", interface) if interface else ()
    run("ip", "mptcp", "endpoint", "add", address, *device, *own, *flags)


def root_qdisc(interface: str) -> str:
    """The kind of an interface's queueing discipline. Raises Refused when somebody has configured it."""
    found = _listed("tc", "-j", "qdisc", "show", "dev", interface, "root")
    first = found[0] if found else {"kind": "noqueue", "handle": "0:"}
    if first.get("handle") not in ("0:", None) or first["kind"] not in DEFAULT_QDISCS:
        raise Refused(
            f"{interface} already has a queueing discipline ({first['kind']}), which an agent does not change"
        )
    return str(first["kind"])


def shape(interface: str, rate_bps: int, burst_bytes: int, limit_bytes: int) -> None:
    """Put a token bucket in front of what an interface sends."""
    words = ("rate", f"{rate_bps}bit", "burst", str(burst_bytes), "limit", str(limit_bytes))
    run("tc", "qdisc", "replace", "dev", interface, "root", "tbf", *words)


def put_back(entry: Mapping[str, Any]) -> None:
    """Take one change back (`undo`). What is gone already, as an interface that was pulled out, is no error."""
    match entry["kind"]:
        case "parameter":
            set_parameter(entry["name"], entry["before"])
        case "route":
            _if_there("ip", "rule", "del", "from", entry["source"], "to", entry["server"], "priority", str(PRIORITY))
            _if_there("ip", "route", "flush", "table", str(int(entry["table"])))
        case "endpoint":
            for each in endpoints():
                if each["address"] == entry["address"]:
                    run("ip", "mptcp", "endpoint", "delete", "id", str(each["id"]))
        case "endpoint before":
            if all(each["address"] != entry["address"] for each in endpoints()):
                add_endpoint(entry["address"], entry["interface"], entry["flags"], entry["number"])
        case "limits":
            set_limits(entry["subflows"], entry["accepted"])
        case "directory":
            remove(Path(entry["path"]))
        case "shaper":
            _if_there("tc", "qdisc", "del", "dev", entry["interface"], "root")
        case kind:
            raise ValueError(f"unknown kind {kind!r}")


def _if_there(*words: str) -> None:
    try:
        run(*words)
    except Refused as refused:
        said = str(refused)
        if not any(
            gone in said for gone in ("No such", "Cannot find", "does not exist", "Cannot delete", "Invalid argument")
        ):
            raise


def directory() -> Path:
    """The name of a directory for a run's files, which is not there yet."""
    return Path(tempfile.gettempdir()) / f"{_DIRECTORY}{secrets.token_hex(8)}"


def remove(place: Path) -> None:
    """Remove a directory of `directory`, and nothing else."""
    if place.parent == Path(tempfile.gettempdir()) and place.name.startswith(_DIRECTORY):
        shutil.rmtree(place, ignore_errors=True)
