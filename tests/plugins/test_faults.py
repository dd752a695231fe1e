"""Plug-ins that fail, each with a clear error, its exit status, and nothing left in the output directory."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from mptcplab.cli.app import invoke
from mptcplab.plugins import PluginLoadError, loading
from mptcplab.scenario import Scenario

HEAD = "import math\nfrom mptcplab.plugins import *\n"
RULE = HEAD + "class Own(Rule):\n    def increase(self, subflows, r):\n        return {}\n"
CONTROL = (
    HEAD
    + "class Own(CongestionControl):\n"
    + "    def on_ack(self, subflows, r, ack):\n        return {}\n"
    + "    def on_loss(self, subflows, r, now_ns):\n        return {}\n"
)
WINDOW = "Window(subflows[r].cwnd + ack.acked_segments, subflows[r].ssthresh)"
LINE = 'congestion = { plugin = "own.py:Own" }'
PARAMETER = 'congestion = { plugin = "own.py:Own", beta = 0.7 }'

SCHEDULER = HEAD + "class Own(Scheduler):\n    def choose(self, demand, subflows, context):\n        return {}\n"
CHOOSE = 'scheduler = { plugin = "own.py:Own" }'
MANAGER = HEAD + "class Own(PathManager):\n    def on_event(self, event, context):\n        return {}\n"
MANAGE = 'path_manager = { plugin = "own.py:Own" }'

LOADING = {
    "no file": (RULE.format(0), LINE.replace("own.py", "other.py"), "other.py", "which cannot be read"),
    "a syntax error": (HEAD + "class Own(Rule:\n", LINE, "own.py:3", "a syntax error"),
    "no class": (RULE.format(0), LINE.replace(":Own", ":Gentle"), "no Gentle there", "there is Own"),
    "another base": (HEAD + "class Own:\n    pass\n", LINE, "derives from object", "mptcplab.plugins.Rule"),
    "a missing method": (HEAD + "class Own(Rule):\n    pass\n", LINE, "without increase"),
    "an unknown parameter": (RULE.format(0), PARAMETER, "congestion.beta", "without parameters"),
    "a wrong parameter": (
        RULE.format(0) + "    def __init__(self, *, beta: int):\n        pass\n",
        PARAMETER,
        "congestion.beta",
        "a whole number",
    ),
    "no parameter": (
        RULE.format(0) + "    def __init__(self, *, gamma):\n        pass\n",
        LINE,
        "congestion.gamma",
        "nothing",
    ),
    "__init__ raises": (
        RULE.format(0) + "    def __init__(self, *, beta):\n        raise ValueError('beta is too large')\n",
        PARAMETER,
        "ValueError: beta is too large (line 7)",
    ),
    "the file raises": (HEAD + "1 / 0\n", LINE, "ZeroDivisionError", "(line 3)"),
    "the file exits": (HEAD + "raise SystemExit(0)\n", LINE, "which raises SystemExit: 0", "(line 3)"),
    "the file ends all": (HEAD + "raise BaseException('boom')\n", LINE, "which raises BaseException: boom", "(line 3)"),
    "__init__ exits": (
        RULE.format(0) + "    def __init__(self):\n        raise SystemExit(0)\n",
        LINE,
        "SystemExit: 0 (line 7)",
    ),
}

RUNNING = {
    "a call raises": (RULE.format("1 / 0"), LINE, "ZeroDivisionError", "in increase", "return 1 / 0"),
    "a call exits": (RULE.format("exit(0)"), LINE, "SystemExit: 0", "in increase", "return exit(0)"),
    "a call ends all": (
        RULE.format("(_ for _ in ()).throw(BaseException('boom'))"),
        LINE,
        "BaseException: boom",
        "in increase",
    ),
    "NaN": (RULE.format("math.nan"), LINE, "answered nan", "a finite number of segments"),
    "an infinite increase": (RULE.format("math.inf"), LINE, "answered inf"),
    "an increase too large": (RULE.format("1e308"), LINE, "makes the window"),
    "a string": (RULE.format("'much'"), LINE, "answered 'much'"),
    "a truth": (RULE.format("True"), LINE, "answered True"),
    "nothing": (RULE.format("None"), LINE, "answered None"),
    "a negative window": (
        RULE.format(0) + "    def decrease(self, subflows, r):\n        return -1\n",
        LINE,
        "in decrease",
        "answered -1",
    ),
    "a NaN window": (CONTROL.format("Window(math.nan, 1)", 2), LINE, "in on_ack", "answered nan"),
    "no window": (CONTROL.format("5.0", 2), LINE, "in on_ack", "a Window"),
    "a threshold of 0": (CONTROL.format(WINDOW, 0), LINE, "in on_loss", "answered 0"),
    "a subflow that is not": (RULE.format("subflows[7].cwnd"), LINE, "there is no subflow 7: the connection has"),
    "a view that is kept": (
        HEAD
        + "class Own(Rule):\n    kept = None\n    def increase(self, subflows, r):\n"
        + "        self.kept = self.kept or subflows[r]\n        return 1 / self.kept.cwnd\n",
        LINE,
        "RuntimeError",
        "from an earlier call",
    ),
    "an endless loop": (
        HEAD
        + "class Own(Rule):\n    call_limit_s = 0.5\n    def increase(self, subflows, r):\n        while True:\n"
        + "            pass\n",
        LINE,
        "took longer than 0.5 s",
        "while True:",
    ),
    "choose raises": (SCHEDULER.format("demand.none"), CHOOSE, "AttributeError", "in choose", "return demand.none"),
    "an unknown subflow": (SCHEDULER.format("9"), CHOOSE, "answered 9", "the id of one of the 1 subflows"),
    "a negative subflow": (SCHEDULER.format("-1"), CHOOSE, "answered -1", "the id of one of the 1 subflows"),
    "a full subflow": (SCHEDULER.format("0"), CHOOSE, "answered 0", "that can take a segment", "segments in flight"),
    "a subflow as a string": (SCHEDULER.format("'0'"), CHOOSE, "answered '0'", "the id of a subflow, Send, Bind"),
    "no segments": (SCHEDULER.format("Send(0, 0)"), CHOOSE, "answered 0", "a burst of 1 segment or more"),
    "too many segments": (SCHEDULER.format("Send(0, 2**40)"), CHOOSE, "a burst of 1 segment or more"),
    "no subflow": (SCHEDULER.format("Send([])"), CHOOSE, "answered []", "at least one subflow"),
    "a wait for the past": (SCHEDULER.format("Wait(context.now_ns)"), CHOOSE, "a time after now"),
    "nothing for ever": (SCHEDULER.format("None"), CHOOSE, "never be asked again", "subflow 0"),
    "new data passed over": (SCHEDULER.format("Pass()"), CHOOSE, "answered Pass()", "Pass for a reinjection only"),
    "nothing to bind": (SCHEDULER.format("Bind(0, 0)"), CHOOSE, "answered Bind(on=0, bytes=0)", "at least 1 byte"),
    "what was not sent again": (SCHEDULER.format("Repeat(0, 0, 2**50)"), CHOOSE, "bytes that were sent and are not"),
    "an endless choice": (
        SCHEDULER.replace("class Own(Scheduler):", "class Own(Scheduler):\n    call_limit_s = 0.5").format(
            "[1 for _ in iter(int, 1)]"
        ),
        CHOOSE,
        "took longer than 0.5 s",
    ),
    "a context that is kept": (
        HEAD
        + "class Own(Scheduler):\n    kept = None\n    def choose(self, demand, subflows, context):\n"
        + "        self.kept = self.kept or context\n        self.kept.counters(0)\n"
        + "        return next((s.id for s in subflows if s.usable), None)\n",
        CHOOSE,
        "RuntimeError",
        "from an earlier call",
    ),
    "__init__ of a run raises": (
        RULE.format(0)
        + "    def __init__(self):\n        if self.random.random() != __import__('random').Random(0).random():\n"
        + "            raise ValueError('late')\n",
        LINE,
        "in __init__",
        "ValueError: late",
    ),
}


def failing(
    write: Callable[[str, str], Path], case: tuple[str, ...], capsys: pytest.CaptureFixture[str], *options: str
) -> int:
    """The status of a run, whose message has all that the case says, and which leaves nothing behind."""
    plugin, line, *expected = case
    file = write(plugin, line)
    status = invoke(["run", str(file), "--out", str(file.parent / "out"), *options])
    said = capsys.readouterr()
    for text in expected:
        assert text in said.err, said.err
    assert "Traceback (most recent call last)" not in said.err
    assert not said.out
    assert sorted(each.name for each in file.parent.iterdir() if each.suffix != ".pyc") == ["own.py", "scenario.toml"]
    return status


@pytest.mark.parametrize("case", LOADING.values(), ids=LOADING)
def test_what_cannot_be_loaded(
    case: tuple[str, ...], write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(write, (*case, "scenario.toml:17: connection.download.congestion"), capsys) == 2


@pytest.mark.parametrize("options", [(), ("--jobs", "2", "--repeat", "2")], ids=["one job", "two jobs"])
@pytest.mark.parametrize("case", RUNNING.values(), ids=RUNNING)
def test_what_fails_while_it_runs(
    case: tuple[str, ...],
    options: tuple[str, ...],
    write: Callable[[str, str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ("own.py:Own, called at ", "for the connection 'download' at its server, failed in ")
    assert failing(write, (*case, *where), capsys, *options) == 1


CLIENT = {
    "on_event raises": (MANAGER.format("event.none"), MANAGE, "AttributeError", "in on_event"),
    "no actions": (MANAGER.format("7"), MANAGE, "answered 7", "actions, such as"),
    "an unknown action": (
        MANAGER.format("[event]"),
        MANAGE,
        "SubflowEstablished(local_id=0",
        "Join, Announce, Withdraw",
    ),
    "an unknown address": (MANAGER.format("[Join(9, 0)]"), MANAGE, "Join(local_id=9", "a local_id among"),
    "no address id": (MANAGER.format("[Join(256, 0)]"), MANAGE, "an address id, 0 to 255, for local_id"),
    "a subflow that is not open": (MANAGER.format("[Close(1, 0)]"), MANAGE, "a subflow that is open: [(0, 0)]"),
    "the past": (MANAGER.format("[WakeAt(context.now_ns - 1)]"), MANAGE, "a time not before now"),
    "an endless row of timers": (
        MANAGER.format("[WakeAt(context.now_ns)]"),
        MANAGE,
        "100000 times within a millisecond",
    ),
}


@pytest.mark.parametrize("case", CLIENT.values(), ids=CLIENT)
def test_path_managers_that_fail(
    case: tuple[str, ...], write: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(write, (*case, "for the connection 'download' at its client, failed in "), capsys) == 1


@pytest.mark.parametrize("engine", ["model", "linux"])
def test_engines_that_run_no_plugins(
    engine: str,
    write: Callable[[str, str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mptcplab.engines.catalogue import Engine

    monkeypatch.setattr(Engine, "require", lambda *_: None)
    case = (RULE.format(0), LINE, 'the plug-in "own.py:Own"', f"one that the {engine} engine supports")
    assert failing(write, case, capsys, "--engine", engine) == 3


@pytest.mark.parametrize("ending", ["SystemExit(0)", "BaseException('boom')"])
def test_an_installed_package_that_exits(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ends_all.py").write_text(f"raise {ending}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("own", "ends_all:Own", loading.KINDS["congestion"].group)
    monkeypatch.setattr(loading, "installed", lambda _: {"own": point})
    with pytest.raises(PluginLoadError, match="own, which raises"):
        loading.of_entry_point("congestion", "own")
    ((name, says, _),) = loading.listed(loading.KINDS["congestion"].family)[:1]
    assert name == "own"
    assert says.startswith("cannot be loaded: own, which raises")


INTERRUPTED = "raise KeyboardInterrupt\n"
INTERRUPTIONS = {
    "while the file is executed": RULE.format(0) + INTERRUPTED,
    "while the class is tried": RULE.format(0) + f"    def __init__(self):\n        {INTERRUPTED}",
}


@pytest.mark.parametrize("text", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_ctrl_c_is_no_fault_of_a_plugin(text: str, write: Callable[[str, str], Path]) -> None:
    file = write(text, LINE)
    with pytest.raises(KeyboardInterrupt):
        Scenario.load(file)


def test_ctrl_c_is_no_fault_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("own", "interrupted:Own", loading.KINDS["congestion"].group)
    monkeypatch.setattr(loading, "installed", lambda _: {"own": point})
    with pytest.raises(KeyboardInterrupt):
        loading.of_entry_point("congestion", "own")
