"""What the wheel is optimized for, and the comparison of two copies, without building either."""

from pathlib import Path

import pytest

from tools.bench import cores
from tools.release import profile, training


def test_each_kind_of_workload_is_among_what_the_compiler_watches() -> None:
    described = [scenario.description() for scenario, _ in training.scenarios().values()]
    connections = [connection for description in described for connection in description["connections"]]
    assert {connection["protocol"] for connection in connections} == {"tcp", "mptcp"}
    assert {connection["congestion"]["name"] for connection in connections} == {"reno", "lia"}
    assert max(connection["count"] for connection in connections) >= 1_000, "so many that the cache cannot hold them"
    assert max(len(description["links"]) for description in described) >= 50, "so many that the core prefetches them"


def test_a_missing_tool_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(profile, "profdata", lambda: None)
    assert profile.make(tmp_path / "mptcplab.profdata") == 2
    assert "rustup component add llvm-tools" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("digests", "status"), [(("a", "a"), 0), (("a", "b"), 1)])
def test_copies_whose_results_differ_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], digests: tuple[str, str], status: int
) -> None:
    taken = {"before": (3.0, digests[0]), "after": (2.0, digests[1])}
    monkeypatch.setattr(cores, "_run", lambda folder, name: taken[folder])
    assert cores.compare("before", "after", 3) == status
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(training.scenarios())
    assert all("1.50 times as fast" in line for line in lines)
    assert all(("DIFFER" in line) == (status == 1) for line in lines)
