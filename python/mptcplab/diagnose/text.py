"""Lines of text that anybody may have written: bounded, and without what a terminal would obey."""

import html
import re
from typing import Final, NamedTuple

MAX_BYTES: Final = 32 << 20
"""Of one file; a day of `ip mptcp monitor` has a few MB."""
MAX_LINE: Final = 8192
MAX_DOCUMENT: Final = 4 << 20
"""Of a line that is a whole JSON document."""


def names(words: str) -> frozenset[str]:
    """The words of a text, as a set to look names up in."""
    return frozenset(words.split())


# Each alternative has a fixed length or a bounded one: no input makes them search long.
_STAMP: Final = re.compile(
    r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]"
    r"|\[ {0,8}\d{1,10}\.\d{6}\] "
)
_DATED: Final = re.compile(r"(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: \d{4})? ")
_LOGGED: Final = re.compile(r"(?:[a-z]{2,9}\d?\.[a-z]{2,7} |[\w.-]{1,64} )?[\w./-]{1,64}(?:\[\d{1,8}\])?: ")
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


def lines(data: bytes) -> list[str]:
    """The lines, without colours and without the indentation of whole paragraphs; what is no text is replaced."""
    data = data[:MAX_BYTES]
    coding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = re.sub("\r{1,3}\n|\r", "\n", data.decode(coding, errors="replace"))
    found = [
        _plain(line[: MAX_DOCUMENT if line[:2] in ("[{", '{"') else MAX_LINE]).rstrip() for line in text.split("\n")
    ]
    _dedent(found)
    return found


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = re.sub(r"\x1b\[[0-9;]{0,16}[A-Za-z]", "", text)
    return html.unescape(text) if "&lt;" in text or "&gt;" in text else text


def _dedent(found: list[str]) -> None:
    """Take away what the lines of a paragraph have in common, as code in Markdown and in mails is indented."""
    begin = 0
    while begin < len(found):
        end = begin
        if found[begin][:1] in (" ", "\t") and (begin == 0 or not found[begin - 1]):
            while end < len(found) and (not found[end] or found[end][0] in " \t"):
                end += 1
            spaces = {line[: len(line) - len(line.lstrip())] for line in found[begin:end] if line}
            least = min(spaces, key=len)
            common = len(least) if all(each.startswith(least) for each in spaces) else 0
            found[begin:end] = [line[common:] for line in found[begin:end]]
        begin = max(end, begin + 1)


def bare(text: str) -> tuple[str, float | None]:
    """The line without marks of quotation and time stamps before it, and the second of the day if one stood there."""
    quoted = _QUOTED.match(text)
    if quoted:
        text = text[quoted.end() :]
    stamp = _STAMP.match(text)
    if stamp is None:
        return text, None
    return text[stamp.end() :], _second(stamp.group())


def logged(text: str) -> list[str]:
    """What stands in a line behind the date of a log, and behind host and program: other output that was logged."""
    dated = _DATED.match(text)
    stamp = dated or _STAMP.match(text)
    if stamp is None:
        return []
    rest = text[stamp.end() :]
    named = _LOGGED.match(rest)
    return [*([rest] if dated else []), *([rest[named.end() :]] if named else [])]


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
