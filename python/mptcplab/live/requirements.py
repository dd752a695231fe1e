"""Whether this machine has what engines on real packets need."""

from collections.abc import Iterable

from mptcplab import machine
from mptcplab.machine import EngineUnavailableError as UnavailableError
from mptcplab.machine import Finding

__all__ = ["UnavailableError", "require"]


def require(engine: str, findings: Iterable[Finding] | None = None) -> None:
    """Make sure that nothing of `findings` is missing; without them, of what every live engine needs.

    Raises UnavailableError.
    """
    missing = [finding for finding in (machine.live() if findings is None else findings) if not finding.good]
    if missing:
        lacks = "; ".join(f"{finding.what}: {finding.found} → {finding.remedy}" for finding in missing)
        raise UnavailableError(f"the engine {engine!r} cannot run here. {lacks}. See mptcplab doctor")
