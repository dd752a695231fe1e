"""The engine `model`: the scenario's equilibrium, as theory has it, with the columns of every engine."""

from mptcplab.model_engine.engine import calculate
from mptcplab.model_engine.refusals import unsupported

__all__ = ["calculate", "unsupported"]
