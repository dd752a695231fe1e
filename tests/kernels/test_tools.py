"""The programs of a guest, compiled by the first run."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from mptcplab.kernels import tools


def test_runs_that_begin_at_once_do_not_take_each_others_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--jobs 2` and an empty cache, two threads compile the same program; each must still find its own draft."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("mptcplab.machine.require", lambda *_: None)
    written, together = [], Barrier(2, timeout=30)

    def compile_slowly(command: list[str], *, check: bool) -> None:
        assert check
        draft = Path(command[-1])
        draft.write_text("program")
        written.append(draft)
        together.wait()

    monkeypatch.setattr("subprocess.run", compile_slowly)
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(tools.tools) for _ in range(2))
        place = first.result()
        assert second.result() == place
    assert sorted(path.name for path in place.iterdir()) == ["init", "seed.so"]
    assert len(set(written)) == 4
