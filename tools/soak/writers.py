"""The commands that write, what they write, and whether it may be there before."""

import hashlib
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mptcplab import cli
from mptcplab.files import with_file
from mptcplab.lab.opened import Opened

from tools.soak.moments import Gate

_LONGEST_S: Final = 600
"""That any of them takes."""
ROOT: Final = Path(__file__).resolve().parents[2]
SCENARIO: Final = """
title = "{title}"
duration = "2 s"
[link.a]
rate = "1 Mbit/s"
delay = "{delay}"
[link.b]
rate = "1 Mbit/s"
delay = "20 ms"
[connection.c]
paths = ["a", "b"]
congestion = "{congestion}"
[measure]
sample = "100 ms"
"""
SWEEP: Final = """
scenario = "{scenario}.toml"
repeat = 2
[design]
kind = "grid"
[factor]
"link.a.rate" = ["1 Mbit/s", "2 Mbit/s"]
[variant]
"connection.c.scheduler" = ["min-rtt", "round-robin"]
"""
SCENARIOS: Final = ("old", "new")


@dataclass(frozen=True)
class Writer:
    """A command; in its words {scenario} is `old` or `new`, and {out} what it writes."""

    words: str
    target: Literal["replaced", "absent", "resumed"]
    """Replaces what is there; refuses to; or is to be given `again`, which goes on from what is there."""
    again: str = ""


ADVISE: Final = 'advise --path "a: 10 Mbit/s, 20 ms" --path "b: 5 Mbit/s, {delay} ms" --budget 0.002'
WRITERS: Final = {
    "run": Writer("run {scenario}.toml --out {out}", "replaced"),
    "run --capture": Writer("run {scenario}.toml --capture {out}", "replaced"),
    "compare": Writer(
        "compare {scenario}.toml --vary link.a.delay=1ms,2ms --repeat 2 --jobs 1 --out {out}", "resumed", "--resume"
    ),
    "sweep": Writer("sweep {scenario}.sweep.toml --jobs 1 --out {out}", "resumed", "--resume"),
    "reproduce": Writer("reproduce khalili-2013 --quick --item figure-9 --jobs 1 --out {out}", "resumed"),
    "design": Writer("design wsp --points 20 --factor x=1..9 --factor y={y} --out {out}", "replaced"),
    "advise --save": Writer(ADVISE + " --save {out}", "replaced"),
    "advise --out": Writer(ADVISE + " --out {out}", "replaced"),
    "export": Writer("export plain.toml --to netns --out {out}", "absent"),
    "import": Writer("import minitopo topo --out {out}", "absent"),
    "analyze": Writer("analyze captures-{scenario} --out {out}", "replaced"),
    "diagnose": Writer("diagnose {data}/{situation} --scenario {out}", "replaced"),
    "agent --new-key": Writer("agent --new-key {out}", "absent"),
    "lab": Writer("lab's save of {scenario} to {out}", "replaced"),
}


def prepare(place: Path) -> int:
    """Write what the commands read; 0."""
    for name, delay, congestion in (("old", "10 ms", "olia"), ("new", "15 ms", "lia")):
        text = SCENARIO.format(title=name, delay=delay, congestion=congestion)
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
        (place / f"{name}.sweep.toml").write_text(SWEEP.format(scenario=name), encoding="utf-8")
        if cli.invoke(["run", str(place / f"{name}.toml"), "--capture", str(place / f"captures-{name}")]) != 0:
            raise RuntimeError("no captures to analyze")
    plain = SCENARIO.format(title="plain", delay="10 ms", congestion="reno")
    (place / "plain.toml").write_text(plain, encoding="utf-8")
    (place / "topo").write_text("desc:x\ntopoType:MultiIf\nleftSubnet:10.0.\npath_c2r_0:10,10,5\n", encoding="utf-8")
    return 0


def call(writer: Writer, out: Path, scenario: str, *more: str) -> int:
    """Run the command in this process, from the directory that was prepared; its status."""
    if writer is WRITERS["lab"]:
        text = Path(f"{scenario}.toml").read_text(encoding="utf-8")
        if not out.exists():
            out.write_text(text, encoding="utf-8")
        try:
            Opened(out, writable=True).save(text)
        except OSError as error:  # as the page shows it
            sys.stderr.write(f"error: {with_file(error)}\n")
            return 1
        return 0
    new = scenario == "new"
    values = {"scenario": scenario, "delay": "40" if new else "80", "y": "1..7" if new else "1..8"}
    values["situation"] = "no-endpoint" if new else "no-route"
    data = str(ROOT / "tests/diagnose/data")
    words = [word.format(out=out, data=data, **values) for word in shlex.split(writer.words)]
    return cli.invoke([*words, *more])


def state(place: Path) -> dict[str, str]:
    """The digest of each file, by its name under `place`, which may be a file or nothing."""
    if place.is_file():
        return {"": hashlib.sha256(place.read_bytes()).hexdigest()}
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            file = Path(folder, name)
            found[str(file.relative_to(place))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def quietly(log: Path, work: Callable[[], int], gate: Gate | None = None) -> int:
    """Do it in a process of its own, which writes what it says to `log`; the process's number."""
    child = os.fork()
    if child:
        return child
    status = 70
    signal.alarm(_LONGEST_S)
    try:
        if gate is not None:
            gate.pass_through()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        status = work()
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(status)
