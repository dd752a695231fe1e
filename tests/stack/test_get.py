"""`mptcplab get` against a server on the kernel's Multipath TCP, and on TCP."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.stack.http import Url, UrlError

MISSING = [finding.what for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
MISSING += [name for name in ("ip", "unshare") if shutil.which(name) is None]
live = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"), reason=f"it needs {', '.join(MISSING)}"
)

SERVER = """
import http.server, socket, sys
class Server(http.server.HTTPServer):
    def __init__(self, *args):
        super().__init__(*args, bind_and_activate=False)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, int(sys.argv[1]))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server_bind()
        self.server_activate()
    def server_bind(self):
        self.socket.bind(self.server_address)
server = Server(("0.0.0.0", 8080), http.server.SimpleHTTPRequestHandler)
print("ready", flush=True)
server.serve_forever()
"""
GET = "import sys; from mptcplab.cli import main; main(sys.argv[1:])"
# One namespace for the server and for the command; both go with it.
SCRIPT = """
ip link set lo up && ip mptcp limits set subflows 4
coproc server { exec "$1" -c "$2" "$3" 2>/dev/null; }
read -r ready <&"${server[0]}"
"$1" -c "$4" get "${@:5}"; status=$?
kill "$server_PID"
exit $status
"""


def get(directory: Path, protocol: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--net", "bash", "-c", SCRIPT, "-", sys.executable, SERVER, str(protocol), GET, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False)


@live
@pytest.mark.parametrize(
    ("protocol", "says"), [(262, "by Multipath TCP over 2 subflows"), (0, "by TCP: the server, or a middlebox")]
)
def test_a_file_is_fetched(tmp_path: Path, protocol: int, says: str) -> None:
    content = random.Random(1).randbytes(3_000_000)
    (tmp_path / "file").write_bytes(content)
    done = get(tmp_path, protocol, "http://10.213.0.1:8080/file", "-o", "copy")
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256((tmp_path / "copy").read_bytes()).digest() == hashlib.sha256(content).digest()
    assert says in done.stderr


@live
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("http://10.213.0.1:8080/none",), 1, "the server answered 404 File not found"),
        (("http://10.213.0.1:8081/",), 1, "reset, refused"),
        (("http://203.0.113.1:80/", "--timeout", "0.5"), 1, "no answer from 203.0.113.1:80 within 0.5 s"),
        (("http://127.0.0.1:8080/",), 2, "the loopback address 127.0.0.1"),
        (
            ("http://10.213.0.1:8080/", "--congestion", "vivace"),
            2,
            "--congestion: found 'vivace'; expected one of reno",
        ),
    ],
)
def test_what_goes_wrong_is_said(tmp_path: Path, arguments: tuple[str, ...], status: int, says: str) -> None:
    done = get(tmp_path, 0, *arguments)
    assert (done.returncode, says in done.stderr) == (status, True), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="it gives up privileges that it must have")
def test_without_privileges_it_says_what_would_help(tmp_path: Path) -> None:
    command = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", sys.executable, "-c", GET]
    done = subprocess.run([*command, "get", "http://10.0.0.1/"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "CAP_NET_ADMIN" in done.stderr


@pytest.mark.parametrize("text", ["ftp://a/b", "http://", "10.0.0.1:80/x", "http://a:x/", "http://a/ b"])
def test_a_url_that_is_none(text: str) -> None:
    with pytest.raises(UrlError, match=r"expected http://address:port/file|expected printable"):
        Url.parse(text)


def test_a_url() -> None:
    assert Url.parse("http://[fd00::1]:81/a/b?c") == Url("fd00::1", 81, "/a/b?c")
    assert Url.parse("http://a") == Url("a", 80, "/")
