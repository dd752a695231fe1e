"""Advice: which paths, congestion control, scheduler and first path to use on a network, or TCP on one of its paths.

`advise` asks; docs/advise.md explains the answers. Nothing is loaded before it is asked for: a question that is wrong
is refused before the simulator is there.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from .advising import advise
    from .answer import Advice, Recommendation
    from .errors import AdviceError
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {"advise": "advising", "Advice": "answer", "Recommendation": "answer", "AdviceError": "errors"}
    __getattr__ = _deferred(__name__, _HOMES)


__all__ = ["Advice", "AdviceError", "Recommendation", "advise"]
