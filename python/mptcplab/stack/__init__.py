"""Our own TCP and Multipath TCP on real packets, as sockets.

```python
from mptcplab.stack import Stack, Tun

with Tun("mptcp0", host="10.213.0.1/30", stack="10.213.0.2") as tun, Stack([tun]) as stack:
    connection = stack.connect("10.213.0.1", 8080)
    connection.send(b"hello")
    connection.close()
    print(connection.recv_all())
```

A stack lives behind TUN devices: the machine's kernel is its neighbour, with which it talks as with any other host.
Needs CAP_NET_ADMIN and /dev/net/tun; `EngineUnavailableError` says what is missing.
"""

from mptcplab.errors import EngineUnavailableError
from mptcplab.stack.sockets import Connection, Listener, Stack
from mptcplab.stack.state import ConnectionState, SubflowState
from mptcplab.stack.tun import Tun

__all__ = ["Connection", "ConnectionState", "EngineUnavailableError", "Listener", "Stack", "SubflowState", "Tun"]
