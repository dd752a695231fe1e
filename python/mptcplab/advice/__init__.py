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
    _HOMES = {"advise": "advising", "Advice": "answer", "Recommendation": "answer", "AdviceError": "errors"}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


__all__ = ["Advice", "AdviceError", "Recommendation", "advise"]
