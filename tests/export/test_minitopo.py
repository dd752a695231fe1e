"""Scenarios as Minitopo's files: what they say, that reading them again gives the same network, and what is refused."""

from pathlib import Path

import pytest
from mptcplab.cli import invoke
from mptcplab.scenario import Scenario, minitopo

Capture = pytest.CaptureFixture[str]

NETWORK = """
title = "Two links"
duration = "12 s"
[link.wifi]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "60 ms"
[link.lte]
rate = "5 Mbit/s"
delay = "20 ms"
queue = "40 packets"
loss = "1 %"
[connection.m]
paths = ["wifi", "lte"]
direction = "up"
congestion = "olia"
{more}
"""


def exported(capsys: Capture, tmp_path: Path, more: str = "", *overrides: str) -> tuple[int, str, Path]:
    (tmp_path / "scenario.toml").write_text(NETWORK.format(more=more), encoding="utf-8")
    out = tmp_path / "out"
    sets = [word for each in overrides for word in ("--set", each)]
    status = invoke(["export", str(tmp_path / "scenario.toml"), "--to", "minitopo", "--out", str(out), *sets])
    return status, capsys.readouterr().err, out


def test_both_files_and_what_they_mean(capsys: Capture, tmp_path: Path) -> None:
    status, _, out = exported(capsys, tmp_path)
    assert status == 0
    topo = (out / "topo").read_text(encoding="utf-8")
    # 60 ms of 10 Mbit/s are 75,000 B, of which 17 packets are the bandwidth-delay product; the rest takes 40 ms.
    assert "path_c2r_0:10,35,10\n" in topo
    assert ",5,1\n" in topo
    assert "xpType:iperf\niperfTime:12\n" in (out / "xp").read_text(encoding="utf-8")
    again = Scenario.from_toml(minitopo.convert(out / "topo", out / "xp"))
    assert again.duration_ns == 12_000_000_000
    assert [link["down"]["rate_bps"] for link in again.description()["links"]] == [10_000_000, 5_000_000]
    assert again.document.connections["flow"].congestion.name == "olia"


@pytest.mark.parametrize(
    ("more", "overrides"),
    [
        ("", ("connection.m.protocol=tcp", "connection.m.congestion=cubic", 'connection.m.paths=["wifi"]')),
        ("", ('connection.m.application={ kind = "file", size = "1024000 B" }', "connection.m.direction=down")),
        ('receive_buffer = "100000 B"\nscheduler = "round-robin"\ncount = 3\n', ()),
    ],
)
def test_what_is_written_reads_as_the_same_scenario(
    capsys: Capture, tmp_path: Path, more: str, overrides: tuple[str, ...]
) -> None:
    status, err, out = exported(capsys, tmp_path, more, *overrides)
    assert (status, "wrote" in err) == (0, True)
    asked = Scenario.from_toml(NETWORK.format(more=more), "", overrides).document.connections["m"]
    got = Scenario.from_toml(minitopo.convert(out / "topo", out / "xp")).document.connections["flow"]
    assert got.model_copy(update={"paths": ()}) == asked.model_copy(update={"paths": ()})


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("connection.m.scheduler=linux", "connection.m.scheduler.name"),
        ("connection.m.direction=down", "connection.m.direction"),
        ("link.wifi.down.rate=20 Mbit/s", "link.wifi"),
        ("link.wifi.queue=20 ms", "link.wifi.queue"),
        ("connection.m.tcp.pacing=true", "connection.m.tcp.pacing"),
        ('connection.m.application={ kind = "rate", rate = "1 Mbit/s" }', "connection.m.application"),
    ],
)
def test_what_minitopo_cannot_say_is_refused_by_its_key(
    capsys: Capture, tmp_path: Path, override: str, key: str
) -> None:
    status, err, out = exported(capsys, tmp_path, "", override)
    assert status == 3
    assert key in err
    assert not out.exists()


def test_a_directory_that_is_there_is_not_touched(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    status, err, _ = exported(capsys, tmp_path)
    assert status == 2
    assert "expected a new directory" in err
    assert list((tmp_path / "out").iterdir()) == []
