"""Ready-made scenarios are found by their names, wherever the package is."""

import tomllib
from pathlib import Path

import pytest
from mptcplab import shipped
from mptcplab.scenario import Scenario, ScenarioError

ROOT = Path(__file__).parents[2]


def test_a_name_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Scenario.load("wifi-lte") == Scenario.load(ROOT / "scenarios" / "wifi-lte.toml")
    assert Scenario.load("lte-trace").document.traces, "a trace beside the ready-made file is found too"


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wifi-lte").write_text((ROOT / "scenarios" / "one-link.toml").read_text(encoding="utf-8"), encoding="utf-8")
    assert Scenario.load("wifi-lte").document.title == "One Reno flow on a clean link"


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(ScenarioError, match=r'^wifi-lt: found neither .*; did you mean "wifi-lte"\?$'):
        Scenario.load("wifi-lt")


def test_the_package_has_what_the_checkout_has() -> None:
    """By links that the build follows: a wheel holds the files themselves."""
    assert shipped.scenario_directory() == ROOT / "scenarios"
    assert shipped.papers_directory() == ROOT / "papers"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"python/mptcplab/scenarios/**/*", "python/mptcplab/papers/**/*"} <= set(
        project["tool"]["maturin"]["include"]
    )
