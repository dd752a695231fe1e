"""The captures of tcpdump's own tests, read by `mptcplab analyze` and by tshark.

TCPDUMP_TESTS is the folder `tests` of tcpdump's repository (https://github.com/the-tcpdump-group/tcpdump), or any
folder of captures. For every file the two agree on TCP packets, connections (tshark's streams, our subflows), bytes of
payload and kinds of options of Multipath TCP, or the table has the reason. The study fails where there is none.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mptcplab
from mptcplab.capture.analysis import CaptureError

from .runs import say, show

_FIELDS: Final = ("frame.protocols", "tcp.stream", "tcp.len", "tcp.options.mptcp.subtype", "tcp.options.mptcp.version")
_PREFERENCES: Final = ("ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE")
_EVENTS: Final[Mapping[str, int]] = {
    "add_addr": 3,
    "add_addr_echo": 3,
    "remove_addr": 4,
    "mp_prio": 5,
    "mp_fail": 6,
    "mp_fastclose": 7,
    "mp_tcprst": 8,
}
"""Our events by the number of their option (RFC 8684 §8)."""
_DSS: Final = 2
_BROUGHT_IN: Final = ("icmp", "icmpv6", "sflow")
"""What holds a copy of other packets' beginnings: no packets of a connection."""


@dataclass(frozen=True)
class Read:
    """What one of the two found in a file."""

    packets: int = 0
    connections: int = 0
    payload_bytes: int = 0
    options: frozenset[int] = frozenset()
    """Kinds of options of Multipath TCP, without DSS, which `payload_bytes` shows."""
    versions: frozenset[int] = frozenset()


def by_tshark(file: Path) -> tuple[Read, str]:
    """What tshark finds, and why it cannot read the file, if it cannot."""
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]
    for preference in _PREFERENCES:
        command += ["-o", preference]
    for field in _FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    rows = [line.split("|") for line in done.stdout.splitlines()]
    rows = [row for row in rows if _own_tcp(row[0].split(":"))]
    found = Read(
        packets=len(rows),
        connections=len({row[1].split(",")[-1] for row in rows if row[1]}),
        payload_bytes=sum(int(row[2].split(",")[-1]) for row in rows if row[2]),
        options=frozenset(int(kind) for row in rows for kind in row[3].split(",") if kind) - {_DSS},
        versions=frozenset(int(version) for row in rows for version in row[4].split(",") if version),
    )
    lines = [line.strip() for line in done.stderr.splitlines() if "network type" in line or "cut short" in line]
    return found, lines[-1].strip("()") if done.returncode and lines else ""


def _own_tcp(protocols: list[str]) -> bool:
    return "tcp" in protocols and not any(each in _BROUGHT_IN for each in protocols[: protocols.index("tcp")])


def by_us(file: Path) -> tuple[Read, Mapping[str, Any], str]:
    """What `analyze` finds, what it says of the file, and its error if there is no TCP in it."""
    try:
        summary = mptcplab.analyze([file], series=False).summary
    except CaptureError as error:
        return Read(), {}, str(error).removeprefix(f"{file}: ")
    connections = summary["connections"]
    subflows = [subflow for connection in connections for subflow in connection["subflows"]]
    return (
        Read(
            packets=summary["files"][0]["tcp"],
            connections=len(subflows),
            payload_bytes=sum(flow["bytes_seen"] for subflow in subflows for flow in subflow["flows"]),
            options=frozenset(kind for connection in connections for kind in _options(connection)),
            versions=frozenset(each["version"] for each in connections if each["version"] is not None),
        ),
        summary["files"][0],
        "",
    )


def _options(connection: Mapping[str, Any]) -> Iterator[int]:
    if connection["version"] is not None:
        yield 0
    if len(connection["subflows"]) > 1:
        yield 1
    yield from (_EVENTS[event["kind"]] for event in connection["events"] if event["kind"] in _EVENTS)


def reason(ours: Read, theirs: Read, file: Mapping[str, Any], error: str, of_tshark: str) -> str:
    """Why the two differ in a file; empty where they do not, `?` where it is not known."""
    if ours == theirs:
        return ""
    for sign, meaning in (
        ("link type", "link type that analyze does not read"),
        ("fragment", "an IP fragment, which analyze does not read"),
        ("truncated in", "TCP header or options cut short, which analyze counts and leaves out"),
        ("option ", "malformed option, for which analyze leaves the packet out and says so"),
    ):
        if sign in error or (sign in str(file.get("first_error"))):
            return meaning
    if of_tshark:
        return "link type that tshark does not read"
    if file.get("lengths_of_frames"):
        return "IP length 0 (BIG TCP), which this tshark does not read"
    if file.get("lengths_beyond_frames"):
        return "IP header longer than its frame: tshark leaves the payload out, analyze counts it and says so"
    if file.get("duplicates"):
        return "packets that are there twice: analyze counts them once"
    return "?"


def main() -> None:
    """Read all of them, and print where the two agree and where not."""
    folder = os.environ.get("TCPDUMP_TESTS")
    if folder is None or not Path(folder).is_dir() or shutil.which("tshark") is None:
        sys.exit("needs tshark, and TCPDUMP_TESTS with the folder `tests` of tcpdump's repository")
    files = sorted(file for file in Path(folder).iterdir() if file.suffix in (".pcap", ".pcapng"))
    rows: list[dict[str, str]] = []
    agree: list[dict[str, str]] = []
    reasons: Counter[str] = Counter()
    for file in files:
        theirs, of_tshark = by_tshark(file)
        ours, said, error = by_us(file)
        if not ours.packets and not theirs.packets:
            reasons["neither finds TCP"] += 1
            continue
        why = reason(ours, theirs, said, error, of_tshark)
        reasons[why or "agree on packets, connections, bytes of payload and options of Multipath TCP"] += 1
        pairs = {
            name: f"{getattr(ours, key)} / {getattr(theirs, key)}"
            for name, key in (("packets", "packets"), ("connections", "connections"), ("bytes", "payload_bytes"))
        }
        (rows if why else agree).append({"file": file.name, **pairs, **({"reason": why} if why else {})})
    version = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    show("Files of tcpdump's tests", [{"": what, "files": str(count)} for what, count in reasons.most_common()])
    say(f"{len(files)} files, beside tshark {version}.")
    show("Where the two differ: `analyze` / tshark", rows)
    show("Where they agree: `analyze` / tshark", agree)
    if reasons["?"]:
        sys.exit(f"{reasons['?']} files differ without a known reason")
