"""The few calls of libbpf that load a congestion control, through ctypes: nothing to compile, nothing linked in.

Debian's libbpf 1.1 does not know links of struct_ops maps yet, the kernel (6.4) does: the flag is set on the map and
the link made by the system call itself. A later libbpf does both; the same calls then find its link.
"""

import ctypes
import ctypes.util
import os
import platform
from pathlib import Path

from mptcplab.errors import Error

BPF_F_LINK = 1 << 13
_BPF_LINK_CREATE = 28
_BPF_STRUCT_OPS = 44
_SYSCALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280}
_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class BpfError(Error, RuntimeError):
    """The kernel or libbpf refused a program; the text has what they said."""


class BpfUnavailableError(Error, RuntimeError):
    """This machine cannot load programs; the text has the remedy."""


def library() -> ctypes.CDLL:
    """libbpf, or BpfUnavailableError."""
    for name in ("libbpf.so.1", ctypes.util.find_library("bpf") or ""):
        try:
            return _declared(ctypes.CDLL(name, use_errno=True)) if name else _missing()
        except OSError:
            continue
    return _missing()


def _missing() -> ctypes.CDLL:
    raise BpfUnavailableError(
        "libbpf is not installed: apt install libbpf1 (Debian, Ubuntu), dnf install libbpf (Fedora)"
    )


def _declared(lib: ctypes.CDLL) -> ctypes.CDLL:
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("bpf_object__open_file", pointer, [text, pointer]),
        ("bpf_object__load", number, [pointer]),
        ("bpf_object__close", None, [pointer]),
        ("bpf_object__find_map_by_name", pointer, [pointer, text]),
        ("bpf_map__set_map_flags", number, [pointer, ctypes.c_uint32]),
        ("bpf_map__attach_struct_ops", pointer, [pointer]),
        ("bpf_map__fd", number, [pointer]),
        ("bpf_link__fd", number, [pointer]),
        ("bpf_obj_pin", number, [number, text]),
        ("libbpf_set_print", pointer, [_PRINT]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def register(path: Path, variable: str = "control") -> int:
    """Load an object and register its congestion control; returns the link, an open file.

    The control is there as long as the link is open somewhere, or pinned: when its last holder ends, however it ends,
    the kernel takes the control away (connections that use it keep it until they end).

    Raises:
        BpfUnavailableError: libbpf is missing.
        BpfError: refused, with the words of libbpf and of the verifier.

    """
    lib = library()
    said: list[str] = []
    libc = ctypes.CDLL(None, use_errno=True)
    libc.vsnprintf.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p]

    def listen(level: int, form: bytes, arguments: int) -> int:
        if level > 1:  # neither a warning nor information
            return 0
        buffer = ctypes.create_string_buffer(1 << 16)
        libc.vsnprintf(buffer, len(buffer), form, arguments)
        said.append(buffer.value.decode(errors="replace").rstrip())
        return 0

    listener = _PRINT(listen)
    lib.libbpf_set_print(listener)
    handle = lib.bpf_object__open_file(os.fsencode(path), None)
    if not handle:
        raise _refused("open", path, said)
    try:
        ops = lib.bpf_object__find_map_by_name(handle, variable.encode())
        if not ops:
            raise BpfError(f"{path}: no congestion control named {variable!r} in it")
        lib.bpf_map__set_map_flags(ops, BPF_F_LINK)
        if lib.bpf_object__load(handle):
            raise _refused("load", path, said)
        link = lib.bpf_map__attach_struct_ops(ops)
        if not link:
            raise _refused("register", path, said)
        registered = lib.bpf_link__fd(link)
        if registered == lib.bpf_map__fd(ops):
            return _link(lib.bpf_map__fd(ops), path)
        return os.dup(registered)
    finally:
        lib.bpf_object__close(handle)
        lib.libbpf_set_print(_PRINT(0))


def _link(map_file: int, path: Path) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise BpfUnavailableError(f"libbpf 1.2 or later is needed on {platform.machine()}")
    attributes = (ctypes.c_uint32 * 12)(map_file, 0, _BPF_STRUCT_OPS, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    link: int = libc.syscall(number, _BPF_LINK_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if link < 0:
        raise _refused("link", path, [])
    return link


def pin(link: int, path: Path) -> None:
    """Keep a link beyond this process, under a name in a bpf file system. Raises BpfError."""
    if library().bpf_obj_pin(link, os.fsencode(path)):
        raise _refused("pin", path, [])


def _refused(step: str, path: Path, said: list[str]) -> BpfError:
    number = ctypes.get_errno()
    words = "\n".join(said[-30:])
    return BpfError(
        f"cannot {step} {path}: {os.strerror(number) if number else 'refused'}{chr(10) + words if words else ''}"
    )
