"""The kernel's own tests in guests, by scripts of our own that say what those say."""

import shutil
from pathlib import Path

import pytest
from mptcplab import kernels
from mptcplab.cli import invoke
from mptcplab.engines.linux_virtual import selftests
from mptcplab.kernels.store import Kernel

BUILT = kernels.kernels()
virtual = pytest.mark.skipif(
    not BUILT or shutil.which("bash") is None,
    reason="no guest kernel is built here (mptcplab kernel build 6.12), or there is no bash",
)

SPOKEN = """\
01 first                                  [ OK ]
02 second one                             [SKIP] no such tool
03 third                                  \x1b[1;31m[FAIL] found 3, expected 4\x1b[0m
04 fourth                                 [IGNO] (flaky) late
TAP version 13
1..4
ok 1 - own: first # time=7ms
ok 2 - own: second one # SKIP time=0ms
not ok 3 - own: third # time=1200ms
not ok 4 - own: fourth # IGNORE Flaky time=3ms
"""


def test_what_a_script_says() -> None:
    assert [(case.name, case.verdict, case.why, case.time_s) for case in selftests.read_cases(SPOKEN)] == [
        ("own: first", "pass", "", 0.007),
        ("own: second one", "skip", "no such tool", 0.0),
        ("own: third", "fail", "found 3, expected 4", 1.2),
        ("own: fourth", "flaky", "(flaky) late", 0.003),
    ]
    assert selftests.read_cases("no word of it\n") == ()


def made(place: Path, **scripts: str) -> Path:
    home = place / "net" / "mptcp"
    home.mkdir(parents=True)
    (home.parent / "lib.sh").write_text("said=beside\n", encoding="utf-8")
    for name, text in scripts.items():
        path = home / f"{name}.sh"
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
    (home / "mptcp_lib.sh").touch()
    return home


@virtual
def test_a_script_waits_in_no_time_and_may_write_where_it_likes(tmp_path: Path) -> None:
    home = made(
        tmp_path,
        good='. "$(dirname "$0")/../lib.sh"; ip netns add a && ip netns exec a sleep 1000 '
        "&& touch /tmp/x && cmp <(echo 1) <(echo 1); "
        'echo "ok 1 - $said $1 # time=5ms"',
        bad='echo "01 one [FAIL] no"; echo "not ok 1 - one"; exit 1',
        dead="kill -9 $$",
        none='echo "no tool"; exit 4',
    )
    assert selftests.scripts(home) == ["bad", "dead", "good", "none"]
    good = selftests.run(BUILT[0], home, "good", "here")
    assert (good.verdict, [case.name for case in good.cases]) == ("pass", ["beside here"]), good.output
    assert good.virtual_s is not None
    assert 1000 <= good.virtual_s < 1001
    # A guest that boots and loads little takes a second or two of CPU; waiting adds nothing that grows with the time.
    assert good.cpu_s < 100
    bad = selftests.run(BUILT[0], home, "bad", "")
    assert (bad.verdict, bad.why, bad.cases[0].why) == ("fail", "", "no")
    assert selftests.run(BUILT[0], home, "dead", "").verdict == "fail"
    none = selftests.run(BUILT[0], home, "none", "")
    assert (none.verdict, none.why) == ("skip", "no tool")


def test_what_a_kernel_without_filters_cannot_test(tmp_path: Path) -> None:
    home = made(tmp_path, joins="iptables -V", floods="ip link")
    (tmp_path / "config").write_text("# CONFIG_NETFILTER is not set\n", encoding="utf-8")
    kernel = Kernel("k", "0" * 64, "6", "", "", "", 1000, {}, "", tmp_path)
    assert "build --selftests" in selftests.caution(kernel, home, "joins")
    assert selftests.caution(kernel, home, "floods") == ""
    (tmp_path / "config").write_text("CONFIG_NETFILTER=y\n", encoding="utf-8")
    assert selftests.caution(kernel, home, "joins") == ""


def test_a_kernel_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernel", "selftest", "no-such-kernel"]) == 2
    assert "kernel" in capsys.readouterr().err
