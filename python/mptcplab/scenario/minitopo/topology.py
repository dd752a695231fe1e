"""Minitopo's topology files: links, paths and what netem changes on the way.

Facts are those of Minitopo's second version (core/topo.py there): a link's buffer is that of a token bucket behind
netem, of the bandwidth-delay product and the queue of the file together; a netem command replaces all that netem does
on the link; and its clock begins two seconds before the traffic.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mptcplab.scenario.errors import one_of, show
from mptcplab.scenario.minitopo.files import File

PACKET_BYTES: Final = 1500
"""What Minitopo takes for a packet where it computes a queue."""
_MEBI: Final = 1024 * 1024
"""Bits of what it takes for a Mbit/s where it computes the time that a queue takes."""
BEFORE_TRAFFIC_S: Final = 2.0
"""From when netem's clock starts to the first byte: each experiment sleeps in between."""
_KEYS: Final = ("desc", "topoType", "leftSubnet", "rightSubnet", "changeNetem", "serverPaths")
_PATH_KEY: Final = re.compile(r"path_(?:(?P<kind>[^_]+)_)?(?P<number>\d+)")
_NETEM_KEY: Final = re.compile(r"netemAt_(?:(?P<kind>[^_]+)_)?(?P<number>\d+)")
_WORD: Final = re.compile(r"(?P<name>loss|delay|limit) (?P<value>[\d.]+) ?(?P<unit>ms|%)?(?: |$)")
MULTI_CLIENT: Final = "MultiIfMultiClient"


@dataclass
class Topology:
    """What a topology file says."""

    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tables of scenario links by name."""
    paths: list[tuple[str, ...]] = field(default_factory=list)
    """The links of each pair of addresses, the client's first address with each of the server's before its second."""
    backups: list[bool] = field(default_factory=list)
    """Which of the paths are backups."""
    events: list[dict[str, Any]] = field(default_factory=list)
    multi_client: bool = False
    """Whether every link of the client is shared with another host."""


def read(file: File) -> Topology:
    """The topology; what is wrong is reported to the file."""
    found = Topology(multi_client=file.choose("topoType", "MultiIf", {"MultiIf": False, MULTI_CLIENT: True}))
    file.choose("serverPaths", "1", {"1": None})
    file.unknown(
        lambda key: key in _KEYS or bool(_PATH_KEY.fullmatch(key) or _NETEM_KEY.fullmatch(key)),
        ("path_c2r_0", "netemAt_c2r_0", *_KEYS),
    )
    backups: dict[str, bool] = {}
    far: list[str] = []
    for key in sorted(file.values):
        if match := _PATH_KEY.fullmatch(key):
            name = _name(match)
            found.links[name], backups[name] = _link(file, key, buffered=match["kind"] is not None)
            if match["kind"] == "r2s":
                far.append(name)
    near = [name for name in found.links if name not in far]
    if not near:
        file.report("", "no path", "at least one, such as path_c2r_0:10,20,5")
    found.paths = [(one, *([other] if other else [])) for one in near for other in (far or [""])]
    found.backups = [backups[path[0]] for path in found.paths]
    found.events = _events(file, found.links)
    return found


def _name(match: re.Match[str]) -> str:
    return f"{match['kind']}-{match['number']}" if match["kind"] else f"path-{match['number']}"


def _link(file: File, key: str, *, buffered: bool) -> tuple[dict[str, Any], bool]:
    parts = [part.strip() for part in file.get(key, "").split(",")]
    if not 2 <= len(parts) <= 5:
        expected = "delay in ms, queue in packets, Mbit/s, loss in %, backup (0 or 1); or delay,Mbit/s"
        file.report(key, show(",".join(parts)), expected)
        return {}, False
    delay = file.number(key, parts[0], float, 0, "a delay in ms")
    rate = file.number(key, parts[2] if len(parts) > 2 else parts[1], float, 1e-6, "a rate in Mbit/s")
    product = math.ceil(rate * 1e6 / 8 * 2 * delay / 1e3 / PACKET_BYTES)
    packets = file.number(key, parts[1], int, 1, "a queue of at least 1 packet") if len(parts) > 2 else max(1, product)
    queue = f"{_buffer_bytes(product, packets, rate)} B" if buffered else f"{packets:g} packets"
    link: dict[str, Any] = {"rate": f"{rate:g} Mbit/s", "delay": f"{delay:g} ms", "queue": queue}
    if len(parts) > 3 and (loss := file.number(key, parts[3], float, 0, "a loss in %")):
        link["loss"] = f"{loss:g} %"
    backup = len(parts) > 4 and bool(file.number(key, parts[4], int, 0, "0, or 1 for a backup"))
    return link, backup


def _buffer_bytes(product: int, packets: float, rate_mbps: float) -> int:
    """The token bucket's limit: the product, and what the link sends in the whole milliseconds of the file's queue."""
    queue_ms = max(int(packets * PACKET_BYTES * 8 * 1000 / (rate_mbps * _MEBI)), 1)
    return PACKET_BYTES * product + round(rate_mbps * 1000 * queue_ms / 8)


def _events(file: File, links: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not file.choose("changeNetem", "false", {"yes": True, "no": False, "false": False}):
        return []
    events: list[tuple[float, dict[str, Any]]] = []
    for key in sorted(file.values):
        match = _NETEM_KEY.fullmatch(key)
        if match is None:
            continue
        if _name(match) not in links:
            file.report(key, "no such path", one_of([f"netemAt_{name.replace('-', '_')}" for name in links]))
            continue
        dead = False
        for value, line in file.values[key]:
            at, _, command = value.partition(",")
            words = _words(command)
            if not re.fullmatch(r"\d+(\.\d+)?", at.strip()) or not words:
                file.report(key, show(value), "seconds,netem: 5,loss 1% or 5,delay 20ms loss 1% limit 50000", line)
                continue
            # The command says all that netem does from now on: no delay where it names none.
            change: dict[str, Any] = {"delay": f"{words.get('delay', 0.0):g} ms"}
            loss = words.get("loss", 0.0)
            if loss >= 100 or dead:
                dead = loss >= 100
                change["down"] = dead
            if not dead:
                change["loss"] = f"{loss:g} %"
            at_s = max(0.0, float(at) - BEFORE_TRAFFIC_S)
            events.append((at_s, {"at": f"{at_s:g} s", "link": _name(match), "set": change}))
    return [event for _, event in sorted(events, key=lambda each: each[0])]


def _words(command: str) -> dict[str, float]:
    """`loss`, `delay` and `limit` of a netem command, in any order; nothing if there is another word.

    A limit is not used: the packets that netem holds are those under way, of which Minitopo's 50,000 are never reached.
    """
    text, found = command.strip() + " ", {}
    while text.strip():
        match = _WORD.match(text)
        if match is None or match["name"] in found:
            return {}
        try:
            found[match["name"]] = float(match["value"])
        except ValueError:
            return {}
        text = text[match.end() :]
    return found
