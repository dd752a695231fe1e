"""Coupled congestion controls for the Linux kernel, which has none: programs in BPF, loaded and taken away again.

`registered` holds one while a block runs; `load` keeps one until `unload`. The programs are in `programs`: the
arithmetic of each control in a header of its name, the kernel's side in `control.h`.
"""

from mptcplab.bpf.controls import NAMES, Control, NotLoadedError, controls, is_default, load, registered, unload
from mptcplab.bpf.libbpf import BpfError, BpfUnavailableError

__all__ = [
    "NAMES",
    "BpfError",
    "BpfUnavailableError",
    "Control",
    "NotLoadedError",
    "controls",
    "is_default",
    "load",
    "registered",
    "unload",
]
