"""What a test needs of the machine beside the toolchains; without it the test is skipped, and says what it lacks."""

import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip the test where one of these programs is not installed."""
    lacking = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")
