"""`mptcplab agent`: a host of the engine `testbed`, which does what a controller with the same key asks
(docs/engines/testbed.md).

What it can be asked is a fixed set of operations (`requests`), each checked before anything is done. What it changes on
its machine stands in a file before it is changed (`undo`), so that even an agent that was killed is put right by the
next one.
"""

PORT = 7413
"""Where an agent listens unless it is told otherwise."""
DATA_PORT = 7420
"""Where the server's end of a scenario's first kind of connection listens; those of the others follow."""
VERSION = 1
"""Of the protocol. An agent and a controller of different versions do not work together."""
LEASE_S = 15.0
"""How long a controller may say nothing before the agent puts everything back."""
KEY_FILE = "~/.config/mptcplab/testbed.key"
"""Where the key is looked for unless it is named."""
