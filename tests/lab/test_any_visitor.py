"""`lab --host`: visitors ask for anything, or half of it, and leave at any time; MPTCPLAB_SESSIONS is how many."""

import http.client
import json
import os
import random
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from tests.lab.conftest import SMALL, first_line, request
from tests.left import family

SESSIONS = int(os.environ.get("MPTCPLAB_SESSIONS", "40"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
AT_MOST_S = 120.0
KINDS = ("read", "run", "packets", "why", "export", "advise")
TEXTS = (
    SMALL,
    SMALL,
    SMALL,
    SMALL.replace("3 s", "300 s"),
    SMALL.replace("3 s", "1 ns"),
    "",
    "x",
    "[link.a]\n" * 3,
    "\0",
)


def visit(address: tuple[str, int], cookie: str, dice: random.Random, found: Counter[str]) -> None:
    """One visitor."""
    with socket.create_connection(address, AT_MOST_S) as visitor:
        if dice.random() < 0.2:
            visitor.sendall(dice.randbytes(dice.choice((1, 200, 20_000))))
            found["noise"] += 1
            return
        kind = dice.choice(KINDS)
        body = json.dumps(request(dice.choice(TEXTS), engine=dice.choice(("sim", "model")), budget=0.01)).encode()
        head = f"POST /api/{kind} HTTP/1.1\r\nHost: 127.0.0.1:{address[1]}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\nConnection: close\r\n"
        if dice.random() < 0.9:
            head += f"Cookie: {cookie}\r\n"
        data = head.encode() + b"\r\n" + body
        if dice.random() < 0.3:
            visitor.sendall(data[: dice.randrange(len(data))])
            found["half a request"] += 1
            return
        visitor.sendall(data)
        if dice.random() < 0.4:
            time.sleep(dice.uniform(0, 0.3))
            if dice.random() < 0.5:
                visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            found["left without an answer"] += 1
            return
        answer = http.client.HTTPResponse(visitor)
        answer.begin()
        answer.read()
        assert answer.status < 500, (answer.status, kind)
        found[f"{answer.status // 100}xx"] += 1


def test_whatever_is_asked_nothing_is_left(tmp_path: Path) -> None:
    """As many open files and processes as before, and the page is served."""
    program = Path(sys.executable).with_name("mptcplab")
    command = [str(program), "lab", "--no-browser", "--host", "0.0.0.0"]
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        try:
            where = urlsplit(first_line(process))
            assert where.port is not None
            address = ("127.0.0.1", where.port)

            def works() -> str:
                client = http.client.HTTPConnection(*address, timeout=AT_MOST_S)
                client.request("GET", f"/?{where.query}")
                answer = client.getresponse()
                answer.read()
                client.close()
                assert answer.status in (200, 302, 303, 307), answer.status
                return str(answer.headers["Set-Cookie"]).partition(";")[0]

            def left() -> tuple[int, int]:
                return len(list(Path(f"/proc/{process.pid}/fd").iterdir())), len(family(process.pid))

            cookie = works()
            dice = random.Random(SEED)
            found: Counter[str] = Counter()
            # The workers are begun with the first requests, and stay.
            for _ in range(SESSIONS // 2):
                visit(address, cookie, dice, found)
            most = rest(left)
            for _ in range(SESSIONS - SESSIONS // 2):
                visit(address, cookie, dice, found)
            now = rest(left)
            assert now[0] <= most[0] + 2, (now, most)
            assert now[1] <= max(most[1], os.cpu_count() or 1), (now, most)
            works()
            process.terminate()
            assert process.wait(AT_MOST_S) == 0
        finally:
            process.kill()
    assert "Traceback" not in (tmp_path / "said").read_text(encoding="utf-8")
    sys.stdout.write(f"\n{SESSIONS} visitors, {dict(sorted(found.items()))}\n")
    assert found["2xx"]


def rest(left: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """What there is once it has not changed for two seconds."""
    until, since, last = time.monotonic() + AT_MOST_S, time.monotonic(), left()
    while time.monotonic() - since < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
        if (now := left()) != last:
            since, last = time.monotonic(), now
    return last
