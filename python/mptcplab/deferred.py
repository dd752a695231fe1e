"""Names of a package that are loaded when they are asked for (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def deferred(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The package's `__getattr__`: `homes` has the module of each name, within the package."""

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
