"""Random programs at both ends of a connection, over random networks: our stack and the kernel in every pairing.

A program writes pieces of any size with pauses, reads with pauses so windows close, and closes its direction or aborts.
The same program runs between two stacks of ours, between ours and the kernel's in either role, and between two kernels,
all over the same emulated links at the same time. What each end received and how its stream ended is compared with what
was sent, so the four pairings must agree.
"""

from .program import Program, draw_program, judge
from .study import Case, main, play

__all__ = ["Case", "Program", "draw_program", "judge", "main", "play"]
