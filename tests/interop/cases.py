"""What two implementations of Multipath TCP must get right with each other, one function a case.

Each takes the laboratory and what our stack is (client or server), and raises AssertionError or an OSError when it goes
wrong. `expect` says which of the kernel's counters of fallbacks and faults may move; every other one must not.
"""

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from mptcplab.stack.tun import ip

from .lab import FALLBACKS, Lab, Role, counters, until

SMALL = 200_000

_JOINS: dict[Role, str] = {"client": "fullmesh", "server": "default"}
"""Our client opens subflows; our server announces an address where a case says so."""


@dataclass(frozen=True)
class Case:
    """A case, the roles and settings it is for, and the counters that it may move."""

    name: str
    run: Callable[[Lab, Role], None]
    roles: tuple[Role, ...] = ("client", "server")
    expect: tuple[str, ...] = ()
    checksum: tuple[bool, ...] = (False, True)


CASES: dict[str, Case] = {}


def case(
    *roles: Role, expect: tuple[str, ...] = (), checksum: tuple[bool, ...] = (False, True)
) -> Callable[[Callable[[Lab, Role], None]], Callable[[Lab, Role], None]]:
    def enter(run: Callable[[Lab, Role], None]) -> Callable[[Lab, Role], None]:
        name = run.__name__.replace("_", "-")
        CASES[name] = Case(name, run, roles or ("client", "server"), expect, checksum)
        return run

    return enter


@case()
def capable(lab: Lab, role: Role) -> None:
    """MP_CAPABLE, data both ways, an end in order."""
    with lab.pair(role, primed=False) as pair:
        assert not pair.kernel_fell_back()
        pair.exchange(SMALL, SMALL)
        assert not pair.ours.state().fallback
        assert not pair.kernel_fell_back()
        pair.end_in_order()


@case()
def we_join(lab: Lab, role: Role) -> None:
    """A subflow that we open carries data. A client of the kernel's listens nowhere: it must announce a port."""
    before = counters()
    if role == "server":
        lab.endpoint(lab.kernel[1], "signal", identity=9)
    with lab.pair(role, path_manager=_JOINS[role]) as pair:
        if role == "server":
            # Nobody can join a client that does not listen: the kernel answers our SYN with a reset.
            until("it announces its address", lambda: counters()["EchoAdd"] > before["EchoAdd"])
            pair.ours.join(1, 9)
            pair.exchange(SMALL, SMALL)
            assert [s.segments_received for s in pair.ours.state().subflows[1:]] == [0], pair.ours.state()
            return
        until("the kernel has a second subflow", lambda: pair.kernel_subflows() == 2)
        pair.exchange(SMALL * 5, SMALL * 5)
        assert all(pair.segments()), pair.segments()
        pair.end_in_order()


@case("server")
def kernel_joins(lab: Lab, role: Role) -> None:
    """A subflow that the kernel opens carries data."""
    lab.endpoint(lab.kernel[1], "subflow")
    with lab.pair(role) as pair:
        until("we have a second subflow", lambda: pair.ours.state().active() == 2)
        pair.exchange(SMALL * 5, SMALL * 5)
        assert all(pair.received()), pair.received()
        pair.end_in_order()


@case()
def kernel_announces(lab: Lab, role: Role) -> None:
    """ADD_ADDR of the kernel: we answer with its echo, and as a client we join."""
    before = counters()
    lab.endpoint(lab.kernel[1], "signal", identity=7)
    with lab.pair(role, path_manager="fullmesh") as pair:
        until("our echo arrives", lambda: counters()["EchoAdd"] == before["EchoAdd"] + 1)
        if role == "client":
            there = f"{lab.kernel[1]}:" if lab.family == 4 else f"[{lab.kernel[1]}]:"
            until("we join", lambda: any(s.active and s.remote.startswith(there) for s in pair.ours.state().subflows))
        pair.exchange(SMALL, SMALL)
        pair.end_in_order()


@case()
def we_announce(lab: Lab, role: Role) -> None:
    """ADD_ADDR of ours: the kernel takes its HMAC, echoes, and as a client joins."""
    before = counters()
    with lab.pair(role) as pair:
        pair.ours.announce(1)
        until("the kernel takes the address", lambda: counters()["AddAddr"] == before["AddAddr"] + 1)
        until("it echoes", lambda: counters()["EchoAddTx"] == before["EchoAddTx"] + 1)
        if role == "server":
            until("it joins", lambda: pair.ours.state().active() == 2)
        time.sleep(0.3)  # the echo ends our retransmissions
        assert counters()["AddAddr"] == before["AddAddr"] + 1
        pair.exchange(SMALL, SMALL)
        pair.end_in_order()


@case()
def kernel_withdraws(lab: Lab, role: Role) -> None:
    """REMOVE_ADDR of the kernel ends the subflow of the address; the connection goes on over the other."""
    before = counters()
    lab.endpoint(lab.kernel[1], "signal" if role == "client" else "subflow", identity=7)
    with lab.pair(role, path_manager="fullmesh") as pair:
        if role == "client":
            until("our echo arrives", lambda: counters()["EchoAdd"] == before["EchoAdd"] + 1)
        # A client of ours has joined from both of its addresses to both of the kernel's, or to what it knew.
        until("we have several subflows", lambda: pair.ours.state().active() >= 2)
        ip("mptcp", "endpoint", "delete", "id", "7")
        until("the kernel sends REMOVE_ADDR", lambda: counters()["RmAddrTx"] == before["RmAddrTx"] + 1)
        here = lab.kernel[1]
        until(
            "no subflow to it is left",
            lambda: not [s for s in pair.ours.state().subflows if s.active and here in s.remote],
        )
        pair.exchange(SMALL, SMALL)
        pair.end_in_order()


@case()
def we_withdraw(lab: Lab, role: Role) -> None:
    """REMOVE_ADDR of ours, and MP_TCPRST on its subflow; the connection goes on over the other."""
    before = counters()
    with lab.pair(role, path_manager=_JOINS[role]) as pair:
        if role == "server":
            pair.ours.announce(1)
        until("there are two subflows", lambda: pair.ours.state().active() == 2 and pair.kernel_subflows() == 2)
        pair.ours.withdraw(1)
        until("the kernel takes it", lambda: counters()["RmAddr"] == before["RmAddr"] + 1)
        until("the kernel reads MP_TCPRST", lambda: counters()["MPRstRx"] == before["MPRstRx"] + 1)
        until("the subflow is gone", lambda: pair.kernel_subflows() == 1)
        pair.exchange(SMALL, SMALL)
        pair.end_in_order()


@case("client")
def we_join_as_backup(lab: Lab, role: Role) -> None:
    """A subflow that we open as a backup carries nothing while the first works, in either direction."""
    before = counters()
    with lab.pair(role, path_manager="fullmesh", stack={"backup": [1]}) as pair:
        until("the kernel has a second subflow", lambda: pair.kernel_subflows() == 2)
        assert counters()["MPJoinSynBackupRx"] == before["MPJoinSynBackupRx"] + 1
        pair.exchange(SMALL * 5, SMALL * 5)
        assert (pair.segments()[1], pair.received()[1]) == (0, 0), (pair.segments(), pair.received())
        pair.end_in_order()


@case("server")
def kernel_joins_as_backup(lab: Lab, role: Role) -> None:
    """A subflow that the kernel opens as a backup carries nothing while the first works, in either direction."""
    lab.endpoint(lab.kernel[1], "subflow", "backup")
    with lab.pair(role) as pair:
        until("we have a second subflow", lambda: pair.ours.state().active() == 2)
        assert [s.backup for s in pair.ours.state().subflows] == [False, True]
        pair.exchange(SMALL * 5, SMALL * 5)
        assert (pair.segments()[1], pair.received()[1]) == (0, 0), (pair.segments(), pair.received())
        pair.end_in_order()


@case("client")
def we_change_priority(lab: Lab, role: Role) -> None:
    """MP_PRIO of ours turns the kernel's sending to the other subflow."""
    before = counters()
    with lab.pair(role, path_manager="fullmesh") as pair:
        until("the kernel has a second subflow", lambda: pair.kernel_subflows() == 2)
        pair.ours.set_backup(0, 0, True)
        until("the kernel reads it", lambda: counters()["MPPrioRx"] == before["MPPrioRx"] + 1)
        first = pair.received()[0]
        pair.exchange(SMALL, SMALL * 5)
        # A burst of 64 KiB that the kernel's scheduler had begun may be completed.
        assert pair.received()[0] - first <= 48, pair.received()
        assert pair.received()[1] > 600, pair.received()
        pair.end_in_order()


@case("server")
def kernel_changes_priority(lab: Lab, role: Role) -> None:
    """MP_PRIO of the kernel turns our sending to the other subflow."""
    before = counters()
    lab.endpoint(lab.kernel[1], "subflow", identity=7)
    with lab.pair(role) as pair:
        until("we have a second subflow", lambda: pair.ours.state().active() == 2)
        ip("mptcp", "endpoint", "change", "id", "7", "backup")
        until("the kernel sends it", lambda: counters()["MPPrioTx"] == before["MPPrioTx"] + 1)
        until("we read it", lambda: pair.ours.state().subflows[1].backup)
        pair.exchange(SMALL * 5, SMALL)
        assert pair.segments()[1] == 0, pair.segments()
        pair.end_in_order()


@case()
def we_end_first(lab: Lab, role: Role) -> None:
    """DATA_FIN of ours half-closes: the kernel still sends."""
    with lab.pair(role) as pair:
        pair.ours.send(b"request")
        pair.ours.close()
        assert pair.kernel.recv(100) == b"request"
        assert pair.kernel.recv(100) == b""
        pair.ours.wait_flushed(5)
        pair.kernel.sendall(b"x" * SMALL)
        pair.kernel.shutdown(socket.SHUT_WR)
        assert len(pair.ours.recv_all(5)) == SMALL
        pair.end_in_order()


@case()
def kernel_ends_first(lab: Lab, role: Role) -> None:
    """DATA_FIN of the kernel half-closes: we still send."""
    with lab.pair(role) as pair:
        pair.kernel.sendall(b"request")
        pair.kernel.shutdown(socket.SHUT_WR)
        assert pair.ours.recv_all(5) == b"request"
        pair.ours.send(b"x" * SMALL)
        pair.ours.close()
        assert sum(len(piece) for piece in iter(lambda: pair.kernel.recv(1 << 20), b"")) == SMALL
        pair.end_in_order()


@case()
def we_fastclose(lab: Lab, role: Role) -> None:
    """MP_FASTCLOSE of ours resets the kernel's socket."""
    before = counters()
    with lab.pair(role) as pair:
        pair.ours.send(b"x" * SMALL)
        assert pair.kernel.recv(1)
        pair.ours.abort()
        until("the kernel reads it", lambda: counters()["MPFastcloseRx"] == before["MPFastcloseRx"] + 1)
        try:
            while pair.kernel.recv(1 << 20):
                pass
            raise AssertionError("the kernel's socket ended in order")
        except ConnectionResetError:
            pass


@case()
def kernel_fastcloses(lab: Lab, role: Role) -> None:
    """MP_FASTCLOSE of the kernel aborts our connection."""
    before = counters()
    with lab.pair(role) as pair:
        pair.kernel.sendall(b"x")
        assert pair.ours.recv(timeout_s=5)
        pair.kernel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        pair.kernel.close()
        assert pair.ours.wait_ended(5) == "aborted"
        assert counters()["MPFastcloseTx"] > before["MPFastcloseTx"]


@case("client")
def kernel_refuses_join(lab: Lab, role: Role) -> None:
    """The kernel resets a join that its limits forbid; the connection goes on."""
    before = counters()
    with lab.pair(role) as pair:
        ip("mptcp", "limits", "set", "subflows", "0", "add_addr_accepted", "0")
        pair.ours.join(1, 0)
        until("the join is over", lambda: any("SubflowClosed" in event for event in pair.ours.events()))
        assert counters()["MPJoinAckRx"] == before["MPJoinAckRx"]
        pair.exchange(SMALL, SMALL)
        pair.end_in_order()


@case("server", expect=("MPRstRx",))
def we_refuse_join(lab: Lab, role: Role) -> None:
    """We reset a join to the first address when flag C forbade it; the connection goes on."""
    before = counters()
    lab.endpoint(lab.kernel[1], "subflow")
    with lab.pair(role, refuse_joins_to_first_address=True) as pair:
        time.sleep(0.05)
        # The kernel keeps to the flag: it does not even try.
        assert counters()["MPJoinSynTx"] == before["MPJoinSynTx"]
        pair.exchange(SMALL, SMALL)
        assert len(pair.ours.state().subflows) == 1
        pair.end_in_order()


def _fallback(lab: Lab, role: Role, **strip: object) -> None:
    with lab.pair(role, before=strip, primed=False) as pair:
        pair.exchange(SMALL, SMALL)
        assert pair.ours.state().fallback
        assert sum(device["stripped"] for device in pair.stack.counters()) > 0
        pair.end_in_order()


@case(expect=FALLBACKS)
def fallback_from_syn(lab: Lab, role: Role) -> None:
    """MP_CAPABLE is taken off the SYN: TCP."""
    _fallback(lab, role, strip_syn=True)


@case(expect=FALLBACKS)
def fallback_from_syn_ack(lab: Lab, role: Role) -> None:
    """MP_CAPABLE is taken off the SYN/ACK: TCP."""
    _fallback(lab, role, strip_syn_ack=True)


@case(expect=FALLBACKS)
def fallback_from_ack(lab: Lab, role: Role) -> None:
    """Options are taken off all that follows the SYNs: TCP."""
    _fallback(lab, role, strip_after=0)


@case(expect=(*FALLBACKS, "DSSCorruptionFallback", "DSSNotMatching"))
def fallback_from_data(lab: Lab, role: Role) -> None:
    """Options are taken off after the handshake, before or with the first data: TCP by an infinite mapping."""
    _fallback(lab, role, strip_after=2)


def fallback_is_a_fault(lab: Lab, role: Role) -> None:
    """The same, and nobody is told that it may happen: the matrix must call it a fault."""
    _fallback(lab, role, strip_after=0)


@case(checksum=(True,), expect=("MPFailRx", "MPFailTx", "DataCsumErr", "DSSCorruptionReset", "MPRstRx"))
def checksum_fails_inward(lab: Lab, role: Role) -> None:
    """A middlebox changes data to us on one of two subflows: MP_FAIL and a reset, every byte comes right."""
    _checksum_fails(lab, role, alter_inward=2)


@case(checksum=(True,), expect=("MPFailRx", "MPFailTx", "DataCsumErr", "DSSCorruptionReset", "MPRstTx"))
def checksum_fails_outward(lab: Lab, role: Role) -> None:
    """A middlebox changes data to the kernel on one of two subflows: MP_FAIL and a reset, every byte comes right."""
    _checksum_fails(lab, role, alter_outward=2)


def _checksum_fails(lab: Lab, role: Role, **alter: int) -> None:
    before = counters()
    with lab.pair(role, path_manager=_JOINS[role]) as pair:
        if role == "server":
            pair.ours.announce(1)
        until("there are two subflows", lambda: pair.ours.state().active() == 2 and pair.kernel_subflows() == 2)
        pair.stack.impair(1, **alter)
        pair.exchange(SMALL * 10, SMALL * 10)
        name = "MPFailRx" if "alter_inward" in alter else "MPFailTx"
        assert counters()[name] == before[name] + 1, "no MP_FAIL"
        assert not pair.ours.state().fallback
        pair.end_in_order()


def loss_and_reordering(lab: Lab, role: Role, size_bytes: int) -> dict[str, float]:
    """So much each way at the same time over two paths with 2 % loss, 2 ms one way, and 2 % of packets 1 ms late."""
    impaired = {"loss": 0.02, "delay_ns": 2_000_000, "reorder": 0.02, "reorder_ns": 1_000_000}
    with lab.pair(role, path_manager=_JOINS[role], before=impaired, congestion="reno") as pair:
        if role == "server":
            pair.ours.announce(1)  # so that the kernel joins over the second device
        until("there are two subflows", lambda: pair.ours.state().active() == 2 and pair.kernel_subflows() == 2)
        began_s = time.monotonic()
        pair.exchange(size_bytes, size_bytes, timeout_s=60 + size_bytes / 250_000)
        took_s = time.monotonic() - began_s
        state = pair.ours.state()
        assert all(pair.segments()), pair.segments()
        assert all(pair.received()), pair.received()
        assert not state.fallback
        assert not pair.kernel_fell_back()
        lost = sum(device["lost"] for device in pair.stack.counters())
        late = sum(device["reordered"] for device in pair.stack.counters())
        assert lost > 0
        assert late > 0
        pair.end_in_order()
        return {"took_s": took_s, "lost": lost, "late": late}
