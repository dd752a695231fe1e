"""A Result as a directory."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from mptcplab import Result, Scenario, plots, run
from mptcplab.results import directory as store
from mptcplab.results.columns import FRAMES, polars_schema

NAMES = ["goodput", "queues", "rtts", "windows"]
EVERYTHING = sorted(
    [f"{name}.parquet" for name in FRAMES]
    + ["files.sha256", "report.html", "result.json", "scenario.toml"]
    + [f"plots/{name}.{kind}" for name in NAMES for kind in ("png", "svg")]
)


def files(directory: Path) -> list[str]:
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file())


def contents(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in files(directory)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "out"


@pytest.fixture
def saved(result: Result, kept: Path, tmp_path: Path) -> Path:
    """The result in a directory of the test's own; written once for all tests, as its figures take seconds."""
    if not kept.exists():
        result.save(kept)
    return Path(shutil.copytree(kept, tmp_path / "out"))


def test_a_saved_result_has_all_its_files(result: Result, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "out"
    result.save(place)
    assert files(place) == EVERYTHING
    assert [entry.name for entry in place.parent.iterdir()] == ["out"], "nothing else is left beside it"


def test_parquet_gives_the_frames_back(result: Result, saved: Path) -> None:
    for name in FRAMES:
        read = pl.read_parquet(saved / f"{name}.parquet")
        assert read.schema == polars_schema(name)
        assert read.equals(getattr(result, name))


def test_the_saved_scenario_is_the_one_that_ran(scenario: Scenario, made_up_core: None, tmp_path: Path) -> None:
    run(scenario.with_("link.wifi.rate=3 Mbit/s"), seed=11).save(tmp_path / "out")
    again = Scenario.load(tmp_path / "out" / "scenario.toml")
    assert again.seed == 11
    assert again.description()["links"][0]["down"]["rate_bps"] == 3_000_000


def test_equal_results_are_equal_bytes(scenario: Scenario, made_up_core: None, tmp_path: Path) -> None:
    run(scenario, repeat=2).save(tmp_path / "one")
    run(scenario, repeat=2, jobs=2).save(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_earlier_result_is_replaced(scenario: Scenario, made_up_core: None, tmp_path: Path) -> None:
    run(scenario, repeat=2).save(tmp_path / "out")
    assert "plots/runs.svg" in files(tmp_path / "out")
    run(scenario).save(tmp_path / "out")
    assert files(tmp_path / "out") == EVERYTHING


def test_an_empty_directory_will_do(result: Result, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    result.save(tmp_path / "out")
    assert files(tmp_path / "out") == EVERYTHING


@pytest.mark.parametrize(
    "name", ["notes.md", "plots/mine.txt", "plots/mine.svg", "traces/mine.trace", "captures/mine.pcapng", "old/a.txt"]
)
def test_files_of_others_are_not_removed(result: Result, saved: Path, name: str) -> None:
    (saved / name).parent.mkdir(exist_ok=True)
    (saved / name).write_text("precious")
    before = contents(saved)
    with pytest.raises(store.OccupiedError, match=name):
        result.save(saved)
    assert contents(saved) == before


def test_a_file_that_was_changed_is_not_replaced(result: Result, saved: Path) -> None:
    (saved / "scenario.toml").write_text("# my notes")
    before = contents(saved)
    with pytest.raises(store.OccupiedError, match=r"changed since .*: scenario\.toml"):
        result.save(saved)
    assert contents(saved) == before


def test_what_appears_while_a_result_is_written_is_kept(
    result: Result, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = plots.write_static

    def meanwhile(*arguments: Any) -> None:
        (saved / "notes.md").write_text("precious")
        write(*arguments)

    monkeypatch.setattr(plots, "write_static", meanwhile)
    with pytest.raises(store.OccupiedError, match=r"notes\.md"):
        result.save(saved)
    assert (saved / "notes.md").read_text() == "precious"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_a_file_that_was_removed_does_not_matter(result: Result, saved: Path) -> None:
    (saved / "report.html").unlink()
    result.save(saved)
    assert files(saved) == EVERYTHING


def test_a_link_is_not_followed(result: Result, saved: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (saved / "more").symlink_to(elsewhere)
    with pytest.raises(store.OccupiedError, match="more"):
        result.save(saved)
    assert (saved / "more").is_symlink()


def test_sha256sum_knows_the_inventory(saved: Path) -> None:
    lines = (saved / "files.sha256").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == [name for name in EVERYTHING if name != "files.sha256"]
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((saved / name).read_bytes()).hexdigest() == digest


def test_a_directory_that_only_looks_like_a_result_is_not_replaced(result: Result, tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    (place / "scenario.toml").write_text('title = "mine"')
    with pytest.raises(store.OccupiedError, match="does not contain a result"):
        result.save(place)
    assert files(place) == ["scenario.toml"]


def test_a_file_in_the_place_is_an_error(result: Result, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(store.OccupiedError, match="is not a directory"):
        result.save(tmp_path / "out")


def test_a_result_that_cannot_take_its_place_leaves_the_earlier_one(
    result: Result, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(saved)

    def fail(*_: Path) -> None:
        raise OSError("a file system that is full")

    monkeypatch.setattr("mptcplab.files.exchange", fail)
    with pytest.raises(OSError, match="is full"):
        result.save(saved)
    assert contents(saved) == before
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_traces_are_kept_and_found_again(made_up_core: None, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.trace").write_text("1\n2\n2\n4\n")
    file = tmp_path / "traced.toml"
    file.write_text(
        'duration = "1 s"\nmeasure.sample = "never"\nconnection.c.paths = ["a"]\n'
        'link.a = { delay = "10 ms", down.trace = "mine/a.trace", up.rate = "1 Mbit/s" }\n'
    )
    scenario = Scenario.load(file)
    run(scenario).save(tmp_path / "out")
    assert (tmp_path / "out" / "traces" / "a.trace").read_text() == "1\n2\n2\n4\n"
    assert Scenario.load(tmp_path / "out" / "scenario.toml") == scenario


@pytest.mark.parametrize("earlier", [False, True])
def test_a_failure_leaves_nothing_half_written(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    place = tmp_path / "results" / "out"
    if earlier:
        result.save(place)
    before = contents(place) if earlier else {}

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(plots, "write_static", fail)
    with pytest.raises(OSError, match="no space left"):
        result.save(place)
    assert (contents(place) if earlier else {}) == before
    assert [entry.name for entry in place.parent.iterdir()] == (["out"] if earlier else [])
