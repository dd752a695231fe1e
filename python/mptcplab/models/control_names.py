"""The names of the controls that `predict` knows, for whoever only names them: numpy loads slowly."""

from typing import Final

PREDICTED: Final = (
    "uncoupled",
    "reno",
    "ewtcp",
    "coupled",
    "lia",
    "lia-capped",
    "olia",
    "balia",
    "epsilon",
    "pert",
    "mppert",
    "mppert-capped",
)
"""In the order of `mptcplab.models.predict.CONTROLS`."""
