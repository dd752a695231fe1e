"""What `doctor` finds on machines that are made up in a directory."""

from pathlib import Path

import pytest
from mptcplab.cli import doctor


def machine(root: Path, *, capabilities: str = "0", mptcp: str | None = None) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    if mptcp is not None:
        (root / "proc/sys/net/mptcp").mkdir(parents=True)
        (root / "proc/sys/net/mptcp/enabled").write_text(mptcp)
    return root


def finding(root: Path, engine: str, what: str) -> doctor.Finding:
    section = next(section for section in doctor.examine(root) if section.title == engine)
    return next(finding for finding in section.findings if what in finding.what)


@pytest.mark.parametrize(
    ("capabilities", "held"),
    # Bit 12 is CAP_NET_ADMIN.
    [("0000000000000000", False), ("0000000000001000", True), ("000001ffffffffff", True), ("0000000000000fff", False)],
)
def test_the_capability_is_read_from_the_kernel(tmp_path: Path, capabilities: str, held: bool) -> None:
    found = finding(machine(tmp_path, capabilities=capabilities), "stack", "CAP_NET_ADMIN")
    assert found.good is held
    assert (found.remedy is None) is held


@pytest.mark.parametrize(("value", "good"), [("1\n", True), ("0\n", False), (None, False)])
def test_multipath_tcp_of_the_kernel(tmp_path: Path, value: str | None, good: bool) -> None:
    found = finding(machine(tmp_path, mptcp=value), "linux", "net.mptcp.enabled")
    assert found.good is good
    if value == "0\n":
        assert found.remedy == "sysctl -w net.mptcp.enabled=1"


def test_a_missing_device_and_a_missing_proc_have_remedies(tmp_path: Path) -> None:
    for what in ("/dev/net/tun", "CAP_NET_ADMIN"):
        found = finding(tmp_path, "stack", what)
        assert not found.good
        assert found.remedy


def test_tools_are_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    missing = finding(machine(tmp_path), "linux", "iperf3")
    assert (missing.good, missing.remedy) == (False, "install it, on Debian: apt-get install iperf3")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "iperf3").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "iperf3").chmod(0o755)
    assert finding(tmp_path, "linux", "iperf3").good


def test_the_simulator_needs_nothing(tmp_path: Path) -> None:
    sim = next(section for section in doctor.examine(tmp_path) if section.title == "sim")
    assert sim.ready
    assert sim.findings == ()
