"""What the wheel is optimized for, and the comparison of two copies, without building either."""

import zipfile
from pathlib import Path

import pytest
from mptcplab import registry

from tools.bench import cores
from tools.release import profile, training


def test_each_kind_of_workload_is_among_what_the_compiler_watches() -> None:
    described = [scenario.description() for scenario, _ in training.scenarios().values()]
    connections = [connection for description in described for connection in description["connections"]]
    assert {connection["protocol"] for connection in connections} == {"tcp", "mptcp"}
    assert {connection["congestion"]["name"] for connection in connections} == set(registry.names("congestion", "sim"))
    assert {connection["scheduler"]["name"] for connection in connections if connection["protocol"] == "mptcp"} == set(
        registry.names("schedulers", "sim")
    )
    assert "orp" in {connection["scheduler"].get("reinjection") for connection in connections}
    assert max(connection["count"] for connection in connections) >= 1_000, "so many that the cache cannot hold them"
    assert max(len(description["links"]) for description in described) >= 50, "so many that the core prefetches them"


def test_a_missing_tool_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(profile, "profdata", lambda: None)
    assert profile.make(tmp_path / "mptcplab.profdata") == 2
    assert "rustup component add llvm-tools" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


SHOWN = """Instrumentation level: IR  entry_first = 0
Maximum function count: 10665335
Top 3 functions with the largest internal block counts:
  _ZN4sttf6choose17h4fa333dca101851aE, max count = 24921363
  simulator.6ed2-cgu.0;_ZN67_$LT$impl$GT$12transmit_due17hde5e9ef10937c27dE, max count = 15273227
  _ZN9simulator5world17h4d81e689e4bc4e71E, max count = 14119844
"""


@pytest.mark.parametrize(
    ("symbols", "status"),
    [
        ("_ZN67_$LT$impl$GT$12transmit_due17hde5e9ef10937c27dE\n_ZN4sttf6choose17h4fa333dca101851aE\nmain\n", 0),
        ("_ZN67_$LT$impl$GT$12transmit_due17habf37dc60d4a7c8aE\n_ZN4sttf6choose17hfc1f1d1dac0bc2b4E\nmain\n", 1),
    ],
)
def test_a_wheel_that_the_profile_does_not_fit_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, symbols: str, status: int
) -> None:
    monkeypatch.setattr(profile, "profdata", lambda: tmp_path / "llvm-profdata")
    monkeypatch.setattr(profile, "_output", lambda tool, *_: SHOWN if tool == "llvm-profdata" else symbols)
    wheel = tmp_path / "mptcplab.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mptcplab/_core.abi3.so", "")
    assert profile.check(tmp_path / "mptcplab.profdata", wheel) == status
    printed = capsys.readouterr()
    assert f"{2 * (1 - status)} of the 3 functions" in printed.out
    assert ("no faster" in printed.err) == (status == 1)


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
