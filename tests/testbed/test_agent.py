"""The agent's parts that need no privileges: its parser, its key, what it notes before it changes anything."""

import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.agent import programs, system, undo
from mptcplab.agent.requests import PARAMETERS, Play, Prepare, Simple, parse
from mptcplab.agent.session import Permissions, Session
from mptcplab.agent.system import Refused
from mptcplab.errors import EngineUnavailableError
from mptcplab.scenario import Scenario, ScenarioError
from mptcplab.scenario.machines import address
from mptcplab.testbed import frames, is_interface_name, key
from mptcplab.testbed.frames import ProtocolError
from mptcplab.testbed.key import KeyFileError

from tests.needs import needs

PREPARE: dict[str, Any] = {
    "do": "prepare",
    "end": "client",
    "interfaces": ["wlan0", "eth0"],
    "shaping": {"eth0": {"rate_bps": 10**6, "burst_bytes": 32_000, "limit_bytes": 100_000}},
    "server": "192.0.2.1",
    "joining": ["eth0"],
    "backup": False,
    "subflows": 1,
    "parameters": {"net/ipv4/tcp_ecn": 1, "net/ipv4/tcp_rmem": "4096 131072 6291456"},
}
PLAY: dict[str, Any] = {
    "do": "play",
    "description": {"duration_ns": 10**9, "connections": [{"count": 1}]},
    "token": list(range(16)),
    "zero_ns": 5,
    "hosts": [{}],
    "own": [0],
    "programs": [],
    "snap_length": None,
    "capture_on": [],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=12), inner, max_size=5),
    max_leaves=30,
)


def reading(data: bytes, largest: int = 1000) -> Any:
    """What a reader makes of a stream of these bytes."""
    at = 0

    def receive(most: int) -> bytes:
        nonlocal at
        part = data[at : at + most]
        at += len(part)
        return part

    return frames.read(receive, largest)


def test_a_message_is_its_length_and_json() -> None:
    assert frames.encode({"do": "hello"}) == b'\0\0\0\x0e{"do":"hello"}'
    assert reading(frames.encode({"do": "hello"})) == {"do": "hello"}
    assert reading(b"") is None


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0",
        b"\0\0\0\x05{}",
        struct.pack(">I", 1001) + b"x" * 1001,
        b"\xff\xff\xff\xff",
        b"\0\0\0\x02[]",
        b"\0\0\0\x03NaN",
        b"\0\0\0\x01\xff",
        b"\0\0\0\0",
        struct.pack(">I", 800) + b"[" * 800,
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        reading(data)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        parse(reading(data) or {})


@given(st.sampled_from([PREPARE, PLAY]), st.data())
def test_no_value_breaks_the_parser(valid: dict[str, Any], data: st.DataObject) -> None:
    """One field of a valid request is something else; what is accepted is within its bounds all the same."""
    name = data.draw(st.sampled_from(sorted(valid)))
    message = json.loads(json.dumps({**valid, name: data.draw(JSON)}))
    try:
        request = parse(message)
    except ProtocolError:
        return
    if isinstance(request, Prepare):
        assert all(is_interface_name(each) for each in (*request.interfaces, *request.joining))
        assert set(request.parameters) <= set(PARAMETERS)
        assert 0 <= request.subflows <= 8
    elif isinstance(request, Play):
        assert 0 < request.description["duration_ns"] <= 4 * 3600 * 10**9


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=6), st.sampled_from(["hello", "play", "fetch", "shell"]))
def test_no_object_breaks_the_parser(fields: dict[str, Any], do: str) -> None:
    with contextlib.suppress(ProtocolError):
        parse(json.loads(json.dumps({**fields, "do": do})))


def test_valid_requests_are_understood() -> None:
    prepare = parse(PREPARE)
    assert isinstance(prepare, Prepare)
    assert (prepare.interfaces, prepare.shaping["eth0"].rate_bps) == (("wlan0", "eth0"), 10**6)
    assert isinstance(parse(PLAY), Play)
    assert parse({"do": "clock"}) == Simple("clock")


@pytest.mark.parametrize(
    "change",
    [
        {"do": "run"},
        {"interfaces": ["wlan0; reboot"]},
        {"interfaces": ["-j"]},
        {"interfaces": ["wlan0"]},
        {"parameters": {"kernel/modprobe": "x"}},
        {"parameters": {"net/ipv4/../../kernel/core_pattern": 1}},
        {"parameters": {"net/ipv4/tcp_rmem": "1\n2"}},
        {"server": "example.org"},
        {"subflows": 9},
        {"subflows": True},
        {"extra": 1},
        {"shaping": {"lo": {"rate_bps": 1, "burst_bytes": 1, "limit_bytes": 1}}},
    ],
)
def test_a_request_that_asks_for_more_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        parse({**PREPARE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"description": {"duration_ns": 10**15, "connections": [{"count": 1}]}},
        {"description": {"duration_ns": 10**9, "connections": [{"count": 10**6}]}},
        {"description": {"duration_ns": 10**9, "connections": []}},
        {"token": [0] * 15},
        {"own": [1]},
        {"programs": [{"kind": 0, "words": ["x"], "files": {"../y": 1}, "mptcpize": True}]},
        {"programs": [{"kind": 0, "words": [], "files": {}, "mptcpize": True}]},
    ],
)
def test_a_run_that_is_too_large_or_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        parse({**PLAY, **change})


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    file = tmp_path_factory.mktemp("key") / "a.key"
    key.make(file)
    return file


def test_a_key_is_its_owners_and_is_not_overwritten(key_file: Path) -> None:
    assert key_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyFileError, match="exists already"):
        key.make(key_file)


def test_what_is_no_key_is_refused(key_file: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="--new-key"):
        key.fingerprint(tmp_path / "none")
    open_to_all = tmp_path / "open.key"
    open_to_all.write_bytes(key_file.read_bytes())
    open_to_all.chmod(0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        key.fingerprint(open_to_all)
    wrong = tmp_path / "wrong.key"
    wrong.write_text("hello", encoding="ascii")
    wrong.chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a key"):
        key.context(wrong, server=True)


def handshake(server_key: Path, client_key: Path) -> tuple[object, object]:
    """What each end makes of the other: the version of TLS with one of the same key, or the error."""
    here, there = socket.socketpair()
    told: list[object] = []

    def serve() -> None:
        try:
            with key.context(server_key, server=True).wrap_socket(there, server_side=True) as channel:
                told.append(channel.version() if key.is_ours(channel, server_key) else None)
                channel.sendall(b"x")
        except ssl.SSLError as error:
            told.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    client: object
    try:
        with key.context(client_key, server=False).wrap_socket(here) as channel:
            client = channel.recv(1) == b"x" and channel.version()
    except ssl.SSLError as error:
        client = error
    thread.join()
    return told[0], client


def test_one_key_opens_and_another_does_not(key_file: Path, tmp_path: Path) -> None:
    assert handshake(key_file, key_file) == ("TLSv1.3", "TLSv1.3")
    other = tmp_path / "other.key"
    key.make(other)
    server, client = handshake(key_file, other)
    assert isinstance(server, ssl.SSLError)
    assert isinstance(client, ssl.SSLError)


CA = """
[ca]
default_ca = own
[own]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
[any]
commonName = supplied
"""


@pytest.mark.parametrize(("begins", "ends"), [("20010101", "20020101"), ("20600101", "20610101")])
def test_clocks_that_differ_keep_nobody_out(key_file: Path, tmp_path: Path, begins: str, ends: str) -> None:
    """A key that was made by a clock which is far ahead, or that is long past its dates, opens all the same."""
    (tmp_path / "ca.cnf").write_text(CA, encoding="ascii")
    (tmp_path / "index").touch()
    (tmp_path / "serial").write_text("01\n", encoding="ascii")
    dated = f"-startdate {begins}000000Z -enddate {ends}000000Z"
    for words in (
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key -out asked -subj /CN=testbed",
        f"ca -batch -selfsign -notext -config ca.cnf -keyfile own.key -in asked -out certificate {dated}",
    ):
        done = subprocess.run(["openssl", *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    dated_key = tmp_path / "dated.key"
    dated_key.write_bytes((tmp_path / "own.key").read_bytes() + (tmp_path / "certificate").read_bytes())
    dated_key.chmod(0o600)
    assert handshake(dated_key, dated_key) == ("TLSv1.3", "TLSv1.3")
    server, client = handshake(key_file, dated_key)
    assert isinstance(server, ssl.SSLError)
    assert isinstance(client, ssl.SSLError)


@needs("ip")
def test_a_session_does_things_in_their_order(tmp_path: Path) -> None:
    noted = undo.Undo(tmp_path / "state.json")
    session = Session(Permissions((), ()), noted, 7413)
    assert session.answer({"do": "clock"})["now_ns"] > 0
    for early in (PLAY, {"do": "status"}, {"do": "result"}, {"do": "fetch", "name": "../key", "offset": 0}):
        assert session.answer(early)["refused"]
    missing = session.answer({**PREPARE, "interfaces": ["nothere0"], "shaping": {}, "joining": []})
    assert "no interface nothere0" in missing["refused"]
    with pytest.raises(ProtocolError):
        session.answer({"do": "sh", "command": "id"})
    assert session.answer({"do": "release"}) == {"refused": None, "problems": []}
    assert not (tmp_path / "state.json").exists()
    noted.close()


def test_what_is_noted_is_put_back_even_by_another_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(system, "put_back", done.append)
    file = tmp_path / "state.json"
    first = undo.Undo(file)
    first.add(kind="parameter", name="a", before="1")
    first.add(kind="shaper", interface="b")
    assert len(json.loads(file.read_text())["entries"]) == 2
    with pytest.raises(EngineUnavailableError, match="another agent"):
        undo.Undo(file)
    first.close()  # as if it had been killed
    second = undo.Undo(file)
    assert second.left_over() == []
    assert [entry["kind"] for entry in done] == ["shaper", "parameter"], "the last change first"
    assert not file.exists()
    second.close()


def test_after_a_restart_of_the_machine_there_is_nothing_to_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.json"
    document = {
        "boot": "another",
        "namespace": Path("/proc/self/ns/net").stat().st_ino,
        "entries": [{"kind": "shaper"}],
    }
    file.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.setattr(system, "put_back", lambda _: pytest.fail("nothing is to be put back"))
    assert undo.Undo(file).left_over() == []


def test_a_directory_that_is_none_of_ours_is_not_removed(tmp_path: Path) -> None:
    system.remove(tmp_path)
    assert tmp_path.exists()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("192.0.2.1", ("192.0.2.1", 7413)),
        ("server.example.org:99", ("server.example.org", 99)),
        ("[2001:db8::1]:99", ("2001:db8::1", 99)),
        ("[2001:db8::1]", ("2001:db8::1", 7413)),
        ("2001:db8::1", ("2001:db8::1", 7413)),
    ],
)
def test_where_an_agent_listens(written: str, meant: tuple[str, int]) -> None:
    assert address(written) == meant


BOUND = """
duration = "2 s"
[testbed]
client = "127.0.0.1"
server = "192.0.2.1"
[link.wifi]
interface = "wlan0"
rate = "40 Mbit/s"
delay = "1 ms"
[connection.c]
paths = ["wifi"]
congestion = "reno"
"""


def test_a_scenario_keeps_its_machines() -> None:
    scenario = Scenario.from_toml(BOUND)
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert scenario.to_dict()["link"]["wifi"]["interface"] == "wlan0"
    assert scenario.to_dict()["testbed"]["port"] == 7420
    # On other engines the interfaces are of no interest.
    assert scenario.description()["links"][0]["name"] == "wifi"


@pytest.mark.parametrize(
    ("old", "new", "key_of_it"),
    [
        ('"wlan0"', '"wlan0 --help"', "link.wifi.interface"),
        ('"wlan0"', '{ server = "eth0" }', "link.wifi.interface.client"),
        ('client = "127.0.0.1"\n', "", "testbed.client"),
        ('"127.0.0.1"', '"host:99999"', "testbed.client"),
    ],
)
def test_machines_that_are_none_are_refused(old: str, new: str, key_of_it: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(BOUND.replace(old, new))
    assert [problem.key for problem in raised.value.problems] == [key_of_it]


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ('[[event]]\nat = "1 s"\nlink = "wifi"\nset = { down = true }\n', "event.0"),
        ('[link.wifi.shaper]\nrate = "1 Mbit/s"\n', "link.wifi.interface"),
        ('[link.wifi.up.shaper]\nrate = "1 Mbit/s"\npolicing = true\n', "link.wifi.up.shaper.policing"),
        ('[connection.d]\npaths = ["wifi"]\ncongestion = "reno"\necn = true\n', "connection.d.ecn"),
        ('[connection.d]\npaths = ["wifi"]\ncongestion = "reno"\nmss = "1000 B"\n', "connection.d.mss"),
        (
            '[connection.d]\npaths = ["wifi"]\ncongestion = "reno"\ntcp = { loss_detection = "newreno" }\n',
            "connection.d.tcp.loss_detection",
        ),
    ],
)
def test_what_real_machines_cannot_do_is_refused(more: str, refused: str) -> None:
    from mptcplab.engines.testbed import unsupported

    assert [problem.key for problem in unsupported(Scenario.from_toml(BOUND + more))] == [refused]


def test_without_machines_there_is_no_testbed() -> None:
    from mptcplab.engines.testbed import unsupported

    keys = {problem.key for problem in unsupported(Scenario.load("wifi-lte"))}
    assert {"testbed", "link.wifi.interface", "link.lte.interface"} <= keys


@pytest.mark.parametrize("value", ["1 s", 1.5, True, [1]])
def test_a_time_that_is_none_is_refused(value: object) -> None:
    """The core reads no description of programs alone."""
    with pytest.raises(Refused, match="an invalid value of stop_ns"):
        programs.time_of({"stop_ns": value}, "stop_ns")


def test_a_time_may_be_missing() -> None:
    assert programs.time_of({"stop_ns": None}, "stop_ns") is None
    assert programs.time_of({"stop_ns": 5}, "stop_ns") == 5
