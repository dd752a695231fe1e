"""The kernel's controls: loaded, chosen without a privilege in a namespace of their own, and gone again.

Their arithmetic is tested without a kernel in crates/bpf; what they do to a shared bottleneck, on emulated links.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from mptcplab import bpf
from mptcplab.bpf import libbpf
from mptcplab.bpf.compile import built
from mptcplab.cli import invoke
from mptcplab.engines.live import Namespace, set_up

CONTROLS = ("net/ipv4/tcp_available_congestion_control", "net/ipv4/tcp_congestion_control")


def lacking() -> str | None:
    if os.geteuid() != 0:
        return "loading a program into the kernel needs root"
    if shutil.which("clang") is None:
        return "clang is not installed"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)"
    try:
        libbpf.library()
    except libbpf.BpfUnavailableError as error:
        return str(error)
    return None


LACKING = lacking()
live = pytest.mark.skipif(LACKING is not None, reason=f"no BPF here: {LACKING}")


def available() -> list[str]:
    return Path("/proc/sys", CONTROLS[0]).read_text(encoding="ascii").split()


def test_ci_has_what_it_takes() -> None:
    """Where CI has installed clang and libbpf, nothing below may be left out."""
    if os.environ.get("MPTCPLAB_REQUIRE_BPF"):
        assert LACKING is None


def send(control: str, size: int) -> tuple[bytes, int]:
    """A transfer over the loopback of the thread's namespace: the control that carried it, and the bytes that came."""
    received = 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            nonlocal received
            connection, _ = server.accept()
            with connection:
                while part := connection.recv(1 << 16):
                    received += len(part)

        reader = threading.Thread(target=serve)
        reader.start()
        with socket.socket() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            client.connect(server.getsockname())
            client.sendall(bytes(size))
            chosen = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        reader.join(timeout=30)
    return chosen.rstrip(b"\0"), received


@live
@pytest.mark.parametrize("name", bpf.NAMES)
def test_a_control_is_there_for_a_block_and_carries_data(name: str) -> None:
    kept = name in available()
    with bpf.registered(name):
        assert name in available()
        with Namespace("bpf") as namespace:
            set_up(namespace)
            assert name in namespace.control(CONTROLS[0]).split()
            namespace.set_controls({CONTROLS[1]: name})
            assert namespace.control(CONTROLS[1]) == name
            assert namespace.run(send, name, 20_000_000) == (name.encode(), 20_000_000)
    assert (name in available()) == kept


@live
def test_the_kernel_takes_it_away_when_its_holder_is_killed() -> None:
    if "ewtcp" in available():
        pytest.skip("ewtcp is loaded on this machine: nobody's process holds it")
    text = (
        "import sys, time\nfrom mptcplab import bpf\n"
        "with bpf.registered('ewtcp'):\n    print('there', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "there\n"
    assert "ewtcp" in available()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    for _ in range(100):
        if "ewtcp" not in available():
            return
        threading.Event().wait(0.05)
    pytest.fail("still there 5 s after its holder")


@live
def test_load_and_unload(capsys: pytest.CaptureFixture[str]) -> None:
    if "olia" in available():
        pytest.skip("olia is loaded on this machine already; it is not ours to unload")
    try:
        assert invoke(["bpf", "load", "olia"]) == 0
        assert "olia" in available()
        assert invoke(["bpf", "load", "olia"]) == 0
        assert "already loaded" in capsys.readouterr().out
        assert invoke(["bpf", "list"]) == 0
        assert "until unloaded" in capsys.readouterr().out
    finally:
        assert invoke(["bpf", "unload", "olia"]) == 0
    for _ in range(100):
        if "olia" not in available():
            break
        threading.Event().wait(0.05)
    assert "olia" not in available()
    assert invoke(["bpf", "unload", "olia"]) == 2


def test_what_stays_the_default_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "default").write_text("olia\n", encoding="ascii")
    monkeypatch.setitem(bpf.is_default.__globals__, "_DEFAULT", tmp_path / "default")
    monkeypatch.setattr(bpf, "unload", lambda name: None)
    assert invoke(["bpf", "unload", "olia"]) == 0
    assert "olia is still the default control of new connections" in capsys.readouterr().err
    assert invoke(["bpf", "unload", "lia"]) == 0
    assert capsys.readouterr().err == ""


def test_wrong_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["bpf", "load", "cubic"]) == 2
    assert "choose from balia, ewtcp, lia, mppert, olia, pert, wvegas" in capsys.readouterr().err


@live
def test_what_the_kernel_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken.o"
    broken.write_bytes(built("lia").read_bytes()[:2000])
    with pytest.raises(bpf.BpfError, match=r"cannot open .*broken\.o"):
        libbpf.register(broken)


def test_without_clang_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(bpf.BpfUnavailableError, match="apt install clang"):
        built("lia")
