"""The laboratory for Multipath TCP.

>>> import mptcplab
>>> scenario = mptcplab.Scenario.load("scenarios/wifi-lte.toml")
>>> result = mptcplab.run(scenario)
>>> result.connections

Nothing is loaded before it is asked for: `mptcplab.models` needs neither the compiled core nor what writes results.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mptcplab._core import SimulationError
    from mptcplab.capture import analyze
    from mptcplab.engines.runner import Interrupted, run
    from mptcplab.errors import EngineUnavailableError, Error, UnknownEngineError
    from mptcplab.results.result import Result
    from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError

    __version__: str
else:
    _MODULES: Final = ("_core", "capture", "engines", "metrics", "models", "scenario")
    _HOMES: Final = {
        "EngineUnavailableError": "errors",
        "Error": "errors",
        "Interrupted": "engines.runner",
        "Result": "results.result",
        "Scenario": "scenario",
        "ScenarioError": "scenario",
        "SimulationError": "_core",
        "UnknownEngineError": "errors",
        "UnsupportedError": "scenario",
        "analyze": "capture",
        "run": "engines.runner",
    }

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name == "__version__":
            value = import_module(f"{__name__}._core").version()
        elif name in _HOMES:
            value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})


__all__ = [
    "EngineUnavailableError",
    "Error",
    "Interrupted",
    "Result",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "UnknownEngineError",
    "UnsupportedError",
    "__version__",
    "analyze",
    "run",
]
