"""Which subflows exist: the path manager `linux` of the simulator against that of kernels."""

from .study import main

__all__ = ["main"]
