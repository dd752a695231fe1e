"""What a testbed's scenarios, its controller (mptcplab.engines.testbed) and its agents (mptcplab.agent) agree on."""

import re
import time
from typing import Final

PORT: Final = 7413
"""Where an agent listens unless it is told otherwise."""
DATA_PORT: Final = 7420
"""Where the server's end of a scenario's first kind of connection listens; those of the others follow."""
VERSION: Final = 1
"""Of the protocol. An agent and a controller of different versions do not work together."""
KEY_FILE: Final = "~/.config/mptcplab/testbed.key"
"""Where the key is looked for unless it is named."""
CHUNK_BYTES: Final = 1 << 20
"""The most of a file that an answer has."""
_INTERFACE: Final = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")


def is_interface_name(name: object) -> bool:
    """Whether this can be the name of an interface, and nothing else."""
    return isinstance(name, str) and _INTERFACE.fullmatch(name) is not None and not name.startswith("-")


def clock_ns() -> int:
    """The machine's monotonic clock, which the core goes by."""
    return time.monotonic_ns()
