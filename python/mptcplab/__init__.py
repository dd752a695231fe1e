"""The laboratory for Multipath TCP.

>>> import mptcplab
>>> scenario = mptcplab.Scenario.load("scenarios/wifi-lte.toml")
>>> result = mptcplab.run(scenario)
>>> result.connections
"""

from mptcplab._core import SimulationError
from mptcplab._core import version as _version
from mptcplab.engines import EngineUnavailableError, Interrupted, UnknownEngineError, run
from mptcplab.result import Result
from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError

__version__ = _version()

__all__ = [
    "EngineUnavailableError",
    "Interrupted",
    "Result",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "UnknownEngineError",
    "UnsupportedError",
    "__version__",
    "run",
]
