"""Checks for plug-ins: the transport's requirements on every algorithm, for use in pytest or any other test.

>>> from mptcplab.testing import check_congestion_control
>>> def test_gentle() -> None:
...     check_congestion_control(Gentle, beta=0.8)

A check runs many model connections with joins, losses, timeouts and failures, and fails with the first rule that is
broken and the number of the step. Among the rules: windows are finite and at least one segment, a loss does not raise
them, a scheduler sends only where there is room, a path manager opens no subflow between unknown addresses, and the
same events have the same results.
"""

from functools import partial

from mptcplab import _core
from mptcplab.plugins import CongestionControl, PathManager, Plugin, PluginError, Rule, Scheduler, loading
from mptcplab.plugins.running import Given

__all__ = ["PluginError", "check_congestion_control", "check_path_manager", "check_scheduler"]


def check_congestion_control(plugin: type[Rule] | type[CongestionControl], **parameters: object) -> None:
    """Check a congestion control with these parameters.

    Raises AssertionError when it breaks a rule, PluginError when a call of it fails.
    """
    _check("congestion", plugin, parameters)


def check_scheduler(plugin: type[Scheduler], **parameters: object) -> None:
    """Check a scheduler with these parameters.

    Raises AssertionError when it breaks a rule, PluginError when a call of it fails.
    """
    _check("scheduler", plugin, parameters)


def check_path_manager(plugin: type[PathManager], **parameters: object) -> None:
    """Check a path manager with these parameters.

    Raises AssertionError when it breaks a rule, PluginError when a call of it fails.
    """
    _check("path_manager", plugin, parameters)


def _check(kind: str, plugin: type[Plugin], parameters: dict[str, object]) -> None:
    bases = loading.KINDS[kind].bases
    if not issubclass(plugin, bases):
        names = " or ".join(base.__name__ for base in bases)
        raise TypeError(f"{plugin.__name__} does not derive from {names}")
    given = Given(
        kind=kind,
        key=plugin.__name__,
        name=f"{loading.KINDS[kind].noun} {plugin.__name__}",
        is_rule=issubclass(plugin, Rule),
        make=partial(loading.make, plugin, parameters),
        methods=loading.methods(plugin),
        repairs_as_kernel=loading.repairs_as_kernel(plugin),
        columns=[column.name for column in loading.columns(plugin)],
        call_limit_s=plugin.call_limit_s,
    )
    broken = _core.check_plugin(given)
    if broken is not None:
        raise AssertionError(f"{plugin.__name__}: {broken}")
