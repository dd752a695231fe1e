"""The printed lines, pasted on machines of the test's own: every subflow is there, has the setting, and goes again."""

import itertools

import pytest
from mptcplab import machine
from mptcplab.advice.candidates import Candidate
from mptcplab.advice.commands import commands
from mptcplab.advice.commands.iproute import BEFORE

from tests.advice.machines import Machines
from tests.needs import needs

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
pytestmark = [
    needs("ip", "ss", "sysctl"),
    pytest.mark.live,
    pytest.mark.skipif(bool(MISSING), reason=f"no live system here: {MISSING}"),
]
PATHS = ("a", "b", "c")
STATE = (
    "ip route show default; ip -6 route show default; ip mptcp endpoint show; ip mptcp limits show; "
    "sysctl net.ipv4.tcp_congestion_control net.mptcp.enabled; grep . /proc/sys/net/ipv4/conf/line*/rp_filter"
)


def parts(candidate: Candidate, *, ipv6: bool = False) -> tuple[list[str], list[str], list[str]]:
    """The lines for both hosts, for the one with the paths, and the way back."""
    lines = commands(candidate, PATHS, ipv6=ipv6)["ip"]
    both = list(itertools.takewhile(lambda line: "host with the paths" not in line, lines))
    rest = lines[len(both) :]
    own = list(itertools.takewhile(lambda line: not line.startswith("# check"), rest))
    back = list(itertools.dropwhile(lambda line: not line.startswith("# the way back"), rest))
    return both, own, back


@pytest.mark.parametrize(("defaults", "ipv6"), [(1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize(
    ("candidate", "used"),
    [
        (Candidate("reno", "linux", ("a", "b"), (), True), "ab"),
        (Candidate("reno", "linux", ("b", "a", "c"), (), True), "abc"),
        (Candidate("reno", "linux", ("b",), ("a",), True), "ab"),
        (Candidate("reno", "linux", ("a", "c"), ("b",), True), "abc"),
        (Candidate("reno", "", ("b",), (), True), "b"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.label.replace(" ", "-"),
)
def test_pasted_lines_give_every_subflow_and_take_it_away(
    candidate: Candidate, used: str, defaults: int, ipv6: bool
) -> None:
    both, own, back = parts(candidate, ipv6=ipv6)
    with Machines(PATHS, defaults, ipv6=ipv6) as machines:
        # An endpoint that somebody made before: it is gone while this setting holds, and comes back.
        third = machines.lines[2].address
        machines.shell("client", f"ip mptcp endpoint add {third} dev line3 id 7 signal; ip mptcp limits set subflows 3")
        # As RHEL and its kin have it: what comes back on a path that is not the route to the server is dropped.
        machines.shell("client", "for line in /proc/sys/net/ipv4/conf/line*/rp_filter; do echo 1 > $line; done")
        before = machines.shell("client", STATE)
        saved = f"/run/{machines.name('before')}"  # the files are the machine's: these have names of their own
        here = [line.replace(BEFORE, saved) for line in (*both, *own)]
        machines.shell("server", machines.fill(both).replace(BEFORE, f"{saved}-server"))
        machines.shell("client", machines.fill(here))
        machines.call()
        subflows = machines.subflows()
        assert set(subflows) == {line.address for line in machines.lines if line.path in used}
        assert all(" reno " in row for row in subflows.values()), subflows
        first = machines.shell("client", f"ip route get {machines.server}")
        assert f"dev {next(line.interface for line in machines.lines if line.path == candidate.paths[0])}" in first
        listed = machines.shell("client", "ip mptcp endpoint show").splitlines()
        standing = [line.address for line in machines.lines if line.path in candidate.backup]
        assert [row.split()[0] for row in listed if "backup" in row] == standing
        machines.hang_up()
        undone = [line.replace(BEFORE, saved) for line in back]
        machines.shell("client", machines.fill(undone) + f"\nrm {saved}.* {saved}-server.*")
        assert machines.shell("client", STATE) == before


def test_without_a_route_of_its_own_a_path_has_no_subflow() -> None:
    """What the printed routes are for: the endpoint alone leaves the join in SYN-SENT."""
    both, own, _ = parts(Candidate("reno", "linux", ("a", "b"), (), True))
    with Machines(PATHS, 1) as machines:
        for role in ("client", "server"):
            machines.shell(role, machines.fill([line for line in both if BEFORE not in line]))
        machines.shell("client", machines.fill([line for line in own if "metric" not in line and BEFORE not in line]))
        machines.call()
        assert set(machines.subflows()) == {"10.1.0.2"}
