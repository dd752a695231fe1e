"""The laboratory for Multipath TCP.

>>> import mptcplab
>>> scenario = mptcplab.Scenario.load("wifi-lte").with_(duration="12 s")
>>> result = mptcplab.run(scenario)
>>> result.connections["name"].to_list()
['download', 'neighbour']

Nothing is loaded before it is asked for: `mptcplab.models` needs neither the compiled core nor what writes results.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from mptcplab._core import SimulationError
    from mptcplab.advice import Advice, AdviceError, advise
    from mptcplab.capture import analyze
    from mptcplab.comparison.comparing import compare
    from mptcplab.comparison.metric import MetricError
    from mptcplab.comparison.settings import Comparison
    from mptcplab.comparison.side_by_side import EngineComparison
    from mptcplab.designs.design import design
    from mptcplab.engines.runner import Interrupted, run
    from mptcplab.errors import EngineUnavailableError, Error, UnknownEngineError
    from mptcplab.models.predict import predict
    from mptcplab.reproduce.repeat import reproduce
    from mptcplab.results.result import Result
    from mptcplab.scenario import Scenario, ScenarioError, UnsupportedError, connection, event, link
    from mptcplab.sweeps.facade import Dataset, sweep
    from mptcplab.sweeps.file import Sweep

    __version__: str
else:
    from mptcplab.deferred import deferred as _deferred

    _HOMES = {
        "Advice": "advice",
        "AdviceError": "advice",
        "Comparison": "comparison.settings",
        "Dataset": "sweeps.facade",
        "EngineComparison": "comparison.side_by_side",
        "EngineUnavailableError": "errors",
        "Error": "errors",
        "Interrupted": "engines.runner",
        "MetricError": "comparison.metric",
        "Result": "results.result",
        "Scenario": "scenario",
        "ScenarioError": "scenario",
        "SimulationError": "_core",
        "Sweep": "sweeps.file",
        "UnknownEngineError": "errors",
        "UnsupportedError": "scenario",
        "advise": "advice",
        "analyze": "capture",
        "compare": "comparison.comparing",
        "connection": "scenario",
        "design": "designs.design",
        "event": "scenario",
        "link": "scenario",
        "predict": "models.predict",
        "run": "engines.runner",
        "sweep": "sweeps.facade",
    }
    # Of these, `reproduce` is what papers' studies import, and can be called as the function of that name.
    _MODULES = ("capture", "designs", "engines", "metrics", "models", "plots", "reproduce", "scenario")

    _found = _deferred(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name != "__version__":
            return _found(name)
        value = globals()[name] = import_module(f"{__name__}._core").version()
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)


__all__ = [
    "Advice",
    "AdviceError",
    "Comparison",
    "Dataset",
    "EngineComparison",
    "EngineUnavailableError",
    "Error",
    "Interrupted",
    "MetricError",
    "Result",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Sweep",
    "UnknownEngineError",
    "UnsupportedError",
    "__version__",
    "advise",
    "analyze",
    "compare",
    "connection",
    "design",
    "event",
    "link",
    "predict",
    "reproduce",
    "run",
    "sweep",
]
