"""Files that are no scenarios at all: endless, without a size, too deep, too long, with names that no file has."""

import os
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from mptcplab import Scenario, ScenarioError, cli, files
from mptcplab.scenario import lines
from mptcplab.scenario.lines import key_lines
from mptcplab.sweeps.file import Sweep

GOOD = 'duration = "1 s"\n[link.a]\nrate = "1 Mbit/s"\ndelay = "1 ms"\n[connection.c]\npaths = ["a"]\n'
SWEEP = 'scenario = "base.toml"\n[design]\nkind = "grid"\n[factor]\n"link.a.rate" = ["1 Mbit/s", "2 Mbit/s"]\n'


def fifo(place: Path) -> Path:
    os.mkfifo(place / "fifo")
    return place / "fifo"


def loop(place: Path) -> Path:
    (place / "loop").symlink_to("loop")
    return place / "loop"


INPUTS: dict[str, Callable[[Path], Any]] = {
    "an endless device": lambda _: "/dev/zero",
    "a pipe that nobody writes": fifo,
    "a directory": lambda place: place,
    "a null byte": lambda _: "a\0b",
    "half of a pair": lambda _: "a\ud800b",
    "a long name": lambda _: "a" * 5_000,
    "a loop of links": loop,
    "a socket": lambda _: "/dev/fd/999",
}


@pytest.mark.parametrize("what", INPUTS)
def test_what_is_no_file_is_an_error_of_the_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """As a scenario, a sweep, the scenario of a sweep, a trace, a plug-in, Minitopo's file: status 2, no traceback."""
    named = str(INPUTS[what](tmp_path))
    for load in (Scenario.load, Sweep.load):
        with pytest.raises(ScenarioError):
            load(named)
    document = tomllib.loads(GOOD)
    document["link"]["a"] = {"trace": named, "delay": "1 ms"}
    with pytest.raises(ScenarioError, match="cannot be read"):
        Scenario.from_dict(document)
    document = tomllib.loads(GOOD)
    document["connection"]["c"]["congestion"] = {"plugin": f"{named}:Own"}
    with pytest.raises(ScenarioError, match="cannot be read"):
        Scenario.from_dict(document)
    if "\ud800" in named:  # TOML has none
        return
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps({**tomllib.loads(SWEEP), "scenario": named}))
    commands = [["check", named], ["run", named], ["import", "minitopo", named], ["lab", named, "--no-browser"]]
    # No argument of a command has a null byte, but a file may name such.
    for command in [["sweep", str(tmp_path / "sweep.toml"), "--out", "out"], *(commands if "\0" not in named else [])]:
        assert cli.invoke(command) == 2, command
        told = capsys.readouterr()
        assert told.err.startswith("error: "), command
        assert "Traceback" not in told.err


def test_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    (tmp_path / "a").write_bytes(b"#" * (1 << 20))
    assert len(files.read(tmp_path / "a")) == 1 << 20
    (tmp_path / "a").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(OSError, match="more than 1 MiB"):
        files.read(tmp_path / "a")
    # Not even read: a file of 1 TiB, which is all a hole.
    os.truncate(tmp_path / "a", 1 << 40)
    with pytest.raises(OSError, match="more than 1 MiB"):
        files.read(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 900) + " = 1",
        "a = " + "[" * 90 + "]" * 90,
        "a = " + "[" * 9_000 + "]" * 9_000,
        "a = " + "{a = " * 60 + "1" + "}" * 60,
        "[" + ".".join(["a"] * 5_000) + "]",
        ".".join(["a"] * 1_000_000) + " = 1",
        "a = { " + " . ".join(['"a"'] * 1_000_000) + " = 1 }",
    ],
)
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(ScenarioError, match="too deeply nested"):
        Scenario.from_toml(GOOD.replace('duration = "1 s"', 'duration = "1 s"\n' + text))


def test_a_long_word_is_no_deep_key() -> None:
    title = ". ".join(["no, no", "yes"] * 200)
    text = GOOD.replace('duration = "1 s"', f"# {'a' * 100_000}.b\ntitle = {title!r}\nduration = '1 s'")
    assert Scenario.from_toml(text).document.title == title


def first_that_parses(text: str) -> dict[tuple[Any, ...], int]:
    """The same as `key_lines` by trying each line as the end: the right answer, in quadratic time."""
    rows = text.split("\n")
    found: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    table: tuple[Any, ...] = ()
    start = 0
    while start < len(rows):
        end, row = start + 1, rows[start].strip()
        if row.startswith("["):
            table = lines._header(row, counts)
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], start + 1)
        elif row and not row.startswith("#"):
            while True:
                try:
                    lines._record(table, tomllib.loads("\n".join(rows[start:end])), start + 1, found)
                    break
                except tomllib.TOMLDecodeError:
                    end += 1
        start = end
    return found


PIECES = (
    "1", '"a"', "'b'", '"#"', "'['", '"]"', '"\\""', '"\\\\"', "true", "1979-05-27", '"""\nx\n"""', "'''\n[\n'''",
    '"""a"b""c\\"""" # d', '""""quoted""""', "''''x''''", '"""\\\n  y"""', "[\n  1, # ]\n  2,\n]", "[\n]",
    "[[1], [\n2]]",
    '{ a = 1, "b]" = "[" }', "{}",
)  # fmt: skip
COMMENTS = ("", '  # it is [ " ')


def test_lines_of_random_texts_are_those_of_the_simple_way() -> None:
    dice = random.Random(1)
    for number in range(2_000):
        text = ""
        for place in range(dice.randint(1, 12)):
            kind = dice.random()
            if kind < 0.15:
                text += f"[t{place}]  # [\n"
            elif kind < 0.25:
                text += "[[e]]\n"
            elif kind < 0.35:
                text += "\n# ' \" [ '''\n"
            else:
                key = dice.choice([f"k{place}", f'"q#[{place}"', f"a{place}.b"])
                text += f"{key} = {dice.choice(PIECES)}{dice.choice(COMMENTS)}\n"
        tomllib.loads(text)
        assert key_lines(text) == first_that_parses(text), f"text {number}:\n{text}"


def test_an_error_in_a_long_file_is_found_in_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each statement is parsed once more, not each line of an array again and again."""
    array = "k = [\n" + "  1,\n" * 400 + "]\n"
    text = GOOD + "".join(f"[x{number}]\n{array}" for number in range(100))
    parsed = 0
    loads = tomllib.loads

    def counting(part: str) -> dict[str, Any]:
        nonlocal parsed
        parsed += len(part)
        return loads(part)

    monkeypatch.setattr(tomllib, "loads", counting)
    with pytest.raises(ScenarioError, match=r":7: x0: found"):
        Scenario.from_toml(text)
    assert parsed < 3 * len(text)
