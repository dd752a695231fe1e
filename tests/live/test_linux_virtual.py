"""The engine `linux-virtual`: short runs in guests, as far as a kernel is built for them (mptcplab kernel build).

Nothing here is about speed. Guests that break down on purpose are small ones.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import mptcplab
import numpy as np
import pytest
from mptcplab import kernels
from mptcplab.capture.divergence import packets_of, sent
from mptcplab.capture.settings import Capture
from mptcplab.cli import invoke
from mptcplab.engines import catalogue
from mptcplab.engines.linux.hosts import Played
from mptcplab.engines.linux_virtual import columns, guest, refusals
from mptcplab.engines.linux_virtual.processor import core, cpu_time_s
from mptcplab.engines.runner import run
from mptcplab.kernels import store
from mptcplab.kernels.tools import tools
from mptcplab.scenario import Scenario, UnsupportedError

from studies import exact

BUILT = sorted(kernels.kernels(), key=lambda each: len(each.controls), reverse=True)
"""The one with most controls first; test_each_kernel.py looks at all of them."""
virtual = pytest.mark.skipif(not BUILT, reason="no guest kernel is built here (mptcplab kernel build 6.12)")
KERNEL = BUILT[0].name if BUILT else ""
ENGINE = f"linux-virtual:{KERNEL}"

LOSSY = """
duration = "600 ms"
[link.fast]
rate = "5 Mbit/s"
delay = "10 ms"
queue = "50 ms"
down.loss = "2 %"
[link.slow]
rate = "2 Mbit/s"
delay = "20 ms"
queue = "50 ms"
[connection.m]
paths = ["fast", "slow"]
congestion = "reno"
[measure]
warmup = "0 s"
"""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.from_toml(LOSSY, "virtual.toml")


def captured(scenario: Scenario, seed: int, place: Path) -> dict[str, bytes]:
    place.mkdir()
    result = run(scenario, ENGINE, seed=seed, capture=Capture(place, 0))
    files = {path.name: path.read_bytes() for path in place.iterdir()}
    assert len(files) == 3
    assert all(len(data) > 1000 for data in files.values())
    return {"result": result.to_json().encode(), **files}


@virtual
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(scenario: Scenario, tmp_path: Path) -> None:
    found: dict[str, dict[str, bytes]] = {}

    def work(name: str, seed: int) -> None:
        found[name] = captured(scenario, seed, tmp_path / name)

    # Beside one another: guests do not see how busy their machine is.
    threads = [threading.Thread(target=work, args=each) for each in (("a", 1), ("b", 1), ("other", 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["a"] == found["b"]
    # Packets too, whose keys, ports and sequence numbers are random.
    assert all(found["a"][name] != found["other"][name] for name in found["a"])


@virtual
def test_how_long_a_guest_takes_to_load_its_program_is_no_matter(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = run(scenario, ENGINE)
    # No whole number of ticks.
    monkeypatch.setattr(guest, "_CODE", "import time; time.sleep(0.0123456); " + guest._CODE)
    # Random numbers are others, into which the times of interrupts go; what was carried is the same.
    columns = ("path", "goodput_bps", "retransmissions")
    assert run(scenario, ENGINE).subflows.select(columns).rows() == quick.subflows.select(columns).rows()


ELSEWHERE = """
import ctypes, os, resource, sys
from pathlib import Path
from mptcplab.capture.settings import Capture
from mptcplab.engines.runner import run
from mptcplab.scenario import Scenario

PR_SET_THP_DISABLE = 41
assert ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.umask(0o077)
os.nice(5)
os.chdir("/")
scenario, engine, place = Scenario.load(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
place.mkdir()
result = run(scenario, engine, seed=1, capture=Capture(place, 0))
(place / "result").write_text(result.to_json(), encoding="utf-8")
"""


@virtual
def test_a_run_begins_at_a_tick_of_the_guests_clock(scenario: Scenario, tmp_path: Path) -> None:
    """Timestamps change where the run's milliseconds do, as in the simulator; right then they may lag."""
    run(scenario, ENGINE, capture=Capture(tmp_path))
    offsets: defaultdict[bytes, set[int]] = defaultdict(set)
    for time_ns, packet in packets_of(next(tmp_path.glob("*-server.pcapng")).read_bytes()):
        tcp = packet[4 * (packet[0] & 15) :]
        at = tcp.find(b"\x01\x01\x08\x0a", 20)
        if packet[14] == 0xFF and tcp[13] & 2 == 0 and at > 0 and time_ns % 1_000_000 > 50_000:
            (value,) = struct.unpack_from(">I", tcp, at + 4)
            offsets[packet[12:20] + tcp[:4]].add(value - time_ns // 1_000_000)
    assert len(offsets) == 2
    assert all(len(each) == 1 for each in offsets.values()), offsets


@virtual
def test_a_connection_at_time_0_does_not_wait_for_the_links(scenario: Scenario, tmp_path: Path) -> None:
    """A host whose SYN waited until the links ran would take that for a part of the round trip."""
    run(scenario, ENGINE, capture=Capture(tmp_path))
    syns: dict[bytes, int] = {}
    others: dict[bytes, int] = {}
    for time_ns, packet in packets_of(next(tmp_path.glob("*-server.pcapng")).read_bytes()):
        tcp = packet[4 * (packet[0] & 15) :]
        syn = tcp[13] & 2
        at = tcp.find(b"\x04\x02\x08\x0a" if syn else b"\x01\x01\x08\x0a", 20)
        if packet[14] != 0xFF and at > 0:
            (value,) = struct.unpack_from(">I", tcp, at + 4)
            (syns if syn else others).setdefault(packet[12:20] + tcp[:4], value - time_ns // 1_000_000)
    assert len(syns) == 2
    assert all(abs(syns[each] - others[each]) <= 1 for each in syns), (syns, others)


@virtual
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_a_whole_transfer_is_the_simulators(control: str) -> None:
    """On this network 3 µs of processing a round trip would let the receive buffer grow an acknowledgment earlier."""
    case = exact.Case(exact.networks(1)[0], 0, control, "4 MB", lossy=False)
    found = exact.compared(case, exact.run(case, "sim"), exact.run(case, ENGINE))
    assert found.first is None, (found.alike, found.cause)
    assert found.alike > 4_000


@virtual
def test_a_guest_sees_nothing_of_how_its_host_is_set(tmp_path: Path) -> None:
    scenario_file = tmp_path / "virtual.toml"
    scenario_file.write_text(LOSSY)
    here = captured(Scenario.load(scenario_file), 1, tmp_path / "here")
    words = [sys.executable, "-c", ELSEWHERE, str(scenario_file), ENGINE, str(tmp_path / "there")]
    if shutil.which("setarch"):
        words = ["setarch", "-R", *words]  # no randomisation of addresses
    if os.geteuid() == 0 and shutil.which("unshare"):
        sysctls = "net.ipv4.tcp_sack=0 net.ipv4.tcp_rmem='4096 8192 16384' net.mptcp.enabled=0"
        words = ["unshare", "-n", "-u", "sh", "-c", f'hostname other; sysctl -qw {sysctls}; exec "$@"', "sh", *words]
    # A long environment moves the stack.
    there = {**os.environ, "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "LONG": "x" * 50_000}
    (tmp_path / "other").mkdir()
    subprocess.run(words, env={**there, "TMPDIR": str(tmp_path / "other")}, check=True)
    assert here == {path.name: path.read_bytes() for path in (tmp_path / "there").iterdir()}


def test_a_guest_finds_modules_in_the_same_places_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    before = guest.command()
    monkeypatch.setattr(sys, "path", ["/usr/local/bin", *sys.path, "/somewhere"])
    assert guest.command() == before


@virtual
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.parametrize("links", ["emulator", "tc"])
def test_programs_run_in_a_guest(links: str) -> None:
    changes = {"duration": "4 s", "links": links}
    scenario = Scenario.load("scenarios/iperf3.toml").with_(changes)
    result = run(scenario, ENGINE)
    assert result.connections["bytes_delivered"].to_list()[0] > 100_000
    assert result.runs[0][1].failures == ()
    # The emulator counts what subflows lose; the kernel's disciplines do not.
    assert all((each is None) == (links == "tc") for each in result.subflows["loss_rate"])


@virtual
@pytest.mark.parametrize(("loss_detection", "sack"), [("newreno", False), ("rack-tlp", True)])
def test_without_sack_the_kernel_is_left_with_newreno(loss_detection: str, sack: bool, tmp_path: Path) -> None:
    text = LOSSY.replace("[measure]", f'tcp = {{ loss_detection = "{loss_detection}" }}\n[measure]')
    run(Scenario.from_toml(text, "virtual.toml"), ENGINE, seed=1, capture=Capture(tmp_path))
    offers = [packet for packet in sent(tmp_path) if "SYN" in packet.flags]
    assert offers
    assert all(("SACK permitted" in packet.options) == sack for packet in offers)


@virtual
def test_a_run_carries_what_the_links_do(scenario: Scenario) -> None:
    result = run(scenario, ENGINE, repeat=2, jobs=2)
    assert result.connections["repeat"].to_list() == [0, 1]
    for connection in result.connections.to_dicts():
        assert (connection["scheduler"], connection["fallback"]) == ("linux", False)
        # 7 Mbit/s in all, of which 1,420 of 1,500 bytes are data.
        assert 0.1e6 < connection["goodput_bps"] < 7e6 * 1420 / 1500
    told = result.runs[0][1].live
    assert told is not None
    assert told["valid"]
    assert told["mptcp_counters"]["m server"]["MPJoinAckRx"] == 1
    assert told["lateness_s"]["p99"] < 1e-4
    origin = result.provenance.kernel
    assert origin is not None
    assert (origin["name"], origin["hz"]) == (KERNEL, BUILT[0].hz)
    assert origin["sysctls"]["m"]["net/mptcp/enabled"] == 1
    # The samples have come over whole.
    samples = result.runs[0][1].samples
    assert set(samples["kind"].unique()) == {"subflow", "link"}
    assert result.runs[0][1].links.height == 4


@pytest.mark.parametrize("kernel", [kernel.name for kernel in BUILT])
def test_every_kernel_that_is_built_carries_data(scenario: Scenario, kernel: str) -> None:
    (connection,) = run(scenario, f"linux-virtual:{kernel}").connections.to_dicts()
    assert not connection["fallback"]
    assert 0.1e6 < connection["goodput_bps"] < 7e6 * 1420 / 1500


@virtual
def test_what_it_cannot_do_is_refused_before_a_guest_boots(
    scenario_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(scenario_file), "--engine", "linux-virtual", "--kernel", KERNEL]
    assert invoke([*words, "--set", "connection.download.scheduler=redundant"]) == 3
    assert "redundant" in capsys.readouterr().err
    assert invoke([*words[:-1], "none-such"]) == 2
    assert "there is no guest kernel 'none-such'" in capsys.readouterr().err
    assert invoke([*words, "--through-wire"]) == 2
    with pytest.raises(UnsupportedError, match="redundant"):
        run(Scenario.from_toml(LOSSY, "a.toml", ('connection.m.scheduler="redundant"',)), ENGINE)


def test_a_control_that_its_kernel_lacks_is_refused(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = kernels.Kernel("mine", "0" * 64, "6.12", "a tree", "", "", 1000, {"lia": ""}, "gcc", store.cache() / "mine")
    (tmp_path / "config").write_text("CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\n")
    store.keep(made, tmp_path / "config", tmp_path / "config")
    words = ["run", str(scenario_file), "--engine", "linux-virtual", "--set", "connection.download.congestion=olia"]
    assert invoke(words) == 3
    assert "reno, cubic or lia; or first: mptcplab kernel build --with olia" in capsys.readouterr().err.replace('"', "")
    able = Scenario.from_toml(LOSSY.replace("reno", "lia"), "a.toml")
    assert refusals.unsupported(able, "mine") == []


@pytest.mark.parametrize("control", ["lia", "olia", "wvegas", "mppert"])
@virtual
def test_a_control_that_was_compiled_in_carries_data(scenario: Scenario, control: str) -> None:
    able = [kernel.name for kernel in BUILT if control in kernel.controls]
    if not able:
        pytest.skip(f"no guest kernel has {control} (mptcplab kernel build 6.12 --with {control})")
    reno = run(scenario, f"linux-virtual:{able[0]}")
    result = run(scenario.with_(f"connection.m.congestion={control}"), f"linux-virtual:{able[0]}")
    (connection,) = result.connections.to_dicts()
    assert 0.1e6 < connection["goodput_bps"] < 7e6 * 1420 / 1500
    assert result.runs[0][1].samples.to_dicts() != reno.runs[0][1].samples.to_dicts()


def test_check_needs_no_kernel(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert invoke(["check", str(scenario_file)]) == 0
    assert "linux-virtual cannot run it" in capsys.readouterr().out
    assert invoke(["run", str(scenario_file), "--engine", "linux-virtual"]) == 3
    assert "mptcplab kernel build" in capsys.readouterr().err


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(guest, "MEMORY_MB", 64)
    return tmp_path


@virtual
def test_a_guest_that_hangs_is_ended(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "SILENT_CPU_S", 2.0)
    with pytest.raises(guest.GuestError, match=r"did not advance in 2 s of CPU time(?s:.)*about to spin"):
        guest.boot(
            kernels.find(KERNEL),
            small,
            seed=1,
            progress=None,
            words=["/bin/sh", "-c", "echo about to spin > /dev/console; while :; do :; done"],
        )


SPIN = "import os; os.fork(); exec('while True: pass')"
"""Two processes of a group, as a guest is: half of what they compute is the child's."""
WAIT = "import time; time.sleep(3600)"


def watched(program: str, place: Path, most_looks: int) -> str:
    """What is said of a process that never advances; nothing when it was left alone so often."""
    looks = 0

    def progress(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks > most_looks:
            process.terminate()

    (place / "progress").touch()
    os.utime(place / "progress", (0, 0))
    process = subprocess.Popen([sys.executable, "-S", "-c", program], start_new_session=True)
    try:
        return guest._watch(process, place, progress)
    finally:
        guest._end(process)


def test_a_guest_is_given_up_by_what_it_computes_not_by_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "_LOOK_S", 0.01)
    monkeypatch.setattr(guest, "_LOOK_AT_CPU_S", 0.0)
    monkeypatch.setattr(guest, "SILENT_CPU_S", 0.5)
    assert watched(SPIN, tmp_path, 1_000_000) == "did not advance in 0.5 s of CPU time"
    # A starved guest: many times as long, and nothing computed.
    assert not watched(WAIT, tmp_path, 300)
    monkeypatch.setattr(guest, "SILENT_WALL_S", 0.5)
    assert watched(WAIT, tmp_path, 1_000_000) == "did not advance in 0.5 s"


def test_the_cpu_time_of_a_guest_is_that_of_all_its_processes() -> None:
    # The child computes for 0.3 s and ends, its parent for 0.2 s and stays.
    program = (
        "import os, time\n"
        "def compute(s):\n"
        "    while time.process_time() < s: pass\n"
        "if os.fork() == 0:\n    compute(0.3); os._exit(0)\n"
        "os.wait(); compute(0.2); print('done', flush=True); time.sleep(3600)\n"
    )
    with subprocess.Popen([sys.executable, "-S", "-c", program], start_new_session=True, stdout=subprocess.PIPE) as it:
        try:
            assert it.stdout is not None
            it.stdout.readline()
            found = cpu_time_s(it.pid)
        finally:
            it.kill()
    # Ticks are of 10 ms, and each process has two counts; starting Python takes tens of milliseconds.
    assert 0.5 - 0.04 <= found < 1.0
    assert cpu_time_s(it.pid) == 0.0


@virtual
def test_a_guest_without_memory_says_so(small: Path) -> None:
    hungry = [sys.executable, "-S", "-E", "-c", "x = [bytearray(1 << 20) for _ in range(1000)]"]
    with pytest.raises(mptcplab.SimulationError, match="memory"):
        guest.boot(kernels.find(KERNEL), small, seed=1, progress=None, words=hungry)


@virtual
def test_a_guest_that_panics_says_its_last_words(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (small / "tools").mkdir()
    (small / "tools/init").write_text("no program")
    (small / "tools/init").chmod(0o755)
    shutil.copy(tools() / "seed.so", small / "tools/seed.so")
    monkeypatch.setattr(guest, "tools", lambda: small / "tools")
    with pytest.raises(mptcplab.SimulationError, match=r"broke down(?s:.)*panic"):
        guest.boot(kernels.find(KERNEL), small, seed=1, progress=None)


@virtual
def test_what_its_program_said_is_in_the_error(small: Path) -> None:
    with pytest.raises(guest.GuestError, match=r"ended with status 3(?s:.)*out of order"):
        guest.boot(
            kernels.find(KERNEL), small, seed=1, progress=None, words=["/bin/sh", "-c", "echo out of order >&2; exit 3"]
        )


SEND_BUFFER = """
import fcntl, socket, struct, sys
client, server = socket.socket(), socket.socket()
fcntl.ioctl(client, 0x8922, struct.pack("16si12x", b"lo", 1500))  # SIOCSIFMTU
fcntl.ioctl(client, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS: up
server.bind(("127.0.0.1", 0))
server.listen()
client.connect(server.getsockname())
sys.exit(f"a send buffer of {client.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)} bytes")
"""


@virtual
def test_a_connection_begins_with_the_send_buffer_of_other_kernels(small: Path) -> None:
    # Twice ten segments of 1460 bytes, each 4096 + 256 bytes of memory. Where a kernel leaves less room for link
    # headers, a segment takes 2048 + 256, and the scheduler assigns half as much data ahead.
    with pytest.raises(guest.GuestError, match="a send buffer of 87040 bytes"):
        guest.boot(
            kernels.find(KERNEL), small, seed=1, progress=None, words=[sys.executable, "-S", "-E", "-c", SEND_BUFFER]
        )


@pytest.fixture
def for_anybody() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(prefix="mptcplab-test-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@virtual
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="becomes another user, as root")
def test_an_ordinary_user_needs_no_privileges(for_anybody: Path) -> None:
    cache = for_anybody / "mptcplab/kernels"
    shutil.copytree(kernels.find(KERNEL).place, cache / "one")
    (for_anybody / "lossy.toml").write_text(LOSSY)
    own = for_anybody / "tmp"
    own.mkdir()
    for path in (own, *for_anybody.rglob("*")):
        os.chown(path, 65534, 65534)
    # Nobody may read an interpreter in root's home; the system's of the same version does as well.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    done = None
    for python in (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin")):
        nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set", "-all")
        words = (*nobody, "--no-new-privs", python or "false", "-c", "from mptcplab.cli import main; main()")
        done = subprocess.run(
            [*words, "run", str(for_anybody / "lossy.toml"), "--engine", "linux-virtual", "--json"],
            env={
                **os.environ,
                "HOME": str(own),
                "TMPDIR": str(own),
                "XDG_CACHE_HOME": str(for_anybody),
                "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 127 and "Permission denied" not in done.stderr:
            break
    assert done is not None
    if "Permission denied" in done.stderr and not done.stdout:
        pytest.skip("this installation may be read by its owner only")
    assert done.returncode == 0, done.stderr
    assert '"engine": "linux-virtual"' in done.stdout


def test_what_a_guest_answers_comes_over_whole() -> None:
    outcome = {"summary": '{"connections": []}'}
    for group, kinds in columns.TYPES.items():
        outcome[group] = {  # type: ignore[assignment]
            name: np.arange(3, dtype=kind) if number % 2 else np.arange(3, dtype=kind).tobytes()
            for number, (name, kind) in enumerate(kinds.items())
        }
    played = Played(
        outcome,
        {"m client": {"MPJoinAckRx": 1}},
        4,
        records=[{"stdout": "Ü"}],
        notes=["a note"],
        failures=["a failure"],
    )
    again = columns.unpack(columns.pack(played))
    assert (again.counters, again.dropped, again.records) == (played.counters, 4, [{"stdout": "Ü"}])
    assert (again.notes, again.failures, again.outcome["summary"]) == (["a note"], ["a failure"], outcome["summary"])
    for group, kinds in columns.TYPES.items():
        for name, kind in kinds.items():
            assert again.outcome[group][name].dtype == np.dtype(kind)
            assert again.outcome[group][name].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="more than the columns have"):
        columns.unpack(columns.pack(played) + b"1")


def test_guests_have_cores_of_their_own_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4})
    with core() as first, core() as second:
        assert {first, second} == {1, 4}
        with core() as third, core() as fourth:
            assert {third, fourth} == {1, 4}
    with core() as again:
        assert again == 1


def test_a_kernel_stands_behind_the_name_of_the_engine() -> None:
    assert catalogue.find("linux-virtual:7.3").arguments == {"kernel": "7.3"}
    assert catalogue.with_kernels(["sim", "linux-virtual"], ["a", "b"]) == ["sim", "linux-virtual:a", "linux-virtual:b"]
    assert catalogue.with_kernels(["sim"], []) == ["sim"]
    with pytest.raises(ValueError, match="sim does not use one"):
        catalogue.with_kernels(["sim"], ["a"])
    for wrong in ("sim:a", "linux-virtual:", "none:a"):
        with pytest.raises(mptcplab.UnknownEngineError):
            catalogue.find(wrong)
