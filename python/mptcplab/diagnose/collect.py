"""The script of `mptcplab diagnose --collect`."""

from importlib.resources import files
from typing import Final

SCRIPT: Final = files("mptcplab.diagnose").joinpath("collect.sh").read_text(encoding="utf-8")
"""A POSIX shell script that gathers on a host, into one file, what `diagnose` reads."""
