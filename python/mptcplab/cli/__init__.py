"""The command `mptcplab`."""

from mptcplab.cli.app import invoke, main

__all__ = ["invoke", "main"]
