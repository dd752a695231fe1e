"""Links that are the kernel's queueing disciplines (`links = "tc"`): what tc is told and refused, and guests."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from mptcplab import kernels
from mptcplab.capture.settings import Capture
from mptcplab.cli import invoke
from mptcplab.engines.linux import disciplines
from mptcplab.engines.linux_virtual import refusals
from mptcplab.engines.linux_virtual.guest import boot
from mptcplab.engines.runner import run
from mptcplab.scenario import Scenario
from mptcplab.scenario.describe import description

from tests.live.test_mtu import check_segments
from tests.needs import needs
from tests.simulated.test_mtu import TWO

BUILT = kernels.kernels()
virtual = pytest.mark.skipif(
    not BUILT or shutil.which("tc") is None,
    reason="no guest kernel is built here (mptcplab kernel build 6.12), or there is no tc (iproute2)",
)
ENGINE = f"linux-virtual:{BUILT[0].name}" if BUILT else ""


def scenario(link: str = "", *, rest: str = "", links: str = "tc", protocol: str = "tcp") -> Scenario:
    return Scenario.from_toml(
        f'duration = "3 s"\nlinks = "{links}"\n[link.a]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n{link}\n'
        f'[connection.m]\npaths = ["a"]\nprotocol = "{protocol}"\ncongestion = "reno"\n'
        f'[measure]\nwarmup = "1 s"\n{rest}',
        "tc.toml",
    )


def down(link: str) -> dict[str, Any]:
    found: dict[str, Any] = description(scenario(link).document, 1, False)["links"][0]["down"]
    return found


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        # 50 ms at 10 Mbit/s are 62,500 bytes.
        ('"50 ms"', ["root handle 1: tbf rate 10000000bit burst 1500 limit 62500"]),
        # An empty queue accepts any packet.
        ('"0 ms"', ["root handle 1: tbf rate 10000000bit burst 1500 limit 1500"]),
        ('"40 packets"', ["tbf rate 10000000bit burst 1500 limit 60000", "parent 1:1 handle 10: pfifo limit 40"]),
        ('{ kind = "codel" }', ["limit 1500000", "codel limit 1000 target 5000us interval 100000us noecn"]),
        (
            '{ kind = "fq-codel", ecn = true }',
            ["limit 15360000", "fq_codel limit 10240 target 5000us interval 100000us flows 1024 quantum 1514 ecn"],
        ),
        # The kernel counts gains in sixteenths: 0.125 and 1.25 are its defaults, 2 and 20.
        ('{ kind = "pie" }', ["limit 1500000", "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn"]),
        ('{ kind = "cake" }', ["cake bandwidth 10000000bit besteffort raw no-split-gso memlimit 15360000"]),
        (
            '{ kind = "red", min = "10 packets", max = "30 packets", limit = "100 packets", gentle = false }',
            ["limit 150000", "red limit 150000 min 15000 max 45000 avpkt 1500 burst 72 bandwidth 10000000bit prob"],
        ),
    ],
)
def test_what_tc_is_told(queue: str, words: list[str]) -> None:
    commands = disciplines.queue(down(f"queue = {queue}"), 1500)
    assert len(commands) == len(words)
    for command, word in zip(commands, words, strict=True):
        assert command.startswith("qdisc add dev out ")
        assert word in command


def test_what_the_wire_is_told() -> None:
    assert disciplines.wire(down('loss = "1 %"\nduplicate = "2 %"')) == [
        "qdisc add dev out root handle 1: netem limit 1000000 delay 10000us loss random 1.000000000% "
        "duplicate 2.000000000%"
    ]
    bursts = 'loss = { kind = "gilbert-elliott", good_to_bad = "1 %", bad_to_good = "30 %", loss_bad = "80 %" }'
    (command,) = disciplines.wire(down(bursts))
    # tc-netem(8): p, r, 1 - h (lost in the bad state), 1 - k (lost in the good one).
    assert command.endswith("loss gemodel 1.000000000% 30.000000000% 80.000000000% 0.000000000%")
    assert disciplines.wire({**down(""), "delay_ns": 0}) == []


@virtual
def test_the_weight_that_red_is_to_have_is_what_tc_makes_of_the_burst(tmp_path: Path) -> None:
    asked = [(10, 0.002, 9), (5, 0.002, 9), (25, 2**-6, 6), (10, 0.5, 1)]
    lines = ["export PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ip link add out type dummy"]
    for least, weight, _ in asked:
        limits = f'min = "{least} packets", max = "90 packets", limit = "100 packets"'
        direction = down(f'queue = {{ kind = "red", {limits}, weight = {weight}, gentle = false }}')
        lines += [*(f"tc {command}" for command in disciplines.queue(direction, 1500)), "tc -d qdisc show dev out"]
        lines.append("tc qdisc del dev out root")
    boot(BUILT[0], tmp_path, seed=1, progress=None, words=["/bin/sh", "-c", "; ".join(lines)])
    console = (tmp_path / "console").read_text(encoding="utf-8")
    shown = [line.split() for line in console.splitlines() if line.startswith("qdisc red")]
    assert [int(line[line.index("ewma") + 1]) for line in shown] == [wlog for *_, wlog in asked]


@pytest.mark.parametrize(
    ("link", "rest", "key"),
    [
        ('queue = { kind = "dualpi2" }', "", "link.a.queue.kind"),
        ('queue = { kind = "red-ns2", limit = "50 packets" }', "", "link.a.queue.kind"),
        ('queue = { kind = "red", min = "9 packets", max = "30 packets", limit = "99 packets" }', "", "queue.gentle"),
        ('queue = { kind = "pie", max_burst = "100 ms" }', "", "link.a.queue.max_burst"),
        ('queue = { kind = "pie", alpha = 0.1 }', "", "link.a.queue.alpha"),
        ('queue = { kind = "cake", queues = 512 }', "", "link.a.queue.queues"),
        ('loss = { kind = "periodic", every = "9 packets" }', "", "link.a.loss"),
        ('jitter = "1 ms"', "", "link.a.jitter"),
        ('shaper = { rate = "5 Mbit/s" }', "", "link.a.shaper"),
        ('middleboxes = ["nat"]', "", "link.a.middleboxes"),
        ("", '[[event]]\nat = "1 s"\nlink = "a"\nset = { down = true }\n', "event.0"),
    ],
)
def test_what_tc_cannot_be_is_refused_by_name(link: str, rest: str, key: str) -> None:
    wrong = scenario(link, rest=rest)
    found = [problem.key for problem in refusals.unsupported(wrong, None)]
    assert any(key in each for each in found), found
    assert not [each for each in refusals.unsupported(wrong.with_(links="emulator"), None) if each.key in found]


@needs("tc")
def test_paths_that_part_again_are_refused() -> None:
    shared = (
        'duration = "1 s"\nlinks = "tc"\n'
        + "".join(f'[link.{name}]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n' for name in ("access", "one", "two"))
        + '[path.p]\nlinks = ["access", "one"]\n[path.q]\nlinks = ["access", "two"]\n'
        + '[connection.m]\npaths = ["p", "q"]\ncongestion = "reno"\n'
    )
    (found,) = refusals.unsupported(Scenario.from_toml(shared), None)
    assert found.key == "connection.m.paths"
    together = shared.replace('["access", "one"]', '["one", "access"]').replace(
        '["access", "two"]', '["two", "access"]'
    )
    assert refusals.unsupported(Scenario.from_toml(together), None) == []


def test_other_engines_on_real_packets_refuse_it_and_the_simulator_has_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [each.key for each in scenario().unsupported("linux")] == ["links"]
    assert [each.key for each in scenario().unsupported("stack")] == ["links"]
    assert scenario().unsupported("sim") == []
    path = tmp_path / "tc.toml"
    path.write_text(scenario().to_toml(), encoding="utf-8")
    assert 'links = "tc"' in path.read_text(encoding="utf-8")
    assert "links = " not in scenario(links="emulator").to_toml()
    assert invoke(["run", str(path), "--engine", "linux"]) == 3
    assert 'links: found "tc"' in capsys.readouterr().err


@virtual
def test_a_guest_with_the_kernels_queue_carries_what_the_link_does(tmp_path: Path) -> None:
    def once(seed: int, name: str) -> tuple[str, dict[str, bytes], Any]:
        place = tmp_path / name
        place.mkdir()
        result = run(scenario('queue = "20 packets"'), ENGINE, seed=seed, capture=Capture(place, 0))
        return result.to_json(), {path.name: path.read_bytes() for path in place.iterdir()}, result

    document, packets, result = once(1, "a")
    (connection,) = result.connections.to_dicts()
    # Of a packet of 1,500 bytes 1,448 are data. What waited for a lost one when the warm-up ended, a window of 37
    # packets at most, counts where it is delivered, within the 2 s behind it.
    most_bps = 10e6 * 1448 / 1500 + 37 * 1448 * 8 / 2
    assert 0.95 * 10e6 * 1448 / 1500 < connection["goodput_bps"] < most_bps
    rows = {row["direction"]: row for row in result.links.to_dicts()}
    assert 0.95 < rows["down"]["utilization"] < 1.001
    assert 5 < rows["down"]["queue_mean_packets"] < rows["down"]["queue_max_packets"] <= 20
    assert rows["down"]["drops"] > 0
    assert rows["up"]["queue_max_packets"] <= 2
    (subflow,) = result.subflows.to_dicts()
    # Two delays, and a wait of at most 20 packets; what is lost of a subflow no discipline tells.
    assert 0.020 < subflow["rtt_mean_s"] < 0.020 + 21 * 0.0012
    assert subflow["loss_rate"] is None
    samples = result.samples.filter(result.samples["link"].is_not_null())
    assert samples.height == 2 * 30
    assert once(1, "b")[:2] == (document, packets)
    assert once(2, "c")[1] != packets


@virtual
def test_the_wire_loses_what_it_is_told_and_multipath_tcp_takes_both_links() -> None:
    two = Scenario.from_toml(
        'duration = "3 s"\nlinks = "tc"\n[link.a]\nrate = "8 Mbit/s"\ndelay = "5 ms"\nqueue = { kind = "fq-codel" }\n'
        '[link.b]\nrate = "4 Mbit/s"\ndelay = "5 ms"\nqueue = { kind = "cake" }\ndown.loss = "5 %"\n'
        '[connection.m]\npaths = ["a", "b"]\ncongestion = "reno"\n'
    )
    result = run(two, ENGINE)
    rows = {(row["name"], row["direction"]): row for row in result.links.to_dicts()}
    lost = rows["b", "down"]["loss_rate"]
    packets = rows["b", "down"]["drops"] / lost
    # Five standard deviations of as many draws.
    assert abs(lost - 0.05) < 5 * (0.05 * 0.95 / packets) ** 0.5
    assert packets > 200
    assert rows["a", "down"]["utilization"] > 0.8


@virtual
@pytest.mark.parametrize("direction", ["down", "up"])
def test_hosts_announce_what_their_links_take(direction: str) -> None:
    """Nothing on the way lowers the MSS; both hosts' SYNs say what their path takes."""
    changes = ("duration=6 s", 'links="tc"', f"connection.m.direction={direction}")
    check_segments(run(Scenario.from_toml(TWO, "mtu.toml", changes), ENGINE))


@virtual
def test_red_inside_a_shaper_is_noted() -> None:
    """The kernel's red learns that it is idle when it is asked for a packet and has none; tbf only looks (peek)."""
    limits = 'min = "5 packets", max = "10 packets", limit = "100 packets", weight = 0.5'
    result = run(scenario(f'down.queue = {{ kind = "red", {limits}, gentle = false }}'), ENGINE)
    assert any("RED" in note for _, each in result.runs for note in each.notes)
