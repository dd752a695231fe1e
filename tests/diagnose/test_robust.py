"""Whatever is pasted: no crash, nothing that steers a terminal, and the same causes however the outputs are mixed."""

import json
import random
import re
import textwrap
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mptcplab.diagnose import printing, report, text
from mptcplab.diagnose.diagnosis import Diagnosis, of_reading
from mptcplab.diagnose.facts import Reading
from mptcplab.diagnose.hide import Hide
from mptcplab.diagnose.reading import merged, read_text

DATA = Path(__file__).with_name("data")
NAMES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
CASES = 150
"""Random inputs of each property."""


def diagnosed(texts: Iterable[bytes]) -> Diagnosis:
    reading = Reading([])
    found = [
        (f"{number}.txt", host)
        for number, each in enumerate(texts)
        for host in read_text(each, f"{number}.txt", reading)
    ]
    reading.hosts = merged(found, reading)
    return of_reading(reading)


def causes(found: Diagnosis) -> list[str]:
    return sorted(each.cause for each in found.findings)


def printed(found: Diagnosis) -> str:
    """Everything that would be printed, in both forms."""
    document = report.document(found)
    hidden = Hide(host.name for host in found.reading.hosts).document(document)
    return "".join(
        json.dumps(each, allow_nan=False, ensure_ascii=False) + "\n".join(printing.lines(each))
        for each in (document, hidden)
    )


@cache
def recorded(name: str) -> tuple[bytes, bytes]:
    return (DATA / name / "client.txt").read_bytes(), (DATA / name / "server.txt").read_bytes()


def mutated(data: bytes, seed: int) -> bytes:
    """Lines cut, doubled, glued and moved; bytes changed; fields given the values that break parsers."""
    draw = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(draw.randint(1, 60)):
        place = draw.randrange(len(lines))
        line = lines[place]
        match draw.randrange(7):
            case 0:
                lines[place] = line[: draw.randint(0, len(line))]
            case 1:
                lines[place] = re.sub(
                    rb"\d+", lambda _: draw.choice([b"-1", b"9" * 40, b"0", b"nan", b"1e999", b""]), line
                )
            case 2:
                other = draw.randrange(len(lines))
                lines[place], lines[other] = lines[other], line
            case 3:
                lines[place] = line + lines[draw.randrange(len(lines))]
            case 4:
                raw = bytearray(line)
                for _ in range(min(len(raw), 5)):
                    raw[draw.randrange(len(raw))] = draw.randrange(256)
                lines[place] = bytes(raw)
            case 5:
                words = line.split()
                draw.shuffle(words)
                lines[place] = b" ".join(words)
            case 6:
                lines[place] = line.replace(b":", draw.choice([b"", b"::", b"=", b"\x1b[2J:"]))
    return b"\n".join(lines)


SLOW = settings(max_examples=CASES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@SLOW
@given(st.sampled_from(NAMES or ["none"]), st.integers(0, 1 << 32))
def test_changed_output_never_crashes_and_steers_no_terminal(name: str, seed: int) -> None:
    client, server = recorded(name)
    out = printed(diagnosed([mutated(client, seed), mutated(server, seed + 1)]))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)


TEXT = (
    "tcp mptcp ESTAB LISTEN 0 1 10.0.0.1:5 [::1]:7 * :: %eth0 cwnd: cwnd:3 rtt:1/2 skmem:(r1,rb MPTcpExtMPJoinSynTx "
    "-1 99999999999999999999999 local default via dev table 0: from all lookup [SF_CLOSED] token=1 id subflow "
    "add_addr_accepted subflows net.mptcp.enabled = === 1.5 ss # $ qdisc Sent (dropped pid ran waited \x1b[31m \x00"
)
WORDS = st.sampled_from(TEXT.split(" "))


@SLOW
@given(st.lists(st.lists(WORDS | st.text(max_size=8), max_size=12).map(" ".join), max_size=40).map("\n".join))
def test_random_text_never_crashes(pasted: str) -> None:
    out = printed(diagnosed([pasted.encode("utf-8", errors="replace")]))
    assert "\x1b" not in out


@SLOW
@given(st.binary(max_size=4000))
def test_random_bytes_never_crash(pasted: bytes) -> None:
    printed(diagnosed([pasted]))


def sections(data: bytes) -> tuple[bytes, list[bytes]]:
    first, *others = re.split(rb"(?m)^(?==== \d)", data)
    return first, others


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_outputs_does_not_matter(name: str) -> None:
    expected = causes(diagnosed(recorded(name)))
    for seed in range(3):
        shuffled = []
        for data in recorded(name):
            first, others = sections(data)
            random.Random(seed).shuffle(others)
            shuffled.append(first + b"".join(others))
        assert causes(diagnosed(shuffled)) == expected
        assert causes(diagnosed(shuffled[::-1])) == expected


def quoted(line: bytes) -> bytes:
    return b"> " + line


def stamped(line: bytes) -> bytes:
    return line if line.startswith(b"===") or not line else b"[2026-05-01T12:00:01.25] " + line


def with_returns(line: bytes) -> bytes:
    return line + b"\r"


def indented(line: bytes) -> bytes:
    return b"    " + line if line else line


def without_indentation(line: bytes) -> bytes:
    return line.strip()


def dated(line: bytes) -> bytes:
    return b"May  1 12:00:01 " + line if line else line


def journalled(line: bytes) -> bytes:
    return b"May 01 12:00:01 router collect[123]: " + line if line else line


def logged(line: bytes) -> bytes:
    return b"Fri May  1 12:00:01 2026 user.notice collect: " + line if line else line


def coloured(line: bytes) -> bytes:
    return re.sub(rb"(\d+\.\d+\.\d+\.\d+)", b"\x1b[1;35m\\1\x1b[0m", line)


def broken(line: bytes) -> bytes:
    """As mail programs break lines."""
    return b"\n".join(part.encode() for part in textwrap.wrap(line.decode(), 80))


AROUND = [
    quoted,
    stamped,
    with_returns,
    indented,
    without_indentation,
    dated,
    journalled,
    logged,
    coloured,
    broken,
]


@pytest.mark.parametrize("change", AROUND)
@pytest.mark.parametrize("name", NAMES[::5])
def test_what_stands_around_lines_does_not_matter(name: str, change: Callable[[bytes], bytes]) -> None:
    texts = [b"\n".join(map(change, data.split(b"\n"))) for data in recorded(name)]
    assert causes(diagnosed(texts)) == causes(diagnosed(recorded(name)))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.replace(b"<", b"&lt;").replace(b">", b"&gt;"),
    ],
    ids=["of PowerShell", "with a byte order mark", "of a serial console", "of a web page"],
)
def test_how_a_file_is_coded_does_not_matter(change: Callable[[bytes], bytes]) -> None:
    for name in NAMES[::9]:
        found = diagnosed([change(data) for data in recorded(name)])
        assert (causes(found), found.reading.unread_count) == (causes(diagnosed(recorded(name))), 0)


@pytest.mark.parametrize("name", NAMES[::7])
def test_two_hosts_may_have_the_same_name(name: str) -> None:
    texts = [re.sub(rb"(?m)^(=== mptcplab collect \d+, host )\w+", rb"\1OpenWrt", data) for data in recorded(name)]
    assert texts[0] != recorded(name)[0]
    found = diagnosed(texts)
    assert causes(found) == causes(diagnosed(recorded(name)))
    assert [host.name for host in found.reading.hosts] == ["OpenWrt", "OpenWrt-2"]


@pytest.mark.parametrize("name", NAMES[::5])
def test_both_hosts_in_one_paste_with_chatter_between(name: str) -> None:
    client, server = recorded(name)
    together = b"Hello, this is what I get:\n```\n" + client + b"\n```\nand on the server\n" + server + b"\nThanks!\n"
    found = diagnosed([together])
    assert causes(found) == causes(diagnosed([client, server]))
    assert found.reading.unread_count == 3


@pytest.mark.parametrize(
    "line",
    [
        b"a" * 500_000,
        b"1.2." * 50_000,
        b": " * 100_000,
        b"> " * 100_000,
        b"\x1b[" * 100_000,
        b"(" * 200_000,
        b"::" * 99_999,
    ],
)
def test_long_lines_take_no_long_time(line: bytes) -> None:
    began = time.process_time()
    printed(diagnosed([b"\n".join([line] * 5), b"tcp ESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cwnd:1 " + line]))
    assert time.process_time() - began < 5  # a regular expression that searches would take hours


def test_more_than_is_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mptcplab.diagnose import reading

    monkeypatch.setattr(text, "MAX_BYTES", 1000)
    file = tmp_path / "big.txt"
    file.write_bytes(b"MPTcpExtRmAddr 1 0.0\n" * 200)
    assert reading.read([str(file)]).notes == [f"{file}: only the first 0 MiB were read"]
