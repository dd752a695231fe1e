"""What `mptcplab` offers to Python: its names, its examples, and that what goes in comes out."""

import doctest
import importlib
import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import mptcplab
import pytest
from mptcplab import Result, Scenario, connection, event, link
from mptcplab.errors import Error
from mptcplab.results.columns import FRAMES
from mptcplab.results.saved import SavedResultError
from mptcplab.scenario.connections import Connection
from mptcplab.scenario.links import Link
from mptcplab.scenario.model import Change, Event

FUNCTIONS = ("advise", "analyze", "compare", "design", "predict", "reproduce", "run", "sweep")
EXAMPLES = (
    "mptcplab",
    "mptcplab.advice.advising",
    "mptcplab.capture.analysis",
    "mptcplab.comparison.comparing",
    "mptcplab.designs.design",
    "mptcplab.engines.runner",
    "mptcplab.models.predict",
    "mptcplab.plots.charts",
    "mptcplab.reproduce.repeat",
    "mptcplab.results.result",
    "mptcplab.scenario.builders",
    "mptcplab.scenario.load",
    "mptcplab.sweeps.facade",
    "mptcplab.sweeps.file",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_docstrings_give_what_they_say(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted > 0
    assert done.failed == 0


def test_the_name_space_has_what_is_public_and_nothing_else() -> None:
    assert dir(mptcplab) == sorted(mptcplab.__all__)
    for name in (*FUNCTIONS, "Scenario", "Result", "connection", "event", "link"):
        assert name in dir(mptcplab)
    visible = {name for name in vars(mptcplab) if not name.startswith("_")}
    modules = {name for name in visible if inspect.ismodule(vars(mptcplab)[name])}
    assert visible - modules <= set(mptcplab.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_and_raises(name: str) -> None:
    function = getattr(mptcplab, name)
    if name == "reproduce":
        from mptcplab.reproduce.repeat import reproduce as function  # the package can be called as this function
    text = inspect.getdoc(function)
    assert text is not None
    assert re.search("Raises[ :]", text)
    assert ">>> " in text
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("kind", [Scenario, Result])
def test_every_public_method_has_an_example(kind: type) -> None:
    methods = [name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    assert len(methods) >= 7
    assert [name for name in methods if ">>> " not in (inspect.getdoc(getattr(kind, name)) or "")] == []


def test_every_error_of_the_package_has_one_base() -> None:
    for name in mptcplab.__all__:
        value = getattr(mptcplab, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            assert issubclass(value, Error), name


def parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters)


def test_the_builders_know_every_key() -> None:
    assert parameters(link) == set(Link.keys())
    assert parameters(connection) == set(Connection.keys())
    assert parameters(event) == set(Event.keys()) - {"set"} | set(Change.keys())


READY_MADE = sorted(Path(mptcplab.__file__).parent.joinpath("scenarios").glob("*.toml"))
WITHOUT_TRACES = [file for file in READY_MADE if not re.search(r"trace\s*=", file.read_text())]


@pytest.mark.parametrize("file", WITHOUT_TRACES, ids=lambda file: file.stem)
def test_a_scenario_goes_through_a_dictionary_and_through_toml(file: Path) -> None:
    scenario = Scenario.load(file)
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_parts_make_the_scenario_that_a_file_makes(scenario: Scenario) -> None:
    built = Scenario.build(
        title="Two paths and a neighbour",
        duration="4 s",
        seed=7,
        links={
            "wifi": link(rate="25 Mbit/s", delay="12.5 ms", queue="100 ms"),
            "lte": link(delay="32.5 ms", queue="100 ms", down=link(rate="30 Mbit/s"), up=link(rate="5 Mbit/s")),
        },
        connections={
            "download": connection(("wifi", "lte"), congestion="lia", scheduler="min-rtt", path_manager="fullmesh"),
            "neighbour": connection(["wifi"], protocol="tcp", congestion="reno", count=2),
        },
        events=[event("2 s", "wifi", rate="10 Mbit/s")],
        warmup="1 s",
        sample="100 ms",
    )
    assert built == scenario


def test_with_changes_a_copy(scenario: Scenario) -> None:
    changed = scenario.with_({"link.wifi.rate": "5 Mbit/s", "connection.download.paths": ("wifi",)}, seed=9)
    assert changed == scenario.with_("link.wifi.rate=5 Mbit/s", 'connection.download.paths=["wifi"]', "seed=9")
    assert scenario.seed == 7
    assert changed.name == scenario.name
    with pytest.raises(mptcplab.ScenarioError, match=r"link\.wify"):
        scenario.with_({"link.wify.rate": "5 Mbit/s"})
    with pytest.raises(mptcplab.ScenarioError, match="a bare number"):
        scenario.with_(duration=5)


def test_what_is_wrong_in_a_dictionary_is_said() -> None:
    with pytest.raises(mptcplab.ScenarioError) as error:
        Scenario.from_dict({"duration": 5, "link": {"a": {"rate": "10 Mbit/s"}}, "conection": {}})
    text = str(error.value)
    assert "<dict>: duration" in text
    assert "link.a.delay" in text
    assert 'did you mean "connection"' in text


def test_what_was_saved_is_loaded(scenario: Scenario, made_up_core: None, tmp_path: Path) -> None:
    for repeat in (1, 3):
        result = mptcplab.run(scenario, repeat=repeat)
        again = Result.load(result.save(tmp_path / f"out-{repeat}"))
        for name in FRAMES:
            assert getattr(again, name).equals(getattr(result, name)), name
        assert again == result
        assert again.to_json() == result.to_json()


@pytest.mark.parametrize("repeat", [1, 2])
def test_notes_and_failures_of_each_run_are_loaded(
    scenario: Scenario, made_up_core: None, repeat: int, tmp_path: Path
) -> None:
    result = mptcplab.run(scenario, repeat=repeat)
    runs = tuple(
        (number, replace(run, notes=("all", f"note {number}"), failures=(f"program {number} ended with status 1",)))
        for number, run in result.runs
    )
    told = replace(result, runs=runs)
    again = Result.load(told.save(tmp_path / "out"))
    assert again == told
    assert [run.failures for _, run in again.runs] == [run.failures for _, run in runs]


def test_what_is_no_result_is_not_loaded(result: Result, tmp_path: Path) -> None:
    with pytest.raises(SavedResultError, match="no readable result"):
        Result.load(tmp_path)
    result.save(tmp_path / "out")
    (tmp_path / "out" / "links.parquet").write_bytes((tmp_path / "out" / "samples.parquet").read_bytes())
    with pytest.raises(SavedResultError, match="links"):
        Result.load(tmp_path / "out")


@pytest.mark.parametrize("name", ["goodput", "windows", "rtts", "queues"])
@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_a_plot_has_its_data_in_it(result: Result, name: str, theme: str, tmp_path: Path) -> None:
    chart = getattr(result.plot, name)(theme)
    spec = chart.to_dict()
    points = [row for rows in spec["datasets"].values() for row in rows]
    assert len(points) > 40
    assert chart._repr_mimebundle_() is not None
    assert spec["config"]["background"] == {"light": "white", "dark": "#1B1D21", "print": "white"}[theme]
    chart.save(tmp_path / "chart.svg")
    width = float((tmp_path / "chart.svg").read_text().split('width="', 1)[1].split('"', 1)[0])
    assert (width <= 252) is (theme == "print"), "a column of a paper is 3.5 inches wide"


def test_a_figure_that_is_not_there_is_said(result: Result) -> None:
    with pytest.raises(ValueError, match="no figure 'runs'; it has goodput"):
        result.plot.runs()


def test_a_notebook_shows_tables(result: Result) -> None:
    page = result._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 3
    assert "Two paths and a neighbour" in page
    assert "10.00" in page


def test_pandas_gets_the_same_columns(result: Result) -> None:
    with pytest.raises(ValueError, match="no frame 'nonsense'"):
        result.to_pandas("nonsense")
    frame = result.to_pandas()
    assert list(frame.columns) == result.connections.columns
    assert frame["goodput_bps"].tolist() == result.connections["goodput_bps"].to_list()
