"""The engine `model`: the scenario's equilibrium, as theory has it, with the columns of every engine."""

from mptcplab.engines.model.refusals import unsupported

__all__ = ["unsupported"]
