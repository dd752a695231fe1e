"""What `ip -json` and `nstat --json` print, as the lines that the same commands print without it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

_MAX_LINES: Final = 20_000
_MAX_ITEMS: Final = 20_000
_BEGINS: Final = ("[{", '{"', "[ {", '{ "', "[]", "[ ]")
_GOES_ON: Final = ('"', "[", "{", "]", "}", ",")
_FLAGS: Final = ("signal", "subflow", "backup", "fullmesh", "implicit", "laminar")


class Documents:
    """Gathers the lines of a document that begins with a bracket, until its brackets are closed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._first = 0
        self._depth = 0
        self.lost: list[tuple[int, str]] = []
        """Lines of documents that broke off or are not known, with their numbers."""

    def take(self, number: int, line: str) -> list[str] | None:
        """None where the line is of no document; else the lines that a whole document stands for, which may be none."""
        start = line.lstrip()
        if self._lines and not start.startswith(_GOES_ON):
            self.give_up()
        if not self._lines and not (start in ("[", "{") or start.startswith(_BEGINS)):
            return None
        self._first = self._first if self._lines else number
        self._lines.append(line)
        self._depth += sum(line.count(each) for each in "[{") - sum(line.count(each) for each in "]}")
        if self._depth > 0 and len(self._lines) < _MAX_LINES:
            return []
        try:
            document = json.loads("\n".join(self._lines))
        except (ValueError, RecursionError):
            document = None
        found = [words for each in _items(document) for words in _of(each)]
        if not found and document != []:
            self.give_up()
        self._lines, self._depth = [], 0
        return found

    def give_up(self) -> None:
        """What was gathered is no document."""
        self.lost += enumerate(self._lines, start=self._first)
        self._lines, self._depth = [], 0


def _items(document: object) -> list[Mapping[str, Any]]:
    each = document if isinstance(document, list) else [document]
    return [item for item in each[:_MAX_ITEMS] if isinstance(item, dict)]


def _of(item: Mapping[str, Any]) -> Iterator[str]:
    if "kernel" in item and isinstance(item["kernel"], dict):
        yield "#kernel"
        yield from (f"{name} {value} 0.0" for name, value in item["kernel"].items())
    elif "add_addr_accepted" in item and "subflows" in item:
        yield _joined(item, "add_addr_accepted", "subflows")
    elif "address" in item and "id" in item:
        flags = [name for name in _FLAGS if item.get(name) or name in _list(item.get("flags"))]
        yield " ".join([f"{item['address']} id {item['id']}", *flags, _joined(item, "dev", "port")])
    elif "priority" in item and "table" in item:
        length = f"/{item['srclen']}" if "srclen" in item else ""
        selected = _joined(item, "to", "fwmark", "iif", "oif", "ipproto", "sport", "dport", "uid_start")
        words = (f"{item['priority']}: from {item.get('src', 'all')}{length}", selected, f"lookup {item['table']}")
        yield " ".join(word for word in words if word)
    elif "dst" in item:
        kind = str(item.get("type", "unicast"))
        via = f"via {item['gateway']}" if "gateway" in item else ""
        source = f"src {item['prefsrc']}" if "prefsrc" in item else ""
        named = _joined(item, "dev", "table", "metric", "scope", "protocol").replace("protocol ", "proto ")
        yield " ".join(word for word in (kind, str(item["dst"]), via, named, source) if word)
    elif "ifname" in item and "flags" in item:
        said = ",".join(map(str, _list(item["flags"])))
        yield f"{item.get('ifindex', 0)}: {item['ifname']}: <{said}> mtu {item.get('mtu', 0)} state x"
        yield from _counts(item)


def _counts(item: Mapping[str, Any]) -> Iterator[str]:
    counts = item.get("stats64", item.get("stats"))
    for way in ("rx", "tx"):
        of = counts.get(way) if isinstance(counts, dict) else None
        if isinstance(of, dict):
            yield f"    {way.upper()}: bytes packets errors dropped"
            yield "    " + " ".join(str(of.get(each, 0)) for each in ("bytes", "packets", "errors", "dropped"))


def _joined(item: Mapping[str, Any], *names: str) -> str:
    return " ".join(f"{name} {item[name]}" for name in names if name in item)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
