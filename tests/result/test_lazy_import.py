"""`import mptcplab` loads nothing; the models do without the compiled core."""

import subprocess
import sys

import mptcplab
import pytest


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_models_do_not_load_the_core() -> None:
    """Every module of the models, and an answer of one."""
    code = """
import sys, pkgutil, importlib
sys.modules["mptcplab._core"] = None  # an import of the core raises ImportError
import mptcplab.models
for module in pkgutil.iter_modules(mptcplab.models.__path__):
    importlib.import_module(f"mptcplab.models.{module.name}")
from mptcplab.models.predict import predict
print(predict([0.01, 0.02], [0.02, 0.02]).total_segments_per_s.round(1))
print(sorted(name for name in sys.modules if name.startswith("mptcplab") and not name.startswith("mptcplab.models")))
"""
    loaded = ["mptcplab", "mptcplab._core", "mptcplab.deferred", "mptcplab.errors"]
    assert in_a_new_process(code).splitlines() == ["707.1", str(loaded)]


def test_what_is_public_is_there_when_asked_for() -> None:
    code = """
import mptcplab
for name in mptcplab.__all__:
    assert name not in vars(mptcplab), f"{name} is loaded before it is asked for"
    value = getattr(mptcplab, name)
    home = getattr(value, "__module__", None) or value.__class__.__module__
    print(name, getattr(value, "__name__", "").rpartition(".")[2], home.split(".")[0])
"""
    for line in in_a_new_process(code).splitlines():
        name, called, home = line.split(" ")
        if name != "__version__":
            # Classes that were functions keep the names of those.
            assert (called.lower(), home) == (name.lower(), "mptcplab"), line
    code = "import mptcplab; print(mptcplab.run.__module__, mptcplab.engines.__name__)"
    assert in_a_new_process(code) == "mptcplab.engines.runner mptcplab.engines"


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'mptcplab' has no attribute 'nonsense'"):
        mptcplab.nonsense  # type: ignore[attr-defined]  # noqa: B018
