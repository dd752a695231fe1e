"""The two ends of a probe: between namespaces over emulated links, and what the server refuses."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mptcplab
import pytest
import tomli_w
from mptcplab import machine
from mptcplab.advice.paths import read_path
from mptcplab.cli.app import invoke
from mptcplab.probe import control, stream
from mptcplab.probe.client import Direction, PathFound
from mptcplab.probe.machine import Machine
from mptcplab.probe.server import serve
from mptcplab.scenario import Scenario

TOKEN = "the-token"
MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(bool(MISSING), reason=f"no live system here: {MISSING}")
MAIN = "from mptcplab.cli.app import main; main()"


def measured(tmp_path: Path, links: dict[str, Any], paths: dict[str, list[str]]) -> dict[str, Any]:
    """What a client with an address on each path finds."""
    client = ["{python}", "-c", MAIN, "probe", "{server}", "--token", TOKEN, "--json"]
    for number, name in enumerate(paths):
        client += ["--path", f"{name}: 10.0.{number}.1"]
    server = ["{python}", "-c", MAIN, "probe", "--server", "--host", "{server}", "--token", TOKEN, "--minutes", "3"]
    application = {"kind": "program", "client": client, "server": server, "mptcpize": False}
    table = {"paths": list(paths), "scheduler": "linux", "congestion": "cubic", "application": application}
    routes = {name: {"links": through} for name, through in paths.items() if through != [name]}
    document = {"duration": "75 s", "link": links, "connection": {"p": table}, "measure": {"sample": "never"}}
    scenario = Scenario.from_toml(tomli_w.dumps(document | ({"path": routes} if routes else {})), "probe.toml")
    mptcplab.run(scenario, "linux").save(tmp_path / "out")
    found: dict[str, Any] = json.loads((tmp_path / "out/programs/p-client.stdout").read_text(encoding="utf-8"))
    return found


@live
@pytest.mark.slow
def test_paths_between_namespaces_are_measured(tmp_path: Path) -> None:
    """Rate, round trip, queue, loss and a shaper in front, as the links have them."""
    found = measured(
        tmp_path,
        {
            "plain": {
                "down": {"rate": "16 Mbit/s"}, "up": {"rate": "4 Mbit/s"}, "delay": "10 ms", "queue": "80 ms",
                "loss": "2 %",
            },
            "shaped": {
                "rate": "40 Mbit/s", "delay": "20 ms", "queue": "100 ms",
                "down": {"shaper": {"rate": "6 Mbit/s", "burst": "300 kB"}},
            },
        },
        {"plain": ["plain"], "shaped": ["shaped"]},
    )  # fmt: skip
    plain, shaped = found["paths"]
    assert plain["down"]["rate_bps"] == pytest.approx(16e6, rel=0.1)
    assert plain["up"]["rate_bps"] == pytest.approx(4e6, rel=0.1)
    assert plain["rtt_s"] == pytest.approx(0.020, abs=0.003)
    assert plain["down"]["queue_s"] == pytest.approx(0.080, abs=0.02)
    # 1,600 packets of which 2 % are lost: 32 ± 6.
    assert 0.008 < plain["down"]["loss"] < 0.035
    assert plain["down"]["burst_bytes"] == 0
    assert plain["mptcp"] is True
    assert shaped["down"]["rate_bps"] == pytest.approx(6e6, rel=0.1)
    assert 150e3 < shaped["down"]["burst_bytes"] < 400e3
    assert shaped["up"]["rate_bps"] == pytest.approx(40e6, rel=0.15)
    assert shaped["mptcp"] is True
    assert found["shared_bottleneck"] is False
    assert any(note.startswith("shaped: ") and "a token bucket" in note for note in found["notes"])


@live
@pytest.mark.slow
def test_a_shared_bottleneck_is_seen(tmp_path: Path) -> None:
    found = measured(
        tmp_path,
        {
            "one": {"rate": "100 Mbit/s", "delay": "5 ms"},
            "two": {"rate": "100 Mbit/s", "delay": "15 ms"},
            "both": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": "60 ms"},
        },
        {"a": ["one", "both"], "b": ["two", "both"]},
    )
    assert found["shared_bottleneck"] is True
    for path in found["paths"]:
        assert path["down"]["rate_bps"] == pytest.approx(10e6, rel=0.1)


@live
@pytest.mark.parametrize("stripped", [False, True])
def test_a_path_without_multipath_tcp_is_told(stripped: bool) -> None:
    """Whoever strips the option of the SYN leaves the server a plain one, as if it had been sent by TCP."""
    listener, has_mptcp = control.new_socket()
    assert has_mptcp
    with listener, socket.socket() if stripped else control.new_socket()[0] as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        accepted, _ = listener.accept()
        with accepted:
            client.sendall(b"x")
            accepted.recv(1)
            assert control.speaks_mptcp(accepted) is not stripped
            assert control.speaks_mptcp(client) is not stripped


def a_path(mptcp: bool | None, burst_bytes: float = 0.0) -> PathFound:
    way = Direction(10e6, rate_is_least=False, queue_s=0.08, loss=0.004, burst_bytes=burst_bytes)
    return PathFound("lte", 0.0463, way, way, mptcp)


def test_what_was_found_is_what_advise_reads() -> None:
    said = a_path(True).words()
    assert said == "lte: 10/10 Mbit/s, 46.3 ms, 0.40%, queue 80 ms"
    spec = read_path(said)
    assert (spec.down_bps, spec.rtt_s.low, spec.loss, spec.queue_s.low) == (10e6, 0.0463, 0.004, 0.08)


def test_paths_that_no_advice_fits_are_refused() -> None:
    """One that strips options, and two with one bottleneck; not knowing is no obstacle."""
    assert Machine((a_path(None), a_path(True)), is_shared=False).obstacles() == []
    assert "removes Multipath TCP options" in Machine((a_path(False), a_path(True)), is_shared=False).obstacles()[0]
    assert "share a bottleneck" in Machine((a_path(True), a_path(True)), is_shared=True).obstacles()[0]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server on the loopback, for a few seconds."""
    ready: list[int] = []
    known = threading.Event()

    def tell(at: int) -> None:
        ready.append(at)
        known.set()

    thread = threading.Thread(target=serve, args=("127.0.0.1", 0, TOKEN, 6.0, tell))
    thread.start()
    assert known.wait(5)
    yield ready[0]
    thread.join()


def said(port: int, *orders: object) -> list[dict[str, Any]]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        lines = control.Lines(connection)
        answers = []
        for order in orders:
            lines.say(order)  # type: ignore[arg-type]
            answers.append(lines.hear())
        return answers


def test_without_the_token_nothing_is_done(port: int) -> None:
    for wrong in ({"token": "other"}, {"token": None}, {}, {"token": "\ud800"}):
        (answer,) = said(port, wrong)
        assert "token" in answer["error"]
    with pytest.raises(control.ClosedError):
        said(port, {"token": "other"}, {"do": "send", "rate_bps": 1e6, "seconds": 1})


def test_nothing_is_sent_to_who_has_not_shown_an_address(port: int) -> None:
    """Or a forged address could be flooded."""
    _, answer = said(port, {"token": TOKEN}, {"do": "send", "rate_bps": 1e6, "seconds": 1})
    assert "no datagram has come" in answer["error"]


def test_a_stream_is_bounded(port: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as connection,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        lines = control.Lines(connection)
        lines.say({"token": TOKEN})
        session = bytes.fromhex(lines.hear()["session"])
        udp.settimeout(5)
        for forged in (b"", b"x" * 64, stream.write(stream.new_session(), stream.ECHO, 1, 64)):
            udp.sendto(forged, ("127.0.0.1", port))
        udp.sendto(stream.write(session, stream.ECHO, 7, 64), ("127.0.0.1", port))
        back = stream.read(udp.recv(2048))
        assert back is not None
        assert (back.number, back.session) == (7, session)
        for rate, seconds in ((2e9, 1), (1e6, 100), (-1, 1), ("1", 1), (1e9, 1), (True, 1)):
            lines.say({"do": "send", "rate_bps": rate, "seconds": seconds})
            assert "error" in lines.hear()
        lines.say({"do": "dance"})
        assert "error" in lines.hear()


@pytest.mark.parametrize("line", [b"[]\n", b"{\n", b"\xff\n", b"x" * 5000, b"[" * 3000 + b"\n"])
def test_bytes_that_are_no_order_end_the_connection(port: int, line: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["probe"], "SERVER: found none"),
        (["probe", "h", "--path", "a: eth0"], "--token"),
        (["probe", "h:x", "--token", "t", "--path", "a: eth0"], "HOST or HOST:PORT"),
        (["probe", "h", "--token", "t"], "one or more"),
        (["probe", "h", "--token", "t", "--path", "eth0"], "a name and an interface"),
        (["probe", "h", "--server"], "only one of the two"),
        (["advise", "--measure", "h", "--token", "t", "--path", "a: eth0"], "2 or more"),
        (["advise", "--measure", "h", "--token", "t", "wifi-lte"], "found a scenario file too"),
        (["advise", "--token", "t", "wifi-lte"], "--measure"),
    ],
)
def test_wrong_input_is_status_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(arguments) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")


def test_a_server_that_is_not_there_is_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        gone = free.getsockname()[1]
    arguments = ["probe", f"127.0.0.1:{gone}", "--token", "t", "--path", "lo: 127.0.0.1"]
    assert invoke(arguments) == 3
    assert "lo: no probe over 127.0.0.1" in capsys.readouterr().err.replace("\n", " ")
