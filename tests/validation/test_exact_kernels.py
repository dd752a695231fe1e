"""How the study of kernels against each other counts, and what it says without a kernel to compare."""

from dataclasses import replace

import pytest
from mptcplab import kernels
from mptcplab.capture.divergence import Sent

from studies import exact_kernels
from studies.exact import Case, Run, causes, networks
from studies.exact_kernels import against, row

NAMES = ("6.12", "6.1")
CASE = Case(networks(1)[0], 0, "reno", "4 MB", lossy=False)
DATA = Sent(
    time_ns=0,
    host="server",
    place="server (p0)",
    flow=0,
    flags="ACK",
    sequence=1,
    length=1448,
    acknowledgment=1,
    options=("timestamps",),
    window=510,
)
REFERENCE = Run([replace(DATA, time_ns=at * 10_000_000, sequence=1 + 1448 * at) for at in range(20)], 0.2)


def changed(*changes: tuple[int, dict[str, int]], completion_s: float = 0.2) -> Run:
    """The same with some packets changed."""
    packets = list(REFERENCE.packets)
    for at, what in changes:
        packets[at] = replace(packets[at], **what)  # type: ignore[arg-type]
    return Run(packets, completion_s)


def test_a_window_hides_what_follows_unless_it_is_left_aside() -> None:
    as_sent, without = against(CASE, REFERENCE, changed((3, {"window": 600}), (12, {"length": 1424})), NAMES)
    assert (as_sent.alike, as_sent.cause) == (3, "the window: 6.1 announces more")
    assert (without.alike, without.cause) == (12, "the length: 6.12 sends more")


def test_a_row_has_both() -> None:
    others = (changed((3, {"window": 600}), completion_s=0.3), REFERENCE)
    pairs = [against(CASE, REFERENCE, other, NAMES) for other in others]
    assert row(pairs) == {
        "paths": "1",
        "losses": "none",
        "control": "reno",
        "file": "4 MB",
        "networks": "2",
        "packets until they part, median": "12",
        "the same to the end": "50%",
        "packets until they part, median, windows aside": "20",
        "the same to the end, windows aside": "100%",
        "completion apart, median": "25.0%",
        "largest": "50.0%",
        "mean": "+25.0%",
    }
    assert [each["transfers"] for each in causes([first for first, _ in pairs])] == ["1"]
    assert not list(causes([without for _, without in pairs]))


def test_without_another_kernel_it_says_what_to_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "find", lambda _: None)
    monkeypatch.setattr(kernels, "kernels", list)
    with pytest.raises(kernels.UnknownKernelError, match=r"mptcplab kernel build 6\.1"):
        exact_kernels.main()
