"""`python -m studies.diagnose.guest KERNEL DIR [NAME …]`: the same situations in a guest of the engine linux-virtual.

Time is virtual there: what a program computes takes none, so that the two in which a CPU is busy cannot be made.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from mptcplab.engines.linux_virtual.guest import boot
from mptcplab.engines.linux_virtual.inside import HOST
from mptcplab.kernels import store

from studies.diagnose import ALL, table

_AT_A_TIME = 8
"""Situations of a guest: Linux 6.1 comes to a stop after some twenty, whichever they are."""
_ROOT = Path(__file__).parents[2]
_CODE = (
    "import runpy, sys; sys.path.insert(0, {root!r}); sys.argv = ['studies.diagnose', {out!r}, *{names!r}]; "
    "runpy.run_module('studies.diagnose', run_name='__main__')"
)


def record(kernel: str, place: Path, names: list[str]) -> None:
    """Make the situations in a guest with this kernel, and keep what was gathered in `place`.

    Raises EngineUnavailableError without that kernel, GuestError when the guest does not end well.
    """
    chosen = names or [each.name for each in ALL if each.cause != "cpu"]
    for begin in range(0, len(chosen), _AT_A_TIME):
        _in_one_guest(kernel, place, chosen[begin : begin + _AT_A_TIME])


def _in_one_guest(kernel: str, place: Path, names: list[str]) -> None:
    guest = Path(tempfile.mkdtemp(prefix="mptcplab-diagnose-"))
    code = _CODE.format(root=str(_ROOT), out=f"{HOST}/out", names=names)
    search = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    try:
        (guest / "out").mkdir()
        words = [sys.executable, "-B", "-c", code]
        boot(store.find(kernel), guest, seed=1, progress=None, words=words, variables={"PATH": search})
    finally:
        shutil.copytree(guest / "out", place, dirs_exist_ok=True)
        shutil.rmtree(guest, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    _, kernel_name, directory, *some = sys.argv
    record(kernel_name, Path(directory), some)
    table(Path(directory))
