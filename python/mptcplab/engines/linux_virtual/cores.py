"""A core for each guest: one that changes cores takes several times as long."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def core() -> Iterator[int]:
    """The number of a core that fewest guests of this user are on, whichever process began them."""
    own = sorted(os.sched_getaffinity(0))
    place = Path(tempfile.gettempdir(), f"mptcplab-cores-{os.getuid()}")
    place.mkdir(mode=0o700, exist_ok=True)
    turn = 0
    while True:
        for number in own:
            descriptor = os.open(place / f"{number}.{turn}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                # Goes with this process, however it ends.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            try:
                yield number
            finally:
                os.close(descriptor)
            return
        turn += 1
