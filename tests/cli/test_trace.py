"""`run --trace` and `mptcplab trace`: nothing changes, and what is told is what happened."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mptcplab
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mptcplab.qlog import TraceFileError, find, read, words
from mptcplab.qlog.choosing import Decisions
from mptcplab.qlog.reading import Trace

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/trace.md"
FRAMES = ("connections", "subflows", "links", "samples")

Call = Callable[..., Any]


def dies() -> mptcplab.Scenario:
    """The Wi-Fi dies at 2 s and is back at 3 s."""
    scenario = mptcplab.Scenario.load("wifi-dies")
    document = scenario.to_toml().replace('"10 s"', '"2 s"').replace('"20 s"', '"3 s"')
    return mptcplab.Scenario.from_toml(document).with_({"measure.warmup": "0 s"}, duration="4 s")


def brief() -> mptcplab.Scenario:
    """A second of a download over both."""
    return mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[mptcplab.Result, Path]:
    directory = tmp_path_factory.mktemp("traced")
    return mptcplab.run(dies(), trace=directory), directory


def server(directory: Path) -> Trace:
    return read(directory / "download-server.sqlog")


def test_a_trace_changes_no_number(traced: tuple[mptcplab.Result, Path]) -> None:
    plain = mptcplab.run(dies())
    for frame in FRAMES:
        assert getattr(plain, frame).equals(getattr(traced[0], frame)), frame


def test_what_is_told_is_what_is_counted(traced: tuple[mptcplab.Result, Path]) -> None:
    result, directory = traced
    told = server(directory)
    for row in result.subflows.iter_rows(named=True):
        of = [event for event in told.events if event.group == row["path"]]
        sent = [event.data["why"] for event in of if event.name == "tcp:segment_sent" and event.data["bytes"]]
        assert len(sent) == row["segments_sent"]
        assert sum(why in ("retransmission", "timeout", "probe") for why in sent) == row["retransmissions"]
        assert sum(why == "reinjection" for why in sent) == row["reinjections"]


def test_the_failure_is_explained(traced: tuple[mptcplab.Result, Path]) -> None:
    told = server(traced[1])
    assert set(told.names.values()) == {"wifi", "lte"}
    after = [event for event in told.events if 2.0 <= event.time_s < 3.0]
    names = [event.name for event in after if event.group == "wifi"]
    # The timer expires, the path is suspected, what it carried is queued for others; only then LTE carries it.
    suspected = next(each for each in after if each.name == "mptcp:path_state" and each.data["suspected"])
    assert suspected.group == "wifi"
    again = next(event for event in after if event.name == "mptcp:reinjected")
    assert (again.group, again.data["why"]) == ("lte", "subflow_timeout")
    assert suspected.time_s <= again.time_s
    assert "tcp:recovery_entered" in names
    choices = [event for event in after if event.name == "mptcp:scheduled" and event.time_s > suspected.time_s]
    wifi = next(number for number, name in told.names.items() if name == "wifi")
    for choice in choices:
        (verdict,) = [each["verdict"] for each in choice.data["candidates"] if each["subflow"] == wifi]
        assert verdict == "suspected"


def test_ten_lines_show_why_each_path_was_chosen(call: Call, traced: tuple[mptcplab.Result, Path]) -> None:
    told = call("trace", traced[1] / "download-server.sqlog", "--from", 2, "--to", 2.6)
    assert told.status == 0
    lines = told.out.splitlines()[1:]
    text = "\n".join(lines)
    for words_of in ("chooses lte", "retransmission expires", "does not answer", "others are to carry", "carries"):
        assert words_of in text, text
    assert len(lines) <= 20


def test_a_moment_is_answered(call: Call, traced: tuple[mptcplab.Result, Path]) -> None:
    told = call("trace", traced[1], "--at", 2.5)
    assert told.status == 0
    assert "download, server at 2.5 s" in told.out
    assert re.search(r"min-rtt chooses lte for .*: no other can take it", told.out)
    assert re.search(r"wifi: does not answer \(RTT [\d.]+ ms, \d+ of 1\.0 in flight\)", told.out)
    assert "client" not in told.out  # which has sent nothing


def test_views_are_parts_of_one_another(call: Call, traced: tuple[mptcplab.Result, Path]) -> None:
    def shown(*options: object) -> list[str]:
        told = call("trace", traced[1] / "download-server.sqlog", *options)
        assert told.status == 0
        return list(told.out.splitlines()[1:])

    everything, decisions = shown("--all"), shown()
    assert len(everything) > 10 * len(decisions)
    late = shown("--from", 2.5)
    choice = "chooses"
    assert [line for line in late if choice not in line] == [
        line for line in decisions if choice not in line and float(line.split()[0]) >= 2.5
    ]
    assert [line for line in shown("--why") if not line.startswith(" " * 16)] == decisions
    assert all(" wifi " in line or "connection" in line for line in shown("--subflow", "wifi"))


def test_runs_have_folders_and_jobs_do_not_matter(tmp_path: Path) -> None:
    short = brief()
    contents = []
    for jobs in (1, 2):
        directory = tmp_path / str(jobs)
        directory.mkdir()
        mptcplab.run(short, repeat=2, jobs=jobs, trace=directory)
        files = find(directory)
        contents.append({str(file.relative_to(directory)): file.read_bytes() for file in files})
        assert sorted(contents[-1]) == [
            f"run-{run}/download-{end}.sqlog" for run in (0, 1) for end in ("client", "server")
        ]
    assert contents[0] == contents[1]


def test_each_of_several_connections_has_its_files(tmp_path: Path) -> None:
    several = brief().with_({"connection.download.count": 3})
    mptcplab.run(several, trace=tmp_path)
    expected = {f"download-{index}-{end}.sqlog" for index in range(3) for end in ("client", "server")}
    assert {file.name for file in tmp_path.iterdir()} == expected


def test_the_command_writes_whole_folders_and_replaces_only_its_own(call: Call, tmp_path: Path) -> None:
    place = tmp_path / "why"
    run = ("run", "two-equal-paths", "--set", "measure.warmup=0 s", "--set", "duration=1 s", "--trace", place)
    assert call(*run).status == 0
    assert call(*run).status == 0
    (place / "notes.txt").write_text("mine", encoding="utf-8")
    refused = call(*run)
    assert refused.status == 2
    assert "notes.txt" in refused.err
    assert (place / "notes.txt").read_text(encoding="utf-8") == "mine"
    inside = call("run", "wifi-dies", "--out", tmp_path / "out", "--trace", tmp_path / "out/why")
    assert inside.status == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["model", "linux", "linux-virtual"])
def test_engines_that_tell_nothing_say_so(call: Call, tmp_path: Path, engine: str) -> None:
    refused = call("run", "wifi-dies", "--engine", engine, "--trace", tmp_path / "why")
    assert refused.status == 3
    assert "sim, stack can be traced" in refused.err
    assert not (tmp_path / "why").exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "line 1: expected the header"),
        (b"\x1e{}\n", "line 1: expected the header"),
        (b"hello\n", "line 1: expected a JSON object"),
        (b"\xff\xfe\n", "expected UTF-8"),
    ],
)
def test_what_is_no_trace_is_refused(call: Call, tmp_path: Path, content: bytes, found: str) -> None:
    file = tmp_path / "x.sqlog"
    file.write_bytes(content)
    refused = call("trace", file)
    assert refused.status == 2
    assert found in refused.err
    assert call("trace", tmp_path / "nothing").status == 2
    (tmp_path / "empty").mkdir()
    assert "found no file *.sqlog" in call("trace", tmp_path / "empty").err


def test_a_time_is_not_asked_for_twice(call: Call, traced: tuple[mptcplab.Result, Path]) -> None:
    assert call("trace", traced[1], "--at", 1, "--from", 1).status == 2
    assert call("trace", traced[1], "--from", 2, "--to", 1).status == 2
    assert "expected one of lte, wifi" in call("trace", traced[1], "--subflow", "dsl").err


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
HEADER = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}


@settings(max_examples=200, deadline=None)
@given(records=st.lists(JSON | st.just(HEADER), max_size=4), noise=st.binary(max_size=8))
def test_any_bytes_are_read_or_refused(
    records: list[Any], noise: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("any") / "any.sqlog"
    file.write_bytes(b"".join(b"\x1e" + json.dumps(each).encode() + b"\n" for each in records) + noise)
    try:
        trace = read(file)
    except TraceFileError as error:
        assert str(file) in str(error)  # noqa: PT017 - it may be read, too
    else:
        decisions = Decisions()
        for event in trace.events:
            decisions.shows(event)
            words.say(trace, event)


def test_every_event_has_words(traced: tuple[mptcplab.Result, Path]) -> None:
    listed = set(re.findall(r"^\| `((?:tcp|mptcp):[a-z_]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == set(words.KINDS)
    told = server(traced[1])
    assert {event.name for event in told.events} <= listed | {"recovery:metrics_updated"}
    for event in told.events[:5000]:
        if event.name in listed:
            assert "{" not in words.say(told, event), event


NETWORK = """
duration = "6 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
[link.b]
rate = "10 Mbit/s"
delay = "40 ms"
[connection.c]
paths = ["a", "b"]
"""
SLOWER_THAN_ITS_LINK = [
    'connection.c = { paths = ["b"], protocol = "tcp", congestion = "reno" }',
    'connection.c.application = { kind = "rate", rate = "500 kbit/s" }',
    'link.b.queue = "400 packets"',
    'link.b.rate = "250 kbit/s"',
    'event = [{ at = "30 s", link = "b", set = { rate = "10 Mbit/s" } }]',
]
"""Its window grows while the link is the bottleneck, and is not used afterwards."""
SHORT_AND_SLOW = ['link.b.rate = "50 kbit/s"', 'link.b.delay = "10 ms"', 'duration = "350 s"']


@pytest.mark.parametrize(
    ("changes", "event", "why"),
    [
        (['link.a.queue = { kind = "codel", ecn = true }', "connection.c.ecn = true"], "tcp:window_changed", "ecn"),
        # RFC 7661 §4.4.3: half of the window for each five minutes in which it was not validated.
        ([*SLOWER_THAN_ITS_LINK, 'link.b.delay = "100 ms"', 'duration = "350 s"'], "tcp:window_changed", "validation"),
        # The round trip is shorter than the time between two segments: nothing is under way when the next one is sent.
        (
            [*SLOWER_THAN_ITS_LINK, 'connection.c.application.rate = "100 kbit/s"', *SHORT_AND_SLOW],
            "tcp:window_changed",
            "idle_restart",
        ),
        (
            ['connection.c.scheduler = "linux"', 'event = [{ at = "1 s", link = "a", set = { down = true } }]'],
            "mptcp:reinjected",
            "stale",
        ),
        # Both addresses go; the data that no subflow carries goes out when there is one again.
        (
            [
                'connection.c.direction = "up"',
                'event = [{ at = "1 s", link = "a", set = { address = false } },'
                ' { at = "1.5 s", link = "b", set = { address = false } },'
                ' { at = "3 s", link = "b", set = { address = true } }]',
            ],
            "mptcp:reinjected",
            "resumed",
        ),
        (
            ['link.b.middleboxes = ["payload-rewriting"]', "connection.c.checksum = true"],
            "mptcp:reinjected",
            "checksum_failed",
        ),
        (
            ['link.a.middleboxes = ["payload-rewriting"]', 'connection.c = { paths = ["a"], checksum = true }'],
            "mptcp:fallback",
            "checksum_failed",
        ),
    ],
)
def test_what_is_rare_is_told_with_its_reason(tmp_path: Path, changes: list[str], event: str, why: str) -> None:
    document = tomllib.loads(NETWORK)
    for change in changes:
        key, _, value = change.partition(" = ")
        *tables, last = key.split(".")
        table = document
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = tomllib.loads(f"value = {value}")["value"]
    mptcplab.run(mptcplab.Scenario.from_dict(document), trace=tmp_path)
    told = [each for file in find(tmp_path) for each in read(file).events if each.name == event]
    found = [each for each in told if each.data["why"] == why]
    assert found, {each.data["why"] for each in told}
    if event == "tcp:window_changed":
        assert all(each.data["cwnd_segments"] >= 1 for each in found)
