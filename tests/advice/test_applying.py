"""`--apply` and `--undo` on a machine of the test's own: set, checked, and as it was, also after a crash in between."""

import sys
from pathlib import Path

import pytest
from mptcplab import machine
from mptcplab.cli.app import invoke

from tests.advice.machines import Machines
from tests.needs import needs

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
without = pytest.mark.skipif(bool(MISSING), reason=f"no live system here: {MISSING}")
PATHS = ("a", "b", "c")
STATE = (
    "ip route show default; ip -6 route show default; ip mptcp endpoint show; ip mptcp limits show; "
    "cat /proc/sys/net/ipv4/conf/line*/rp_filter; "
    "sysctl net.ipv4.tcp_congestion_control net.mptcp.enabled net.ipv4.tcp_rmem"
)
APPLY = """
import os
from mptcplab.advice import applying
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands.setup import Setup
from mptcplab.advice.places import read_interfaces
places = read_interfaces({interfaces}, ["a", "b", "c"], ipv6={ipv6})
setup = Setup.of(Candidate("reno", "linux", ("b", "a"), ("c",), True, 2**24), ("a", "b", "c"), ipv6={ipv6})
crash, count, run = {crash}, 0, applying._run
def crashing(command):
    global count
    count += 1
    if count == crash:
        os._exit(9)
    run(command)
applying._run = crashing
applying.apply(setup, places, lambda name: None)
"""


def python(machines: Machines, text: str) -> str:
    words = f"import sys\nsys.path[:] = {sys.path!r}\n{text}"
    return machines.shell("client", f"{sys.executable} - <<'END'\n{words}\nEND\n")


@needs("ip", "sysctl")
@pytest.mark.live
@without
@pytest.mark.parametrize(("crash", "ipv6"), [*((crash, False) for crash in (0, 1, 4, 9, 13)), (0, True), (9, True)])
def test_what_was_there_comes_back_also_after_a_crash(crash: int, ipv6: bool) -> None:
    """The program ends at its first, fourth, … command without a chance to clean up; another undoes it."""
    with Machines(PATHS, 1, ipv6=ipv6) as machines:
        addresses = {line.address for line in machines.lines}
        third = machines.lines[2].address
        machines.shell("client", f"ip mptcp endpoint add {third} dev line3 id 7 signal; ip mptcp limits set subflows 3")
        before = machines.shell("client", STATE)
        gateways = ["", *(f" via {line.gateway}" for line in machines.lines[1:])]
        named = [f"{line.path}: {line.interface}{via}" for line, via in zip(machines.lines, gateways, strict=True)]
        applied = APPLY.replace("{interfaces}", repr(named)).replace("{ipv6}", str(ipv6))
        if crash:
            with pytest.raises(AssertionError):
                python(machines, applied.replace("{crash}", str(crash)))
        else:
            python(machines, applied.replace("{crash}", "0"))
            machines.shell("server", "ip mptcp limits set subflows 8 add_addr_accepted 8")
            machines.call()
            assert set(machines.subflows()) == addresses
            machines.hang_up()
            assert "27262976" in machines.shell("client", STATE)
        # The first command of all is only reached after what was there has been noted.
        python(machines, "from mptcplab.cli.app import invoke; assert invoke(['advise', '--undo']) == 0")
        assert machines.shell("client", STATE) == before
        python(machines, "from mptcplab.cli.app import invoke; assert invoke(['advise', '--undo']) == 1")


@needs("ip", "sysctl")
@pytest.mark.live
@without
def test_the_command_applies_what_it_advises_and_a_dry_run_does_nothing() -> None:
    # A namespace may only choose the kernel's own default (and Reno): the question is such that it is advised.
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(encoding="ascii").split()
    kind, loss = ("calls", "") if "cubic" in allowed else ("bulk", ", 2 %")
    question = ["advise", "--traffic", kind, "--budget", "0.1", "--for", "linux", "--prefer", "survive"]
    question += ["--path", f"a: 10M, 10 ms{loss}", "--path", f"b: 1M, 300 ms{loss}"]
    question += ["--interface", "a: line1", "--interface", "b: line2 via 10.2.0.1", "--apply"]
    with Machines(PATHS, 1) as machines:
        before = machines.shell("client", STATE)
        call = "from mptcplab.cli.app import invoke; assert invoke({}) == 0"
        said = python(machines, call.format([*question, "--dry-run"]))
        added = next(line for line in said.splitlines() if line.startswith("  ip mptcp endpoint add 10.2.0.2"))
        assert "_OF_" not in said
        assert machines.shell("client", STATE) == before
        python(machines, call.format([*question, "--yes"]))
        endpoints = machines.shell("client", "ip mptcp endpoint show")
        assert ("backup" in endpoints) == ("backup" in added)
        assert endpoints.startswith("10.2.0.2 id 1 subflow")
        python(machines, call.format(["advise", "--undo"]))
        assert machines.shell("client", STATE) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--apply"], "found no --interface"),
        (["--dry-run"], "found no --apply"),
        (["--interface", "a lo"], "a path's name and an interface"),
        (["--interface", "a: lo", "--interface", "x: lo"], "no IPv4 address on lo"),
        (["--interface", "a: nosuch0"], "no interface"),
    ],
)
def test_what_cannot_be_applied_is_said_before_anything_runs(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    words = ["advise", "--path", "a: 10M, 10 ms", "--path", "b: 5M, 300 ms", *arguments]
    assert invoke(words) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_who_is_not_root_is_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    words = ["advise", "--path", "a: 10M, 10 ms", "--path", "b: 5M, 300 ms", "--apply", "--interface", "a: lo"]
    assert invoke(words) == 3
    assert "need root" in capsys.readouterr().err
