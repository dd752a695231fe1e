"""From the C text of a control to an object that the kernel loads, kept in the user's cache."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from mptcplab import files
from mptcplab.bpf.libbpf import BpfError, BpfUnavailableError

PROGRAMS = Path(__file__).parent / "programs"
_FLAGS = ("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall")


def compiler() -> str:
    """The path of clang; raises BpfUnavailableError."""
    found = shutil.which("clang")
    if found is None:
        raise BpfUnavailableError(
            "clang is not installed: apt install clang (Debian, Ubuntu), dnf install clang (Fedora)"
        )
    return found


def built(name: str) -> Path:
    """The object of a control: compiled once for each text, compiler and flags.

    Raises:
        BpfUnavailableError: no clang.
        BpfError: clang refused, with its words.

    """
    clang = compiler()
    digest = sha256(repr((clang, Path(clang).resolve().stat().st_mtime_ns, _FLAGS)).encode())
    for source in sorted(PROGRAMS.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    target = files.cache() / "bpf" / digest.hexdigest()[:16] / f"{name}.o"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".{os.getpid()}")
    command = [clang, *_FLAGS, "-c", str(PROGRAMS / f"{name}.bpf.c"), "-o", str(draft)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        draft.unlink(missing_ok=True)
        raise BpfError(f"clang refuses {name}.bpf.c:\n{done.stderr.rstrip()}")
    draft.replace(target)
    return target
