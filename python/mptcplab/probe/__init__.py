"""What this machine's paths are like, measured against a server of the user's own: docs/probe.md.

`serve` answers at the server, `look` measures a path from the client, `shared` whether two paths have one bottleneck.
"""

from .client import PathFound, ProbeError, Server, look, shared
from .server import serve

__all__ = ["PathFound", "ProbeError", "Server", "look", "serve", "shared"]
