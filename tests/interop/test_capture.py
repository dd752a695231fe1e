"""tshark finds nothing malformed and no error in what our stack and the kernel say to each other."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .matrix import missing, run

WITHOUT = None if shutil.which("tshark") else "tshark"

pytestmark = [
    pytest.mark.skipif(
        missing() is not None and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"),
        reason=f"interoperation with the kernel needs {missing()}",
    ),
    pytest.mark.skipif(
        WITHOUT is not None and not os.environ.get("MPTCPLAB_REQUIRE_TSHARK"), reason="tshark is not installed"
    ),
]

# What middleboxes do to packets in the other cases is not our stack's doing.
CASES = (
    "capable,we-join,kernel-joins,kernel-announces,we-announce,we-withdraw,kernel-withdraws,we-join-as-backup,"
    "we-change-priority,we-end-first,kernel-ends-first,we-fastclose,kernel-fastcloses,kernel-refuses-join,"
    "loss-and-reordering"
)
CHECKSUMS = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
# With offloads checksums are finished by whoever needs them, after the capture.
NO_CHECKSUMS = ("-o", "tcp.check_checksum:FALSE")
# The content is nothing but bytes, whatever some application's protocol would make of them. All ports are named:
# a client's port is random, and one day it is that of X11.
CONTENT = ("-d", "tcp.port==1-65535,data")


def tshark(capture: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["tshark", "-r", str(capture), *CONTENT, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(("family", "checksum", "offloads"), [(4, True, False), (6, False, True)])
def test_no_packet_is_malformed_or_an_error(family: int, checksum: bool, offloads: bool, tmp_path: Path) -> None:
    capture = tmp_path / "interop.pcap"
    rows = list(run(family, checksum, 500_000, only=CASES, capture=capture, offloads=offloads))
    assert not [row for row in rows if row["problem"]], rows
    # Each kind of option is there, so that the absence of errors means something.
    for kind in (
        "tcp.options.mptcp.subtype == 0",  # MP_CAPABLE
        "tcp.options.mptcp.subtype == 1",  # MP_JOIN
        "tcp.options.mptcp.subtype == 2",  # DSS
        "tcp.options.mptcp.subtype == 3",  # ADD_ADDR
        "tcp.options.mptcp.subtype == 4",  # REMOVE_ADDR
        "tcp.options.mptcp.subtype == 5",  # MP_PRIO
        "tcp.options.mptcp.subtype == 7",  # MP_FASTCLOSE
        "tcp.options.mptcp.subtype == 8",  # MP_TCPRST
    ):
        assert tshark(capture, "-c", "100000", "-Y", kind), kind
    checks = NO_CHECKSUMS if offloads else CHECKSUMS
    assert tshark(capture, *checks, "-Y", "_ws.malformed || _ws.expert.severity == error") == []
