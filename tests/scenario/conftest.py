"""What messages say of the algorithms, whichever there are."""

import re
from collections.abc import Callable

import pytest
from mptcplab import registry
from mptcplab.scenario.errors import one_of


def _names(named: re.Match[str]) -> str:
    family, _, which = named[1].partition(" ")
    if which == "for tcp":
        return one_of([entry.name for entry in registry.FAMILIES[family] if not entry.coupled])
    return one_of(registry.names(family, which.removeprefix("on ") or None))


@pytest.fixture
def filled() -> Callable[[str], str]:
    """Puts names in the place of `{{congestion}}`, `{{schedulers on sim}}` and `{{congestion for tcp}}`."""
    return lambda text: re.sub(r"\{\{([^}]+)\}\}", _names, text)
