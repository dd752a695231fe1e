"""`mptcplab agent`: a host of the engine `testbed`, which does what a controller with the same key asks
(docs/engines/testbed.md).

What it can be asked is a fixed set of operations (`requests`), each checked before anything is done. What it changes on
its machine stands in a file before it is changed (`undo`), so that even an agent that was killed is put right by the
next one.
"""

LEASE_S = 15.0
"""How long a controller may say nothing before the agent puts everything back."""
