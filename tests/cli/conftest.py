"""What the tests of the commands share."""

from collections.abc import Callable

import pytest
from mptcplab import cli


class Called:
    """What a command answered."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Called]:
    """Run a command in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def called(*arguments: object) -> Called:
        status = cli.invoke([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Called(status, captured.out, captured.err)

    return called
