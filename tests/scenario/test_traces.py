"""Traces in a scenario: where they are looked for, what is wrong with them, and what becomes of them."""

import hashlib
from pathlib import Path

import pytest
from mptcplab.scenario import Scenario, ScenarioError

SCENARIOS = Path(__file__).parents[2] / "scenarios"
TEXT = """\
duration = "1 s"
[link.a]
delay = "10 ms"
down.trace = "a.trace"
up.rate = "1 Mbit/s"
[connection.c]
paths = ["a"]
"""


def scenario_in(folder: Path, text: str = TEXT, content: str = "1\n2\n2\n4\n") -> Path:
    (folder / "a.trace").write_text(content)
    file = folder / "x.toml"
    file.write_text(text)
    return file


def test_the_ready_made_trace_has_its_formula() -> None:
    """Over 10 s from 2 to 10 Mbit/s and back (bits a millisecond), nothing from 7.0 to 7.3 s, 12 000 bits a line."""
    lines, credit = [], 0
    for t in range(1, 10_001):
        if not 7000 < t <= 7300:
            credit += 2000 + 8 * min(t, 10_000 - t) // 5
        while credit >= 12_000:
            lines.append(t)
            credit -= 12_000
    assert (SCENARIOS / "traces" / "lte-down.trace").read_text() == "".join(f"{t}\n" for t in lines)


def test_a_queue_goes_by_the_mean_rate(tmp_path: Path) -> None:
    # 4 packets of 12 000 bits in 4 ms are 12 Mbit/s; over 20 ms 30 000 bytes.
    for queue in ("20 ms", "1 BDP"):
        file = scenario_in(tmp_path, TEXT + f'[link.a.queue]\nlimit = "{queue}"\n')
        description = Scenario.load(file).description()
        assert description["traces"] == ["1\n2\n2\n4\n"]
        down, up = description["links"][0]["down"], description["links"][0]["up"]
        assert (down["rate_bps"], down["trace"], down["queue"]["limit"]) == (0, 0, {"bytes": 30_000})
        assert (up["rate_bps"], up["trace"]) == (1_000_000, None)


def test_the_complete_scenario_has_the_digest_and_finds_a_copy(tmp_path: Path) -> None:
    scenario = Scenario.load(scenario_in(tmp_path))
    digest = hashlib.sha256(b"1\n2\n2\n4\n").hexdigest()
    assert f'sha256 = "{digest}"' in scenario.to_toml()
    (tmp_path / "result" / "traces").mkdir(parents=True)
    kept = tmp_path / "result" / "scenario.toml"
    kept.write_text(scenario.to_toml())
    (tmp_path / "result" / "traces" / "a.trace").write_text("1\n2\n2\n4\n")
    (tmp_path / "result" / "a.trace").write_text("9\n")
    assert Scenario.load(kept, ['title="x"']) == scenario.with_('title="x"')
    other = Scenario.load(scenario_in(tmp_path, content="1\n2\n2\n5\n"))
    assert other.sha256() != scenario.sha256()


def test_an_override_names_a_trace_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = scenario_in(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("mine.trace").write_text("3\n")
    changes = ["link.a.down.trace=mine.trace"]
    assert Scenario.load(file, changes).document.traces["mine.trace"].text == "3\n"
    with pytest.raises(ScenarioError, match=r"none\.trace.* or to the current directory"):
        Scenario.load(file, ["link.a.down.trace=none.trace"])


@pytest.mark.parametrize(
    ("content", "found", "expected"),
    [
        ("1\n2.5\n", ':2: "2.5"', "a time in whole milliseconds, alone on its line"),
        ("5\n7\n6\n", ":3: 6 after 7", "a time not before that of the line above"),
        ("", ":1: nothing", "at least one time in whole milliseconds"),
        ("1\nä\n", ":2: a byte that is not ASCII", "times in whole milliseconds"),
    ],
)
def test_what_is_no_trace_is_said_with_file_and_line(tmp_path: Path, content: str, found: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.load(scenario_in(tmp_path, content=content))
    (problem,) = raised.value.problems
    assert (problem.key, problem.line) == ("link.a.down.trace", 4)
    assert (problem.found, problem.expected) == (f"{tmp_path / 'a.trace'}{found}", expected)


def wrong(folder: Path, text: str) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        Scenario.load(scenario_in(folder, text))
    return [f"{each.key}: {each.found}; {each.expected}" for each in raised.value.problems]


def test_what_does_not_go_with_a_trace_is_refused(tmp_path: Path) -> None:
    (missing,) = wrong(tmp_path, TEXT.replace("a.trace", "b.trace"))
    assert missing.startswith('link.a.down.trace: "b.trace", which cannot be read (No such file or directory)')
    event = '[[event]]\nat = "0 s"\nlink = "a"\nset = { rate = "1 Mbit/s" }\n'
    expected = 'event.0.set.rate: "1 Mbit/s" for a link whose rate down comes from a trace; no rate, or a link without '
    assert wrong(tmp_path, TEXT + event) == [expected + 'the trace "a.trace"']
    Scenario.load(scenario_in(tmp_path, TEXT + event + 'direction = "up"\n'))
    old = TEXT.replace('"a.trace"', '{ file = "a.trace", sha256 = "' + 64 * "0" + '" }')
    (problem,) = wrong(tmp_path, old)
    assert "with the SHA-256" in problem
    assert "the trace with the SHA-256 0000" in problem
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.trace").write_text("8\n")
    two = TEXT.replace('up.rate = "1 Mbit/s"', 'up.trace = "sub/a.trace"')
    expected = "different file names: a result keeps both files in one directory"
    assert wrong(tmp_path, two) == [f'link.a.up.trace: "sub/a.trace" and "a.trace"; {expected}']
