"""Kernels for guests of the engine `linux-virtual`: built from Linux's sources as User-Mode Linux, kept in a cache."""

from mptcplab.kernels.store import Kernel, UnknownKernelError, find, kernels, remove

__all__ = ["Kernel", "UnknownKernelError", "find", "kernels", "remove"]
