"""A server of probes whose clients say anything, in any order, and leave at any time. `MPTCPLAB_SESSIONS`: how many."""

import os
import random
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mptcplab.probe import control, server, stream

from tests.left import family

TOKEN = "the-token"
SESSIONS = int(os.environ.get("MPTCPLAB_SESSIONS", "60"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
AT_MOST_S = 60.0
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 1e-300, 5e-324, 1e-9, 0.01, 1e6, 1e9, 1e308, 2**64, 10**400, None, True, "1", [], {}, [1e6], "\ud800"),
)


class Serving:
    """`mptcplab probe --server` in a process of its own."""

    def __init__(self, place: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        command = [str(Path(sys.executable).with_name("mptcplab")), "probe", "--server", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--token", TOKEN, "--minutes", "60"]
        self.log = place / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + AT_MOST_S
        while True:
            with suppress(OSError), self.connect():
                return
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                self.process.wait()
                raise TimeoutError(self.log.read_text(encoding="utf-8"))
            time.sleep(0.05)

    def left(self) -> dict[str, Any]:
        place = Path(f"/proc/{self.process.pid}")
        return {
            "threads": len(list((place / "task").iterdir())),
            "files": len(list((place / "fd").iterdir())),
            "processes": family(self.process.pid),
        }

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), AT_MOST_S)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    started = Serving(tmp_path_factory.mktemp("probe"))
    try:
        yield started
        started.process.terminate()
        assert started.process.wait(AT_MOST_S) is not None
    finally:
        started.process.kill()
        started.process.wait()


def works(serving: Serving) -> None:
    """A client in good faith has its session, its echo and its stream."""
    until = time.monotonic() + AT_MOST_S
    while True:
        with serving.connect() as connection, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            lines = control.Lines(connection)
            lines.say({"token": TOKEN})
            told = lines.hear()
            if "error" in told:  # four at a time
                assert time.monotonic() < until, told
                time.sleep(0.05)
                continue
            session = bytes.fromhex(told["session"])
            udp.settimeout(AT_MOST_S)
            udp.sendto(stream.write(session, stream.ECHO, 7, 64), ("127.0.0.1", serving.port))
            answer = stream.read(udp.recv(2048))
            assert answer is not None
            assert answer.number == 7
            lines.say({"do": "send", "rate_bps": 1e6, "seconds": 0.05})
            assert lines.hear()["sent"] > 0
            return


def session(serving: Serving, dice: random.Random, found: Counter[str]) -> None:
    """One that says anything."""
    with suppress(control.ClosedError, OSError), serving.connect() as connection:
        lines = control.Lines(connection)
        if dice.random() < 0.2:
            connection.sendall(dice.randbytes(dice.choice((1, 100, 5_000))))
            found["no greeting"] += 1
            return
        lines.say({"token": TOKEN if dice.random() < 0.8 else dice.choice(VALUES)})
        if dice.random() < 0.1:
            # A reset, where others close.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            found["reset"] += 1
            return
        told = lines.hear()
        if "error" in told:
            found["refused"] += 1
            return
        name = bytes.fromhex(told["session"])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect(("127.0.0.1", serving.port))
            for _ in range(dice.randint(0, 12)):
                with suppress(OSError):
                    good = stream.write(name, dice.choice((stream.ECHO, stream.DATA)), dice.randrange(1 << 32), 64)
                    udp.send(dice.choice((good, good[: dice.randrange(64)], dice.randbytes(64))))
                order: dict[str, Any] = {"do": dice.choice(("send", "send", "report", "forget", "other", None, 7))}
                for key in ("rate_bps", "seconds"):
                    if dice.random() < 0.9:
                        order[key] = dice.choice(VALUES)
                if dice.random() < 0.5:
                    order["seconds"] = 0.01
                lines.say(order)
                if dice.random() < 0.1:
                    found["left without an answer"] += 1
                    return
                answer = lines.hear()
                found["error" if "error" in answer else "done"] += 1


def test_whatever_is_said_nothing_is_left(serving: Serving) -> None:
    dice = random.Random(SEED)
    works(serving)
    found: Counter[str] = Counter()
    settled = wait_for_rest(serving, None)
    for number in range(SESSIONS):
        session(serving, dice, found)
        if number % 10 == 9:
            works(serving)
    wait_for_rest(serving, settled)
    works(serving)
    said = serving.log.read_text(encoding="utf-8")
    assert "Traceback" not in said, said
    sys.stdout.write(f"\n{SESSIONS} sessions, {dict(sorted(found.items()))}\n")
    assert found["done"] > 0


def wait_for_rest(serving: Serving, settled: dict[str, Any] | None) -> dict[str, Any]:
    """What the server has once the sessions are over: as much as before."""
    until = time.monotonic() + AT_MOST_S
    while True:
        now = serving.left()
        if now == settled or (settled is None and now["threads"] <= 2):
            return now
        assert time.monotonic() < until, (now, settled)
        time.sleep(0.05)


def test_a_crowd_without_a_token_keeps_nobody_out(serving: Serving) -> None:
    """They send a byte now and then, and no line; the threads and files that they take are bounded."""
    settled = wait_for_rest(serving, None)
    crowd = [serving.connect() for _ in range(3 * server.MOST_GREETING)]
    try:
        for each in crowd:
            with suppress(OSError):
                each.send(b"{")
        works(serving)
        until = time.monotonic() + AT_MOST_S
        while serving.left()["threads"] > settled["threads"] + server.MOST_GREETING:
            assert time.monotonic() < until
            time.sleep(0.02)
        # Whoever sends a byte of its line now and then is not waited for any longer either.
        while serving.left() != settled:
            assert time.monotonic() < until
            for each in crowd:
                with suppress(OSError):
                    each.send(b" ")
            time.sleep(0.1)
    finally:
        for each in crowd:
            each.close()
    works(serving)


def test_many_small_streams_are_bounded_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sends a packet at least."""

    class Counting:
        sent = 0

        def sendto(self, data: bytes, to: object) -> None:
            self.sent += len(data) + stream.HEADERS_BYTES

    monkeypatch.setattr(stream, "MOST_BYTES", 100_000)
    udp = Counting()
    serving = server._Serving(udp, TOKEN, has_mptcp=False)  # type: ignore[arg-type]
    one = server._Session(b"x" * 16, address=("192.0.2.1", 5))
    answers = [serving._carried_out({"do": "send", "rate_bps": 1, "seconds": 0.001}, one) for _ in range(200)]
    assert "more than the" in answers[-1]["error"]
    assert 90_000 < udp.sent <= 100_000 + stream.PAYLOAD_BYTES + stream.HEADERS_BYTES


def test_an_echo_that_cannot_be_sent_ends_nothing() -> None:
    """A datagram from port 0: the answer is an error of the system, and the next one is answered."""

    class Socket:
        def __init__(self, name: bytes) -> None:
            self.waiting = [(stream.write(name, stream.ECHO, number, 64), ("127.0.0.1", number)) for number in (0, 1)]
            self.answered: list[int] = []

        def recvfrom(self, most: int) -> tuple[bytes, tuple[str, int]]:
            assert most >= 64
            return self.waiting.pop(0)

        def sendto(self, data: bytes, to: tuple[str, int]) -> None:
            if to[1] == 0:
                raise OSError(22, "Invalid argument")
            self.answered.append(to[1])

    udp = Socket(b"x" * 16)
    serving = server._Serving(udp, TOKEN, has_mptcp=False)  # type: ignore[arg-type]
    serving._sessions[b"x" * 16] = server._Session(b"x" * 16)
    serving.datagrams(lambda: not udp.waiting)
    assert udp.answered == [1]
