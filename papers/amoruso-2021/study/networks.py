"""The scenarios A to E as links, paths and media, without a client's traffic."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .parameters import PARAMETERS

PATHS: Final[Mapping[str, tuple[str, str]]] = {
    "B": ("ethernet", "wifi"),
    "C": ("ethernet", "wifi"),
    "D": ("ethernet", "lte"),
    "E": ("wifi", "lte"),
}
"""The first opens the connection."""
WORDS: Final = {"ethernet": "Ethernet", "wifi": "Wi-Fi", "lte": "LTE"}


@dataclass(frozen=True)
class Network:
    """What stands between client and server."""

    link: dict[str, Any] = field(default_factory=dict)
    path: dict[str, list[str]] = field(default_factory=dict)
    medium: dict[str, Any] = field(default_factory=dict)


def network(scene: str, throttle_mbps: float | None = None, changed: Mapping[str, float] | None = None) -> Network:
    """A scenario; `throttle_mbps` is tc's on each interface, `changed` are parameters with other values."""
    known = {name: each.value for name, each in PARAMETERS.items()} | dict(changed or {})
    made = _lan(known) if scene == "B" else _cloud(scene, known)
    if throttle_mbps is None:
        return made
    links, paths = dict(made.link), {}
    for name, along in made.path.items():
        links[f"tc {name}"] = {
            "rate": rate(throttle_mbps),
            "delay": "0 s",
            # As many packets at least as a host's burst, or none would pass.
            "queue": {"limit": f"{known['throttle queue']:g} ms", "at_least": "10 packets"},
        }
        paths[name] = [f"tc {name}", *along]
    return Network(links, paths, made.medium)


def rate(mbps: float) -> str:
    """As a scenario has it."""
    return f"{round(mbps * 1e6)} bit/s"


def ms(number: float) -> str:
    """As a scenario has it."""
    return f"{round(number * 1000)} us"


def _link(mbps: float | tuple[float, float], delay_ms: float, queue_ms: float, **more: object) -> dict[str, Any]:
    queue = {"limit": ms(queue_ms), "at_least": "20 packets"}
    if isinstance(mbps, tuple):
        down, up = mbps
        return {"down": {"rate": rate(down)}, "up": {"rate": rate(up)}, "delay": ms(delay_ms), "queue": queue, **more}
    return {"rate": rate(mbps), "delay": ms(delay_ms), "queue": queue, **more}


def _air(known: Mapping[str, float]) -> dict[str, Any]:
    return _link(known["air"], known["wifi delay"], known["queue"])


def _lan(known: Mapping[str, float]) -> Network:
    """B, and A path by path: both paths end in the server's Wi-Fi; the client's Wi-Fi is a leg more on the same "
    "air."""
    links = {
        "cable": _link(known["ethernet"], known["ethernet delay"], known["queue"]),
        "client air": {**_air(known), "medium": "air"},
        "server air": {**_air(known), "medium": "air"},
    }
    return Network(
        links,
        {"ethernet": ["cable", "server air"], "wifi": ["client air", "server air"]},
        {"air": {"overhead": "0 us"}},
    )


def _cloud(scene: str, known: Mapping[str, float]) -> Network:
    """C, D, E: accesses of the home, then what the Internet gives each path."""
    queue = known["queue"]
    access = _link((known["access down"], known["access up"]), 0.5, queue)
    delay = known["cloud delay"] - 0.5
    all_links = {
        "cable": _link(known["ethernet"], known["ethernet delay"], queue),
        "client air": _air(known),
        "access": access,
        "cloud ethernet": _link((known["cloud ethernet down"], known["cloud up"]), delay, queue),
        "cloud wifi": _link((known["cloud wifi down"], known["cloud up"]), delay, queue),
        "lte": _link((known["lte down"], known["lte up"]), known["lte delay"], known["lte queue"]),
        "cloud lte": _link(1000, known["cloud delay"], queue),
    }
    along = {
        "ethernet": ["cable", "access", "cloud ethernet"],
        "wifi": ["client air", "access", "cloud wifi"],
        "lte": ["lte", "cloud lte"],
    }
    paths = {name: along[name] for name in PATHS[scene]}
    used = {link for links in paths.values() for link in links}
    return Network({name: each for name, each in all_links.items() if name in used}, paths)


_STEP_S: Final = 0.5
_MEMORY: Final = 0.7
"""Of the autocorrelated capacity, from one step to the next."""


def variation(made: Network, seed: int, seconds: float) -> list[dict[str, Any]]:
    """Changes of the rate of radio links: a first-order autoregressive process around the rate that they have."""
    events = []
    for name, link in made.link.items():
        known = "lte variation" if name == "lte" else "air variation" if "air" in name else None
        if known is None:
            continue
        draw = random.Random(f"{seed}/{name}")
        deviation = PARAMETERS[known].value / 100
        away = draw.gauss(0, 1)
        for step in range(int(seconds / _STEP_S)):
            change = {"at": f"{step * _STEP_S:g} s", "link": name}
            factor = min(max(1 + deviation * away, 0.2), 2.0)
            if "rate" in link:
                events.append({**change, "set": {"rate": _scaled(link["rate"], factor)}})
            else:
                events += [
                    {**change, "direction": way, "set": {"rate": _scaled(link[way]["rate"], factor)}}
                    for way in ("down", "up")
                ]
            away = _MEMORY * away + (1 - _MEMORY**2) ** 0.5 * draw.gauss(0, 1)
    return events


def _scaled(text: str, factor: float) -> str:
    return f"{round(float(text.split()[0]) * factor)} bit/s"
