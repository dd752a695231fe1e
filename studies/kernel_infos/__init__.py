"""What each kernel answers about a connection: the sizes of its structures, and so what it can tell.

`python -m studies kernel-infos` asks every kernel that is built (`mptcplab kernel list`) in a guest, and as root the
running one. The answers stay in crates/live/src/linux/info, where tests of the engines' code read them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from mptcplab import kernels
from mptcplab.engines.linux_virtual.guest import boot
from mptcplab.engines.linux_virtual.inside import HOST
from mptcplab.kernels import Kernel

from studies.runs import say, show

KEPT: Final = Path(__file__).parents[2] / "crates/live/src/linux/info"
_ROOT: Final = Path(__file__).parents[2]
_CODE: Final = (
    "import runpy, sys; sys.path.insert(0, {root!r}); sys.argv = ['kernel_infos', {out!r}, '5ms']; "
    "runpy.run_module('studies.kernel_infos', run_name='__main__')"
)
TOLD: Final = (
    ("bytes sent again on another subflow, so when the end of a path was noticed: `notice_s`", "mptcp_info", 56),
    ("bytes that the connection sent, received and had acknowledged", "mptcp_info", 80),
    ("subflows with those that are not established yet", "mptcp_info", 84),
    ("time since the last data and DATA_ACK", "mptcp_info", 96),
    ("the window that a subflow announces, changes of its path by hash", "tcp_info", 240),
    ("retransmission timeouts of a subflow: `timeouts`", "tcp_info", 248),
    ("marks of accurate ECN", "tcp_info", 280),
)
"""What a structure tells when it has at least so many bytes (include/uapi/linux/tcp.h and mptcp.h)."""


def parsed(text: str) -> dict[str, bytes]:
    """Answers by the option's name, empty where the kernel has no such option."""
    lines = (line.split(" ") for line in text.splitlines())
    return {name: bytes.fromhex(digits) for name, digits in lines}


def answers(file: Path) -> dict[str, bytes]:
    """What was recorded in a file, whose first line is the kernel's version."""
    return parsed(file.read_text(encoding="ascii").partition("\n")[2])


def sizes(answer: dict[str, bytes]) -> dict[str, int]:
    """Bytes of each structure, as the kernel states them."""
    full = answer["full_info"]
    return {
        "mptcp_info": len(answer["mptcp_info"]),
        "tcp_info": int.from_bytes(answer["tcp_info"][8:12], sys.byteorder),
        "full_info": len(full) and int.from_bytes(full[:4], sys.byteorder),
    }


def in_guest(kernel: Kernel) -> str:
    """What a guest with this kernel recorded.

    Raises GuestError when it does not end well.
    """
    guest = Path(tempfile.mkdtemp(prefix="mptcplab-infos-"))
    code = _CODE.format(root=str(_ROOT), out=f"{HOST}/infos")
    search = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    try:
        boot(kernel, guest, seed=1, progress=None, words=[sys.executable, "-B", "-c", code], variables={"PATH": search})
        return (guest / "infos").read_text(encoding="ascii")
    finally:
        shutil.rmtree(guest, ignore_errors=True)


def running() -> str:
    """What the running kernel answered, in a network namespace of its own."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "infos")
        command = ["unshare", "--net", sys.executable, "-m", "studies.kernel_infos", str(file)]
        subprocess.run(command, check=True, cwd=_ROOT)
        return file.read_text(encoding="ascii")


def version(text: str) -> str:
    """A kernel's version without what a distribution adds, such as 6.12.117."""
    found = re.match(r"\d+\.\d+(\.\d+)?", text)
    return found[0] if found else text


def branch(release: str) -> str:
    """The two numbers that name a line of kernels, such as 6.12."""
    return ".".join(version(release).split(".")[:2])


def main() -> None:
    """Record all, then print what is kept."""
    for kernel in kernels.kernels():
        _keep(kernel.version, in_guest(kernel))
    if os.geteuid() == 0:
        _keep(os.uname().release, running())
    table()


def _keep(release: str, text: str) -> None:
    (KEPT / f"linux-{branch(release)}.hex").write_text(f"# {version(release)}\n{text}", encoding="ascii")


def table() -> None:
    """Print what the recordings say."""
    files = sorted(KEPT.glob("linux-*.hex"), key=lambda file: [int(part) for part in file.stem[6:].split(".")])
    found = [(file, sizes(answers(file))) for file in files]
    named = {
        "bytes of `mptcp_info`": "mptcp_info",
        "bytes of `tcp_info`": "tcp_info",
    }
    rows = [{"": title, **{_name(file): str(has[key]) for file, has in found}} for title, key in named.items()]
    rows.append({"": "`MPTCP_FULL_INFO`", **{_name(file): _yes(has["full_info"] > 0) for file, has in found}})
    for what, structure, least in TOLD:
        rows.append({"": what, **{_name(file): _yes(has[structure] >= least) for file, has in found}})
    show("What kernels tell", rows)
    say("Recorded at the sender of 100,000 bytes on two subflows.")


def _name(file: Path) -> str:
    return file.read_text(encoding="ascii").splitlines()[0].removeprefix("# ")


def _yes(it: bool) -> str:
    return "yes" if it else "–"
