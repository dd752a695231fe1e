"""`mptcplab design`."""

import csv
import io
from pathlib import Path

import pytest
from mptcplab import cli, designs


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = cli.invoke(["design", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_points_as_csv_and_their_quality(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "wsp", "--points", 20, "--dimensions", 3, "--seed", 4)
    assert status == 0
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["point", "x1", "x2", "x3"]
    assert [[float(cell) for cell in row[1:]] for row in rows[1:]] == designs.wsp(20, 3, seed=4).tolist()
    assert f"minimum distance {designs.quality(designs.wsp(20, 3, seed=4)).minimal_distance:.4f}" in err


def test_factors_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, picture = tmp_path / "points.csv", tmp_path / "points.png"
    arguments = ["grid", "--points", 4, "--factor", "link.one.rate=1 Mbit/s..100 Mbit/s", "--factor", "n=1..3"]
    status, out, err = call(capsys, *arguments, "--out", file, "--plot", picture)
    assert (status, out) == (0, "")
    assert file.read_text(encoding="utf-8") == (
        "point,link.one.rate,n\n0,1 Mbit/s,1\n1,1 Mbit/s,3\n2,100 Mbit/s,1\n3,100 Mbit/s,3\n"
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {picture}" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["fractal", "--points", 3, "--dimensions", 2],
            "there is no design 'fractal'; choose from wsp, lhs, grid, random",
        ),
        (["wsp", "--dimensions", 2], "the number of points is missing"),
        (["wsp", "--points", 3], "the number of dimensions is missing"),
        (["wsp", "--points", 3, "--dimensions", 2, "--factor", "a=1..2"], "1 factors are given, but --dimensions is 2"),
        (["grid", "--points", 10, "--dimensions", 2], "9 or 16 points, not 10"),
        (["lhs", "--points", 3, "--dimensions", 2, "--candidates", 9], "--candidates is for wsp"),
        (["lhs", "--points", 3, "--factor", "a=1"], "KEY=FROM..TO"),
        (["lhs", "--points", 3, "--factor", "a=1 ms..1 kB"], "two values of the same kind"),
        (["lhs", "--points", 3, "--dimensions", 2, "--plot", "x.gif"], "expected .png or .svg"),
    ],
)
def test_wrong_input_is_said(capsys: pytest.CaptureFixture[str], arguments: list[object], said: str) -> None:
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
