"""The small C programs of a guest, compiled once: its first process, and what is loaded into its kernel."""

import os
import subprocess
import threading
from hashlib import sha256
from pathlib import Path
from typing import Final

from mptcplab import machine
from mptcplab.kernels import store
from mptcplab.kernels.store import DIGITS

SOURCES: Final = Path(__file__).parent / "guest"
_FLAGS: Final = {
    "init": (("init.c",), ("-O2", "-Wall", "-static")),
    "seed.so": (("seed.c", "registers.c"), ("-O2", "-Wall", "-shared", "-fPIC")),
}


def tools() -> Path:
    """The directory with `init` and `seed.so`. Raises EngineUnavailableError without a compiler."""
    whole = sha256(repr(_FLAGS).encode())
    for sources, _ in _FLAGS.values():
        for source in sources:
            whole.update((SOURCES / source).read_bytes())
    place = store.cache() / "tools" / whole.hexdigest()[:DIGITS]
    for name, (sources, flags) in _FLAGS.items():
        if not (place / name).exists():
            machine.require("compiling the guest's init program", (machine.tool("gcc", "gcc"),))
            place.mkdir(parents=True, exist_ok=True)
            # Two may begin at once: each writes its own, and the last one stays.
            draft = place / f".{name}-{os.getpid()}-{threading.get_ident()}"
            written = [str(SOURCES / source) for source in sources]
            subprocess.run(["gcc", *flags, *written, "-o", str(draft)], check=True)
            draft.replace(place / name)
    return place
