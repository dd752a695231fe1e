"""Building guests' kernels, with a made-up tree whose make takes no time."""

import json
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from mptcplab import kernels
from mptcplab.bpf.compile import PROGRAMS
from mptcplab.cli import invoke
from mptcplab.kernels import build as making
from mptcplab.kernels import clock, configure, store, tree

MAKEFILE = """
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 3
EXTRAVERSION =
NAME = Made Up
defconfig:
\t@echo "# default" > $(O)/.config
olddefconfig:
\t@sed -n 's/^\\tdefault /CONFIG_HZ=/p' $(KBUILD_KCONFIG) >> $(O)/.config
linux:
\t@echo "  CC      net/mptcp/protocol.o"
\t@cat net/mptcp/protocol.c > $(O)/linux
\t@echo '$(CFLAGS_mptcp_diag.o)' > $(O)/flags
\t@echo '$(CFLAGS_time.o)' > $(O)/clock
"""
KCONFIG = 'mainmenu "Linux"\n\nsource "scripts/Kconfig.include"\n\nsource "init/Kconfig"\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree that can be built; the cache is of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(making, "requirements", tuple)
    root = tmp_path / "my-tree"
    for name, text in {
        "Makefile": MAKEFILE,
        "Kconfig": KCONFIG,
        "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
        "net/mptcp/protocol.c": "int burst = 1;\n",
        "net/mptcp/mptcp_diag.c": "\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def content(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_tree_is_built_once_and_not_touched(source: Path) -> None:
    before = content(source)
    said: list[str] = []
    parts: list[float] = []
    first = making.build(str(source), tell=said.append, progress=parts.append)
    assert (first.name, first.version, first.hz) == ("my-tree", "6.12.3", 1000)
    assert first.image.read_text() == "int burst = 1;\n"
    assert "CONFIG_HZ=1000" in first.config.read_text()
    assert parts[-1] == 1
    assert content(source) == before
    again = making.build(str(source), tell=said.append)
    assert again == first
    assert said[-1].startswith("already built")


def test_another_clock_is_another_kernel(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = making.build(str(source), directory=tmp_path / "make")
    flag, header = (tmp_path / "make/clock").read_text().split()
    assert flag == "-include"
    assert "#define um_udelay(us) um_ndelay(us)\n" in Path(header).read_text()
    assert "#define TIMER_MULTIPLIER 1\n" in Path(header).read_text()
    monkeypatch.setattr(clock, "digest", lambda: "another")
    assert making.build(str(source), directory=tmp_path / "make").key != first.key


def test_another_line_or_another_hz_is_another_kernel(source: Path) -> None:
    first = making.build(str(source), name="a")
    (source / "net/mptcp/protocol.c").write_text("int burst = 2;\n")
    second = making.build(str(source), name="b")
    third = making.build(str(source), name="c", hz=250)
    assert len({first.key, second.key, third.key}) == 3
    assert third.identity()["hz"] == 250
    assert [kernel.name for kernel in kernels.kernels()] == ["a", "b", "c"]
    assert kernels.find("b").image.read_text() == "int burst = 2;\n"
    assert kernels.find(first.key[:16]).name == "a"


def test_a_name_is_that_of_the_last_kernel_built_under_it(source: Path) -> None:
    making.build(str(source))
    (source / "net/mptcp/protocol.c").write_text("int burst = 2;\n")
    making.build(str(source))
    (only,) = kernels.kernels()
    assert only.image.read_text() == "int burst = 2;\n"
    kernels.remove(only)
    assert kernels.kernels() == []
    with pytest.raises(kernels.UnknownKernelError, match="mptcplab kernel build"):
        kernels.find(None)


def test_which_kernel_must_be_said_when_there_are_several(source: Path) -> None:
    making.build(str(source), name="a")
    assert kernels.find(None).name == "a"
    making.build(str(source), name="b", hz=100)
    with pytest.raises(kernels.UnknownKernelError, match=r"several .* a, b"):
        kernels.find(None)
    with pytest.raises(kernels.UnknownKernelError, match="no guest kernel 'd'"):
        kernels.find("d")


def test_controls_are_compiled_in_beside_the_tree(source: Path, tmp_path: Path) -> None:
    before = content(source)
    plain = making.build(str(source), name="plain", directory=tmp_path / "make")
    assert (tmp_path / "make/flags").read_text() == "\n"
    with_lia = making.build(str(source), name="lia", with_controls=["lia"], directory=tmp_path / "make")
    both = making.build(str(source), name="both", with_controls=["olia", "lia"], directory=tmp_path / "make")
    assert content(source) == before
    assert (plain.controls, list(with_lia.controls), list(both.controls)) == ({}, ["lia"], ["lia", "olia"])
    assert len({plain.key, with_lia.key, both.key}) == 3
    assert making.build(str(source), name="both", with_controls=["lia", "olia"]) == both
    flag, _, file = (tmp_path / "make/flags").read_text().strip().partition(" ")
    assert flag == "-include"
    text = Path(file).read_text().splitlines()
    # The programs that clang compiles for BPF, between what the kernel's headers need.
    assert (text[0], text[-1]) == ('#include "guest.h"', '#include "guest_end.h"')
    assert [line for line in text if ".bpf.c" in line] == ['#include "lia.bpf.c"', '#include "olia.bpf.c"']
    for name in ("lia.bpf.c", "lia.h", "control.h"):
        assert (Path(file).parent / name).read_bytes() == (PROGRAMS / name).read_bytes()


def test_what_is_not_changed_is_not_compiled_again(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "make"
    making.build(str(source), with_controls=["lia"], directory=place)
    before = content(place / "mptcplab-controls")
    (source / "net/mptcp/protocol.c").write_text("int burst = 2;\n")
    making.build(str(source), with_controls=["lia"], directory=place)
    assert content(place / "mptcplab-controls") == before


def test_a_control_or_a_tree_that_is_unknown_is_refused(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["kernel", "build", str(source), "--with", "lia,lio"]) == 2
    assert "--with: found 'lio'; expected controls of balia, ewtcp, lia" in capsys.readouterr().err
    (source / "net/mptcp/mptcp_diag.c").unlink()
    with pytest.raises(tree.TreeError, match=r"controls need net/mptcp/mptcp_diag\.c"):
        making.build(str(source), with_controls=["lia"])
    assert kernels.kernels() == []


def test_what_make_said_last_is_in_the_error(source: Path) -> None:
    (source / "Makefile").write_text(MAKEFILE.replace("@cat", "@echo net/mptcp/protocol.c:1: wrong >&2; exit 2 #"))
    with pytest.raises(making.BuildError, match=r"protocol\.c:1: wrong"):
        making.build(str(source))
    assert kernels.kernels() == []


def test_a_tree_that_changes_while_it_is_built_is_no_kernel(source: Path) -> None:
    (source / "Makefile").write_text(MAKEFILE + "\t@echo 'int burst = 2;' > net/mptcp/protocol.c\n")
    with pytest.raises(making.BuildError, match="was changed while it was built"):
        making.build(str(source))
    assert kernels.kernels() == []


def test_a_tree_without_time_travel_is_refused(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fragment = tmp_path / "um.config"
    fragment.write_text("CONFIG_MPTCP=y\nCONFIG_TUN=y\nCONFIG_HOSTFS=y\n")
    monkeypatch.setattr(configure, "FRAGMENT", fragment)
    with pytest.raises(making.BuildError, match="UML_TIME_TRAVEL_SUPPORT=y is not in"):
        making.build(str(source))


def test_hz_is_said_before_the_architecture_says_it(source: Path) -> None:
    text = configure.top(source, 250)
    assert text.startswith("mainmenu")
    assert text.index("default 250") < text.index('source "init/Kconfig"')
    # Without our lines it is the tree's own.
    assert text.replace("config HZ\n\tint\n\tdefault 250\n\n", "") == KCONFIG


@pytest.mark.parametrize(
    ("what", "expected"),
    [("nowhere", "a directory with Linux's sources, or a version"), ("{empty}", "not a Linux source tree")],
)
def test_what_is_no_tree_is_refused(
    source: Path, tmp_path: Path, what: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert invoke(["kernel", "build", what.format(empty=tmp_path / "empty")]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ("mptcp_ctrl.c", "Linux 5.4.230 has no net/mptcp/protocol.c: its Multipath TCP is the out-of-tree kernel's"),
        (None, "Linux 5.4.230 has no net/mptcp/protocol.c: Multipath TCP is part of Linux 5.6 and later"),
    ],
)
def test_a_tree_whose_multipath_tcp_is_another_is_refused_before_it_is_built(
    source: Path, left: str | None, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = "VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 230\nEXTRAVERSION =\nNAME = Old\n"
    (source / "Makefile").write_text(numbers)
    for path in (source / "net/mptcp").iterdir():
        path.unlink()
    if left is None:
        (source / "net/mptcp").rmdir()
    else:
        (source / "net/mptcp" / left).touch()
    assert invoke(["kernel", "build", str(source)]) == 2
    assert expected in capsys.readouterr().err


def test_a_tree_that_was_built_in_place_is_refused(source: Path) -> None:
    (source / ".config").write_text("CONFIG_MPTCP=y\n")
    with pytest.raises(tree.TreeError, match="mrproper"):
        making.build(str(source))


def git(root: Path, *arguments: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *own, "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout


def test_a_checkout_is_known_by_its_content_not_by_its_commit(source: Path) -> None:
    git(source, "init", "--quiet")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", "first")
    clean = tree.digest(source)
    status = git(source, "status", "--porcelain")
    objects = sorted((source / ".git/objects").rglob("*"))
    git(source, "commit", "--quiet", "--allow-empty", "--message", "second")
    assert tree.digest(source) == clean
    (source / "net/mptcp/protocol.c").write_text("int burst = 2;\n")
    (source / "new.c").write_text("\n")
    changed = tree.digest(source)
    assert changed != clean
    (source / "new.c").unlink()
    assert tree.digest(source) not in (clean, changed)
    git(source, "checkout", "--quiet", "net/mptcp/protocol.c")
    assert tree.digest(source) == clean
    assert git(source, "status", "--porcelain") == status
    # But for that of the empty commit nothing was written to the checkout's objects.
    assert len([path for path in (source / ".git/objects").rglob("*") if path.is_file()]) == 1 + len(
        [path for path in objects if path.is_file()]
    )


def test_a_package_is_unpacked_built_and_removed(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "PACKAGES", tmp_path)
    subprocess.run(
        ["tar", "-cJf", str(tmp_path / "linux-source-6.12.tar.xz"), "-C", str(source.parent), source.name], check=True
    )
    kernel = making.build("6.12")
    assert (kernel.name, kernel.version) == ("6.12", "6.12.3")
    assert [path.name for path in store.cache().iterdir()] == [kernel.key[:16]]


def test_the_cache_survives_what_is_no_kernel(source: Path) -> None:
    kernel = making.build(str(source))
    broken = store.cache() / "0123"
    broken.mkdir()
    (broken / "kernel.json").write_text(json.dumps({"name": "older"}))
    assert kernels.kernels() == [kernel]


def test_commands(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call: Callable[..., int] = lambda *words: invoke(["kernel", *words])  # noqa: E731
    assert call("list") == 0
    assert "no kernel has been built yet" in capsys.readouterr().err
    assert call("build", str(source), "--name", "mine", "--hz", "250") == 0
    assert capsys.readouterr().out.startswith("mine: Linux 6.12.3, HZ 250, ")
    assert call("build", str(source), "--name", "../mine") == 2
    assert call("list") == 0
    assert "6.12.3" in capsys.readouterr().out
    assert call("remove", "other") == 2
    assert call("remove", "mine") == 0
    assert kernels.kernels() == []


def test_sources_of_a_tree_are_its_own_directory(source: Path) -> None:
    with ExitStack() as stack:
        found = tree.sources(str(source), stack, lambda _: None)
        assert found.unpack(stack, lambda _: None) == source.resolve()
    assert source.exists()
