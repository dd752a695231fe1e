"""An agent that has a session says so to who else calls."""

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mptcplab.agent import server
from mptcplab.agent.session import Permissions
from mptcplab.agent.undo import Undo
from mptcplab.engines.testbed.remote import Remote
from mptcplab.errors import EngineUnavailableError
from mptcplab.testbed import key


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """Where it listens, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("not installed: openssl")
    key_file = tmp_path / "a.key"
    key.make(key_file)
    # Signals are the main thread's, and that is the test's.
    monkeypatch.setattr(server, "_interrupted_by", lambda *_: contextlib.nullcontext())
    noted = Undo(tmp_path / "state.json")
    running = server.Agent(key_file, Permissions((), ()), noted, ("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):  # the listener, shut down below
            running.serve()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"127.0.0.1:{running.port}", key_file
    running._listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    noted.close()


def test_a_busy_agent_is_not_one_with_another_key(agent: tuple[str, Path]) -> None:
    """Often enough: the answer was lost, in nine of ten calls, when the agent closed before it had read the request."""
    where, key_file = agent
    with Remote("client", where, key_file):
        for _ in range(20):
            with pytest.raises(EngineUnavailableError, match="another controller uses this agent"):
                Remote("server", where, key_file)


def test_an_agent_with_another_key_is_not_busy(agent: tuple[str, Path], tmp_path: Path) -> None:
    where, key_file = agent
    other = tmp_path / "other.key"
    key.make(other)
    with Remote("client", where, key_file), pytest.raises(EngineUnavailableError, match="has a different key"):
        Remote("server", where, other)


def test_an_agent_that_hangs_up_has_no_other_key(agent: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    where, key_file = agent
    monkeypatch.setattr(server.Agent, "_session", lambda *_: None)
    with pytest.raises(EngineUnavailableError, match=r"ended the session|lost the connection"):
        Remote("client", where, key_file)
