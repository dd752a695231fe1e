"""Results whose files are not what was written: said, whatever happened to them."""

import contextlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import mptcplab
import pytest
from mptcplab import cli
from mptcplab.results import inventory
from mptcplab.results.saved import SavedResultError
from mptcplab.sweeps.facade import Dataset

CASES = int(os.environ.get("MPTCPLAB_DAMAGE", "150"))
SCENARIO = """
duration = "1 s"
[link.a]
trace = "a.trace"
delay = "5 ms"
[connection.c]
paths = ["a"]
"""
UNREAD = ("plots/", "report.html")
"""What `load` has no use for."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("written")
    (place / "a.trace").write_text("1\n2\n2\n4\n")
    (place / "s.toml").write_text(SCENARIO)
    mptcplab.run(mptcplab.Scenario.load(place / "s.toml"), repeat=2).save(place / "out")
    return place / "out"


def flip(file: Path, dice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    file.write_bytes(content)


def cut(file: Path, dice: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: dice.randrange(len(content))])


def add(file: Path, dice: random.Random) -> None:
    file.write_bytes(file.read_bytes() + dice.randbytes(dice.randint(1, 9)))


def swap(file: Path, dice: random.Random) -> None:
    place = next(place for place in file.parents if (place / "result.json").exists())
    other = dice.choice([each for each in sorted(place.rglob("*")) if each.is_file() and each != file])
    shutil.copyfile(other, file)


def remove(file: Path, _: random.Random) -> None:
    file.unlink()


def replace(file: Path, _: random.Random) -> None:
    file.unlink()
    file.mkdir()


WAYS: tuple[Callable[[Path, random.Random], None], ...] = (flip, flip, flip, cut, add, swap, remove, replace)


def test_what_is_damaged_is_never_loaded(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some bits, the end, the whole of a file: an error that names it, from `load` and from `verify`."""
    dice = random.Random(1)
    names = [path.relative_to(written).as_posix() for path in sorted(written.rglob("*")) if path.is_file()]
    original = mptcplab.Result.load(written)
    for number in range(CASES):
        place = tmp_path / str(number)
        shutil.copytree(written, place)
        name, way = dice.choice(names), dice.choice(WAYS)
        way(place / name, dice)
        said = f"case {number}: {way.__name__} of {name}"
        if name.startswith(UNREAD):
            assert mptcplab.Result.load(place) == original, said
        elif name != inventory.FILE:
            with pytest.raises(SavedResultError) as caught:
                mptcplab.Result.load(place)
            assert name in str(caught.value), said
        else:  # the list itself: an error, or a line that is of no use
            with contextlib.suppress(SavedResultError):
                assert mptcplab.Result.load(place) == original, said
        status = cli.invoke(["verify", str(place)])
        told = capsys.readouterr()
        if name != inventory.FILE:
            assert (status, name in told.err) == (1, True), said + told.err
        assert "Traceback" not in told.err
        shutil.rmtree(place)


def test_verify_says_what_became_of_the_files(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(written, tmp_path / "out")
    assert cli.invoke(["verify", str(tmp_path / "out")]) == 0
    count = sum(path.is_file() for path in written.rglob("*")) - 1
    assert capsys.readouterr().out == f"{tmp_path / 'out'}: {count} files, as they were written\n"
    (tmp_path / "out" / "mine.md").touch()
    (tmp_path / "out" / "report.html").unlink()
    assert cli.invoke(["verify", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("mine.md: added\n", f"error: {tmp_path / 'out' / 'report.html'}: missing\n")
    for place in (tmp_path, tmp_path / "nowhere"):
        assert cli.invoke(["verify", str(place)]) == 2
        assert "expected a directory that run" in capsys.readouterr().err


def test_a_sweep_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = mptcplab.Scenario.load("two-equal-paths").with_({"measure.warmup": "0 s"}, duration="1 s")
    mptcplab.sweep(base, tmp_path / "out", vary={"duration": ["1 s", "2 s"]}, jobs=1)
    assert cli.invoke(["verify", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    (part,) = (tmp_path / "out" / "connections").iterdir()
    flip(part, random.Random(1))
    assert cli.invoke(["verify", str(tmp_path / "out")]) == 1
    assert f"connections/{part.name}: changed" in capsys.readouterr().err
    with pytest.raises(inventory.DamagedError, match="connections/part-00000"):
        _ = Dataset(tmp_path / "out").connections
    assert Dataset(tmp_path / "out").links.height > 0
