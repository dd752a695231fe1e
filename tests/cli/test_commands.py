"""The command: what it prints, its exit status, and that errors leave nothing behind."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mptcplab import SimulationError, _core, registry
from mptcplab.cli.app import COMMANDS
from mptcplab.scenario import Scenario

Call = Callable[..., Any]


def test_run_prints_three_tables(call: Call, scenario_file: Path, made_up_core: None) -> None:
    done = call("run", scenario_file)
    assert (done.status, done.err) == (0, "")
    assert "Two paths and a neighbour: 4 s on sim, seed 7" in done.out
    for heading in ("Connections", "Subflows", "Links"):
        assert f"\n{heading}" in done.out
    row = next(line for line in done.out.splitlines() if line.lstrip().startswith("download"))
    assert row.split() == ["download", "mptcp", "lia", "min-rtt", "10.00", "1.000", "3.500", "2.000", "12.30", "–", "–"]


def test_the_columns_of_numbers_align(call: Call, scenario_file: Path, made_up_core: None) -> None:
    lines = call("run", scenario_file).out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("Connections"))
    header = next(line for line in lines[at:] if "goodput" in line)
    units = lines[lines.index(header) + 1]
    rows = [line for line in lines[at:] if line.lstrip().startswith(("download", "neighbour"))][:3]
    end = header.index("goodput") + len("goodput")
    assert units[:end].endswith("Mbit/s")
    assert [row[:end].split()[-1] for row in rows] == ["10.00", "11.00", "12.00"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_tables_fit_the_terminal_and_say_what_is_left_out(
    call: Call, scenario_file: Path, made_up_core: None, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = call("run", scenario_file).out
    assert max(map(len, out.splitlines())) <= width
    if width >= 60:
        assert "…" not in out
        assert "goodput" in out
    if width < 120:
        assert "omitted" in out


def test_no_colour_where_nobody_looks(call: Call, scenario_file: Path, made_up_core: None) -> None:
    assert "\x1b" not in call("run", scenario_file).out


def test_json_is_alone_on_standard_output(call: Call, scenario_file: Path, made_up_core: None, tmp_path: Path) -> None:
    done = call("run", scenario_file, "--json", "--out", tmp_path / "out")
    document = json.loads(done.out)
    assert document["samples"] == "samples.parquet"
    assert document == json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert "report.html" in done.err


def test_set_overrides_any_key(call: Call, scenario_file: Path, made_up_core: None) -> None:
    done = call("run", scenario_file, "--json", "--set", "duration=3 s", "--set", "connection.neighbour.count=1")
    document = json.loads(done.out)
    assert document["duration_s"] == 3.0
    assert [connection["name"] for connection in document["connections"]] == ["download", "neighbour"]


def test_repeat_counts_seeds_from_the_one_given(call: Call, scenario_file: Path, made_up_core: None) -> None:
    done = call("run", scenario_file, "--json", "--seed", 20, "--repeat", 3, "--jobs", 2)
    assert [one["seed"] for one in json.loads(done.out)["runs"]] == [20, 21, 22]
    done = call("run", scenario_file, "--seed", 20, "--repeat", 3)
    assert "3 runs, seeds 20 to 22" in done.out
    assert "mean of 3 runs" in done.out


@pytest.mark.parametrize("wanted", [True, False])
def test_through_wire_reaches_the_core(
    call: Call, scenario_file: Path, made_up_core: None, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    told = []
    simulate = _core.simulate

    def heard(description: str, *arguments: Any, **named: Any) -> Any:
        told.append(json.loads(description)["through_wire"])
        return simulate(description, *arguments, **named)

    monkeypatch.setattr(_core, "simulate", heard)
    done = call("run", scenario_file, "--json", *(["--through-wire"] if wanted else []))
    assert told == [wanted]
    assert json.loads(done.out)["provenance"]["through_wire"] is wanted


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ("run missing.toml", 2, "missing.toml"),
        ("run {file} --set link.wifi.rate=10", 2, "link.wifi.rate"),
        ("run {file} --set link.wifi.speed=10", 2, "speed"),
        ("run {file} --set nonsense", 2, "nonsense"),
        ("run {file} --engine ns2", 2, "no engine 'ns2'"),
        ("run {file} --engine model", 3, 'event.0: found a change of "wifi" at 2 s; expected no events'),
        ("run {file} --engine model --through-wire", 2, "--through-wire is for segments of the engine sim"),
        ("run {file} --engine stack --through-wire", 2, "--through-wire is for segments of the engine sim"),
        ("run {file} --repeat 0", 2, "--repeat"),
        ("run {file} --jobs 0", 2, "--jobs"),
        ("run {file} --seed -1", 2, "--seed"),
        ("run {file} --seed x", 2, "--seed"),
        ("run {file} --frobnicate", 2, "--frobnicate"),
        ("run {file} --engine model --set connection.download.scheduler=redundant", 3, "redundant"),
        ("run", 2, "FILE"),
        ("check missing.toml", 2, "missing.toml"),
        ("check {file} --set duration=-1", 2, "duration"),
        ("list colours", 2, "no list of 'colours'"),
        ("sweep {file}", 2, "sweep"),
    ],
)
def test_an_error_has_its_status_and_writes_nothing(
    call: Call, scenario_file: Path, made_up_core: None, tmp_path: Path, arguments: str, status: int, says: str
) -> None:
    words = shlex.split(arguments.format(file=scenario_file))
    if words[0] == "run" and len(words) > 1:
        words += ["--out", str(tmp_path / "results" / "out")]
    done = call(*words)
    assert done.status == status
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert says in done.err
    assert "Traceback" not in done.err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [scenario_file.name]


def test_every_problem_is_one_line(call: Call, scenario_file: Path) -> None:
    done = call("check", scenario_file, "--set", "link.wifi.rate=10", "--set", "link.lte.delay=fast")
    assert done.status == 2
    assert len(re.findall("^error: ", done.err, re.MULTILINE)) == 2


def test_a_failed_run_is_status_1_and_writes_nothing(
    call: Call, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(*_: object) -> None:
        raise SimulationError("the receiver read a byte in the wrong place")

    monkeypatch.setattr(_core, "simulate", simulate)
    done = call("run", scenario_file, "--out", tmp_path / "out")
    assert (done.status, done.out) == (1, "")
    assert done.err == "error: the receiver read a byte in the wrong place\n"
    assert not (tmp_path / "out").exists()


def test_an_occupied_directory_is_refused_before_anything_runs(
    call: Call, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "simulate", lambda *_: pytest.fail("it ran"))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.md").write_text("mine")
    done = call("run", scenario_file, "--out", tmp_path / "notes")
    assert done.status == 2
    assert "mine.md" in done.err


def test_an_interruption_before_the_first_result_writes_nothing(
    call: Call, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "simulate", simulate)
    done = call("run", scenario_file, "--out", tmp_path / "out")
    assert (done.status, done.out) == (1, "")
    assert "interrupted after 0 of 1 runs" in done.err
    assert not (tmp_path / "out").exists()


def test_an_interruption_keeps_the_runs_that_are_finished(
    call: Call,
    scenario_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made_up_outcome: Callable[[Any], Any],
) -> None:
    def simulate(description: str, *_: object) -> object:
        parsed = json.loads(description)
        if parsed["seed"] == 9:
            raise KeyboardInterrupt
        return made_up_outcome(parsed)

    monkeypatch.setattr(_core, "simulate", simulate)
    done = call("run", scenario_file, "--repeat", 4, "--out", tmp_path / "out", "--json")
    assert done.status == 1
    assert [one["seed"] for one in json.loads(done.out)["runs"]] == [7, 8]
    assert "interrupted after 2 of 4 runs" in done.err
    assert (tmp_path / "out" / "report.html").exists()


def test_check_runs_nothing(call: Call, scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "simulate", lambda *_: pytest.fail("it ran"))
    done = call("check", scenario_file)
    assert done.status == 0
    assert re.search(r"^  sim +can run it$", done.out, re.MULTILINE)
    assert re.search(r"^  linux +cannot run it:$", done.out, re.MULTILINE)


def test_check_says_what_an_engine_cannot_do(call: Call, scenario_file: Path) -> None:
    done = call("check", scenario_file, "--set", "connection.download.scheduler=redundant")
    assert done.status == 0, "the scenario is valid all the same"
    assert re.search(r"^  sim +can run it$", done.out, re.MULTILINE)
    assert re.search(r"^  model +cannot run it:$", done.out, re.MULTILINE)
    assert "redundant" in done.out
    assert "event.0" in done.out


@pytest.mark.parametrize("topic", registry.FAMILIES)
def test_list_has_one_line_for_each(call: Call, topic: str) -> None:
    done = call("list", topic)
    assert done.status == 0
    first_words = [line.split()[0] for line in done.out.splitlines() if line.strip()]
    for entry in registry.FAMILIES[topic]:
        assert first_words.count(entry.name) == 1


@pytest.mark.parametrize("topic", registry.SETTINGS)
def test_list_shows_the_keys_with_defaults_that_a_scenario_takes(call: Call, topic: str) -> None:
    rows = json.loads(call("list", topic, "--json").out)[topic]
    assert [row["key"] for row in rows] == [each.name for each in registry.settings(topic).parameters]
    keys = ", ".join(f"{row['key']} = {row['default']}" for row in rows)
    text = """
        duration = "1 s"
        medium.air = {}
        link.a = { rate = "1 Mbit/s", delay = "1 ms", medium = "air" }
        connection.c = { paths = ["a"], tcp = {} }
        """
    table = {"media": "air", "tcp": "tcp"}[topic]
    assert Scenario.from_toml(text.replace(f"{table} = {{}}", f"{table} = {{ {keys} }}")) == Scenario.from_toml(text)


def test_list_shows_the_scenario_files(call: Call) -> None:
    done = call("list", "scenarios")
    assert done.status == 0
    assert "wifi-lte.toml" in done.out


def test_list_papers_has_their_titles(call: Call) -> None:
    done = call("list", "papers")
    assert done.status == 0
    for published in (Path(__file__).parents[2] / "papers").glob("*/published.toml"):
        assert published.parent.name in done.out


def test_list_without_a_topic_has_them_all(call: Call) -> None:
    out = call("list").out
    for topic in (*registry.FAMILIES, *registry.SETTINGS, "scenarios", "papers"):
        assert re.search(f"^{topic}\\b", out, re.MULTILINE)


def test_doctor_speaks_of_every_engine(call: Call) -> None:
    done = call("doctor")
    assert done.status == 0
    assert re.search("^sim +ready", done.out, re.MULTILINE)
    assert re.search("^model +ready", done.out, re.MULTILINE)
    assert re.search("^stack +(ready|not here)", done.out, re.MULTILINE)
    assert re.search("^linux +(ready|not here)", done.out, re.MULTILINE)
    assert "tshark" in done.out


def test_version(call: Call) -> None:
    assert re.fullmatch(r"mptcplab \d+\.\d+\.\d+\n", call("--version").out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_that_is_a_command(call: Call, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = call(command, "--help")
    assert done.status == 0
    example = re.search(r"Example: (mptcplab .*)", done.out)
    assert example is not None
    assert shlex.split(example[1])[1] == command


def test_help_names_the_commands_and_no_others(call: Call) -> None:
    out = call("--help").out
    assert re.findall(r"^  (\w+)  ", out.partition("Commands:")[2], re.MULTILINE) == [
        "run",
        "compare",
        "check",
        "paths",
        "import",
        "export",
        "lab",
        "trace",
        "analyze",
        "diagnose",
        "advise",
        "probe",
        "predict",
        "sweep",
        "summary",
        "design",
        "verify",
        "reproduce",
        "get",
        "list",
        "completion",
        "schema",
        "case",
        "conform",
        "doctor",
        "bpf",
        "agent",
        "kernel",
    ]


def test_as_a_program(scenario_file: Path) -> None:
    """The installed command, in a process of its own."""
    program = Path(sys.executable).with_name("mptcplab")
    done = subprocess.run([program, "check", scenario_file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([program, "check", "missing.toml"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_a_closed_pipe_is_no_traceback() -> None:
    program = Path(sys.executable).with_name("mptcplab")
    done = subprocess.run(
        f"{shlex.quote(str(program))} list | head -n 1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
