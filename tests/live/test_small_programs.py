"""The FTP server and the latency probe of mptcplab.programs: on the loopback, and the server on the engine `linux`."""

import ftplib
import io
import os
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import mptcplab
import pytest
from mptcplab import machine
from mptcplab.programs import ftp_server, latency

from tests.needs import needs

CONTENT = random.Random(1).randbytes(3_000_000)
MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """In a directory of its own, as the engine runs it."""
    before = Path.cwd()
    os.chdir(tmp_path)
    with ftp_server.Server(("127.0.0.1", 0), ftp_server.Session) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving.server_address[1]
        serving.shutdown()
        thread.join()
    os.chdir(before)


def client(port: int) -> ftplib.FTP:
    ftp = ftplib.FTP()
    ftp.connect("127.0.0.1", port, timeout=5)
    ftp.login()
    return ftp


def test_a_file_goes_there_and_back(server: int, tmp_path: Path) -> None:
    with client(server) as ftp:
        assert ftp.storbinary("STOR data", io.BytesIO(CONTENT)).startswith("226")
        assert (tmp_path / "data").read_bytes() == CONTENT
        assert ftp.size("data") == len(CONTENT)
        got = io.BytesIO()
        ftp.retrbinary("RETR data", got.write)
        assert got.getvalue() == CONTENT


def test_the_data_port_listens_while_a_file_is_under_way(server: int, tmp_path: Path) -> None:
    """The kernel accepts a further subflow only there."""
    (tmp_path / "data").write_bytes(CONTENT)
    with client(server) as ftp, ftp.transfercmd("RETR data") as data:
        host, port = data.getpeername()
        data.recv(1)
        socket.create_connection((host, port), timeout=5).close()


def test_no_file_beyond_its_directory_has_a_name(server: int, tmp_path: Path) -> None:
    (tmp_path.parent / "secret").write_bytes(b"x")
    with client(server) as ftp, pytest.raises(ftplib.error_perm, match="550"):
        ftp.retrbinary("RETR ../secret", lambda _: None)


@pytest.mark.parametrize("udp", [False, True])
def test_round_trips_are_measured_over_tcp_and_udp(udp: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    bound = threading.Event()
    threading.Thread(target=latency.serve, args=("127.0.0.1", port, bound), daemon=True).start()
    assert bound.wait(5)
    found = latency.measure("127.0.0.1", port, udp=udp, count=5, interval_s=0.0, size=100)
    assert (found["protocol"], found["sent"], found["answered"]) == ("udp" if udp else "tcp", 5, 5)
    assert isinstance(found["min_ms"], float)
    assert (found["connect_ms"] is None) == udp


@pytest.mark.live
@pytest.mark.skipif(bool(MISSING), reason="no live system here")
@needs("curl", "mptcpize")
def test_the_data_of_ftp_uses_both_paths_of_the_kernel() -> None:
    scenario = mptcplab.Scenario.load("ftp").with_({}, duration="6 s")
    result = mptcplab.run(scenario, engine="linux")
    shares = dict(result.subflows.select("path", "share").iter_rows())
    assert min(shares["wifi"], shares["lte"]) > 0.2
    (row,) = result.rows("connections")
    assert row["completion_s"] < 10e6 * 8 / 30e6, "sooner than by the better path alone"
    live = result.runs[0][1].live
    assert live is not None
    assert live["kernel"]["parameters"]["net.mptcp.checksum_enabled"] == "0"
