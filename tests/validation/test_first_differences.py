"""How the study of Linux in virtual time groups what differs by the first difference of the traces."""

from math import nan

from mptcplab.capture.divergence import Divergence, Sent
from mptcplab.capture.explain import Difference, Kind

from studies.engines import points
from studies.linux_virtual import Apart, group, groups

POINTS = points(2)


def segment(time_ms: int, length: int) -> Sent:
    """One of a server."""
    return Sent(
        time_ns=time_ms * 1_000_000,
        host="server",
        place="server (a)",
        flow=0,
        flags="ACK",
        sequence=1,
        length=length,
        acknowledgment=1,
        options=(),
        window=501,
    )


def parted(kind: Kind, ours: Sent | None, theirs: Sent | None, number: int = 98) -> Difference:
    """The first of the two is the simulator's."""
    return Difference(kind, Divergence(number, "the length", ours, theirs), "why")


def test_a_group_says_who_acts_first_or_has_the_shorter_segment() -> None:
    """The kind alone would put opposite causes together."""
    early, late = segment(10, 1420), segment(30, 1420)
    assert group(parted("send opportunity", early, late)) == "send opportunity: sim is first"
    assert group(parted("send opportunity", late, early)) == "send opportunity: Linux is first"
    short = segment(30, 303)
    assert group(parted("segment size", early, short)) == "segment size: Linux has the shorter one"
    assert group(parted("segment size", short, early)) == "segment size: sim has the shorter one"
    assert group(parted("retransmission", None, early)) == "retransmission: only Linux"
    assert group(None) == "none"


def test_groups_count_values_points_and_those_where_linux_does_worse() -> None:
    """More time is worse for a file, less goodput for a bulk transfer."""
    early, late = segment(10, 1420), segment(30, 1420)
    waits, sends = parted("send opportunity", early, late), parted("send opportunity", late, early, 40)
    found = [
        Apart("reno", "4 MB", POINTS[0], 0.30, 0.02, waits),
        Apart("cubic", "4 MB", POINTS[0], -0.12, 0.05, waits),
        Apart("reno", "bulk", POINTS[1], -0.20, nan, waits),  # one seed has no error
        Apart("reno", "512 kB", POINTS[1], 0.15, 0.01, sends),
    ]
    first, second = groups(found)
    assert first == {
        "first difference": "send opportunity: sim is first",
        "values": "3",
        "sure": "1",
        "points": "2",
        "median size": "20.0%",
        "Linux worse": "2",
        "packets alike, median": "98",
    }
    assert (second["first difference"], second["values"]) == ("send opportunity: Linux is first", "1")
