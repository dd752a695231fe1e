"""The engines on real packets, as parameters of a test that one of them may lack."""

from typing import Any

import pytest
from mptcplab import machine


def _engine(name: str, needs: tuple[machine.Finding, ...]) -> Any:
    missing = "; ".join(f"{finding.what} {finding.found}" for finding in needs if not finding.good)
    return pytest.param(name, marks=pytest.mark.skipif(bool(missing), reason=f"the engine {name} needs {missing}"))


REAL = (_engine("stack", tuple(machine.live())), _engine("linux", (*machine.live(), machine.kernel_mptcp())))
