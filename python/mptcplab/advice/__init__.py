"""Advice: which congestion control, scheduler and first path to use on a network, or plain TCP on one of its paths.

`advise` asks; docs/advise.md explains the answers.
"""

from .advising import advise
from .answer import Advice, Recommendation
from .errors import AdviceError

__all__ = ["Advice", "AdviceError", "Recommendation", "advise"]
