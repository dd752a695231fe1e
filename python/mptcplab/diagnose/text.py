"""Lines of text that anybody may have written: bounded, and without what a terminal would obey."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_BYTES: Final = 32 << 20
"""Of one file; a day of `ip mptcp monitor` has a few MB."""
MAX_LINE: Final = 8192


def names(words: str) -> frozenset[str]:
    """The words of a text, as a set to look names up in."""
    return frozenset(words.split())


# Each alternative has a fixed length or a bounded one: no input makes them search long.
_STAMP: Final = re.compile(
    r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]"
    r"|\[ {0,8}\d{1,10}\.\d{6}\] "
)
_QUOTED: Final = re.compile(r"(?:> ?){1,8}")
_PROMPT: Final = re.compile(
    r"(?:\[?(?P<user>[\w.-]{1,32})@(?P<host>[\w.-]{1,64})[^#$\n]{0,120})?(?P<mark>[#$])[ \t]+(?P<command>\S.{0,500})"
)
_BUSYBOX: Final = re.compile(r"[~/][\w./-]{0,100} # (?P<command>\S.{0,500})")
_SECTION: Final = re.compile(r"=== (?P<time>\d{1,12}(?:\.\d{1,3})?) (?P<command>\S.{0,500})")
_HEADER: Final = re.compile(r"=== mptcplab collect \d{1,3}, host (?P<host>\S{1,64}), kernel (?P<kernel>\S{1,64})")
_COMMANDS: Final = names(
    "sudo doas ss nstat netstat ip sysctl tc cat mptcpize journalctl logread dmesg uname date ping iperf3 curl "
    "sleep echo sh"
)


class Command(NamedTuple):
    """A command that was run, of a section or after a prompt."""

    words: str
    host: str | None
    time_s: float | None


class Begin(NamedTuple):
    """The first line of a file of the script."""

    host: str
    kernel: str


def lines(data: bytes) -> Iterator[str]:
    """The lines, without escape sequences of colours; what is not UTF-8 is replaced."""
    for text in data[:MAX_BYTES].decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n"):
        yield _uncoloured(text[:MAX_LINE]).rstrip()


def _uncoloured(text: str) -> str:
    if "\x1b" not in text:
        return text
    return re.sub(r"\x1b\[[0-9;]{0,16}[A-Za-z]", "", text)


def bare(text: str) -> tuple[str, float | None]:
    """The line without marks of quotation and time stamps before it, and the second of the day if one stood there."""
    quoted = _QUOTED.match(text)
    if quoted:
        text = text[quoted.end() :]
    stamp = _STAMP.match(text)
    if stamp is None:
        return text, None
    return text[stamp.end() :], _second(stamp.group())


def _second(stamp: str) -> float | None:
    found = re.search(r"(\d\d):(\d\d):(\d\d)([.,]\d{1,9})?", stamp)
    if found is None:
        return None
    hours, minutes, seconds, part = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float((part or ".0").replace(",", "."))


def begin(text: str) -> Begin | None:
    """The header of the script's file, if the line is one."""
    found = _HEADER.fullmatch(text)
    return None if found is None else Begin(found["host"], found["kernel"])


def command(text: str) -> Command | None:
    """The command that the line gives, if it does."""
    section = _SECTION.match(text)
    if section:
        return Command(section["command"], None, float(section["time"]))
    prompt = _PROMPT.match(text) or _BUSYBOX.match(text)
    if prompt is None:
        return None
    named = prompt.groupdict()
    words = named["command"]
    if words.split()[0].rpartition("/")[2] not in _COMMANDS:
        return None
    return Command(words, named.get("host"), None)


def shown(text: str, limit: int = 2000) -> str:
    """Text for people and terminals: what is not printable is escaped (a tab is a space), what is long is cut."""
    text = text.replace("\t", " ")
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def number(text: str) -> int | None:
    """A number without sign, of at most 20 digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None
