"""The controls of docs/bpf.md in a guest's kernel: the programs' text, compiled with the kernel's own headers.

The tree stays as it is. make is told to read the controls before one of the tree's files, which it compiles anyway: the
one that tells of connections to `ss`. That file is compiled anew in seconds when they change.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from mptcplab.bpf.compile import PROGRAMS
from mptcplab.bpf.controls import NAMES

CARRIER: Final = "net/mptcp/mptcp_diag.c"
"""Of the tree; no other file has this name."""
_OPTION: Final = "CONFIG_INET_MPTCP_DIAG=y"


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """The controls in their order, each once. Raises ValueError for one that there is no program of."""
    wanted = set(names)
    unknown = sorted(wanted - set(NAMES))
    if unknown:
        raise ValueError(f"found {', '.join(map(repr, unknown))}; expected controls of {', '.join(NAMES)}")
    return tuple(sorted(wanted))


def digests(names: Iterable[str]) -> dict[str, str]:
    """Of each control the SHA-256 of the text that it is compiled from."""
    headers = sha256()
    for path in sorted(PROGRAMS.glob("*.h")):
        headers.update(path.name.encode() + path.read_bytes())
    return {
        name: sha256(headers.digest() + (PROGRAMS / f"{name}.bpf.c").read_bytes()).hexdigest() for name in sorted(names)
    }


def lacking(tree: Path, names: Sequence[str]) -> str | None:
    """Why a tree cannot have them."""
    if names and not (tree / CARRIER).exists():
        return f"{tree}: controls need {CARRIER}, which Linux has from 5.9 on"
    return None


def needed(names: Sequence[str]) -> tuple[str, ...]:
    """Lines that the configuration then must have."""
    return (_OPTION,) if names else ()


def arguments(place: Path, names: Sequence[str]) -> list[str]:
    """What make is told; the controls' text goes to the build's directory `place`."""
    if not names:
        return []
    own = place.resolve() / "mptcplab-controls"
    own.mkdir(exist_ok=True)
    for path in sorted(PROGRAMS.iterdir()):
        if path.suffix in (".h", ".c"):
            _write(own / path.name, path.read_text(encoding="utf-8"))
    lines = ['#include "guest.h"']
    for name in names:
        lines += [f"#define CONTROL {name}", f'#include "{name}.bpf.c"', '#include "guest_control.h"']
    _write(own / "controls.c", "\n".join([*lines, '#include "guest_end.h"', ""]))
    return [f"CFLAGS_{Path(CARRIER).stem}.o=-include {own / 'controls.c'}"]


def _write(path: Path, text: str) -> None:
    # What is the same keeps its time, so that nothing is compiled for it.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
