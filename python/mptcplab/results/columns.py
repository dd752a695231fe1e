"""The columns of a Result: one schema for every engine. `docs/results.md` is the same table for readers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import polars as pl
    from polars.datatypes import DataTypeClass


Kind = Literal[
    "Boolean",
    "Float64",
    "String",
    "UInt32",
    "UInt64",
    "List(Float64)",
    "List(String)",
    "List(UInt64)",
    "List(List(Float64))",
    "List(List(String))",
    "List(List(UInt64))",
]
"""A type of polars by its name: the schema is read also where no data frame is made."""


@dataclass(frozen=True)
class Column:
    """A column of a data frame: its type, its unit and what it says."""

    name: str
    kind: Kind
    unit: str
    meaning: str


_RUN: Final = (
    Column("repeat", "UInt32", "", "number of the run, from 0"),
    Column("seed", "UInt64", "", "seed of the run: the scenario's plus `repeat`"),
)

RUN_COLUMNS: Final = len(_RUN)
"""How many columns of a frame of `FRAMES` say of which run it is; they stand first."""

CONNECTIONS: Final = (
    *_RUN,
    Column("name", "String", "", "name in the scenario"),
    Column("index", "UInt32", "", "0 to `count` − 1"),
    Column("protocol", "String", "", "`tcp` or `mptcp`"),
    Column("congestion", "String", "", "congestion control"),
    Column("scheduler", "String", "", "packet scheduler; null for TCP, which has none"),
    Column("paths", "List(String)", "", "names of the paths it may use; the first opens it"),
    Column("start_s", "Float64", "s", "when it started"),
    Column("goodput_bps", "Float64", "bit/s", "in-order application data received after warm-up, while it was active"),
    Column("bytes_delivered", "UInt64", "B", "in-order application data received from start to end"),
    Column(
        "completion_s",
        "Float64",
        "s",
        "from its start to the arrival of the last byte; null if the transfer is not complete",
    ),
    Column(
        "sender_completion_s",
        "Float64",
        "s",
        "from its start to the acknowledgment of the last byte at the sender; null for `requests` and `flows` and "
        "where the sender does not report it",
    ),
    Column(
        "establishment_s",
        "Float64",
        "s",
        "from its start until the sender could write; null for `requests`, `flows` and programs",
    ),
    Column(
        "longest_silence_s",
        "Float64",
        "s",
        "longest interval without in-order data, between the first byte and the last byte or the end of the run; "
        "null for `requests`, `flows` and programs",
    ),
    Column(
        "notice_s",
        "Float64",
        "s",
        "from the first failure of one of its paths (an event with `down = true` or `address = false`) to the first "
        "data sent again on another path; null if there is neither, for `requests`, `flows` and programs, and if the "
        "sender does not report it",
    ),
    Column(
        "packet_overhead",
        "Float64",
        "",
        "bytes of all packets on the client's own links, both directions, beyond the application data, divided by the "
        "application data; null if another connection uses one of these links or a path begins on none of its own",
    ),
    Column(
        "out_of_order_delay_mean_s",
        "Float64",
        "s",
        "mean over bytes of the time from a byte's arrival to its in-order delivery",
    ),
    Column("out_of_order_delay_p95_s", "Float64", "s", "the 95th percentile of the same"),
    Column("fallback", "Boolean", "", "whether Multipath TCP fell back to TCP"),
    Column(
        "transfers_begun",
        "UInt64",
        "",
        "for `requests`, `flows`, `ping` (messages), `web` (pages), `video` (segments) and `ftp` (files): "
        "how many transfers began after warm-up. Null for other applications, like the columns below",
    ),
    Column("transfers_complete", "UInt64", "", "how many of those completed"),
    Column(
        "transfer_mean_s",
        "Float64",
        "s",
        "mean of their durations; a request or flow begins when its connection is opened",
    ),
    Column(
        "transfer_p50_s",
        "Float64",
        "s",
        "median of the same: the smallest duration that at least half of them do not exceed",
    ),
    Column("transfer_p95_s", "Float64", "s", "the 95th percentile"),
    Column("transfer_p99_s", "Float64", "s", "the 99th percentile"),
    Column("transfer_times_s", "List(Float64)", "s", "all of these durations, in the order of completion"),
    Column("transfer_starts_s", "List(Float64)", "s", "when each of them started"),
    Column("transfer_sizes_bytes", "List(UInt64)", "B", "the size of each of them"),
    Column(
        "transfer_sender_times_s",
        "List(Float64)",
        "s",
        "from the start of each to the acknowledgment of its last byte at the sender; null where the sender does "
        "not report it",
    ),
    Column(
        "transfer_paths",
        "List(List(String))",
        "",
        "for each transfer, the path of each subflow in the order of opening",
    ),
    Column(
        "transfer_path_bytes",
        "List(List(UInt64))",
        "B",
        "for each transfer, new application data that arrived on each of these subflows",
    ),
    Column(
        "transfer_path_segments",
        "List(List(UInt64))",
        "segments",
        "for each transfer, data segments sent on each of these subflows, including retransmissions",
    ),
    Column(
        "transfer_timeout_times_s",
        "List(List(Float64))",
        "s",
        "for each transfer, when its retransmission timeouts occurred, since the start of the run; null where the "
        "sender does not report it",
    ),
    Column(
        "video_startup_s",
        "Float64",
        "s",
        "for `video`: from its start to the start of playback. Null for other applications, like the columns below",
    ),
    Column("video_stalls", "UInt64", "", "how often playback stopped for lack of data"),
    Column("video_stalled_s", "Float64", "s", "total duration of these stalls"),
    Column("video_bitrate_mean_bps", "Float64", "bit/s", "mean bit rate of the segments that arrived"),
    Column("video_switches", "UInt64", "", "how often a segment had a different bit rate from the one before"),
)

SUBFLOWS: Final = (
    *_RUN,
    Column("connection", "String", "", "name of its connection"),
    Column("index", "UInt32", "", "index of its connection"),
    Column("subflow", "UInt32", "", "number in the order of opening, from 0"),
    Column("path", "String", "", "name of its path"),
    Column("goodput_bps", "Float64", "bit/s", "new application data that arrived on it after warm-up"),
    Column("share", "Float64", "", "its fraction of the connection's data, 0 to 1"),
    Column("segments_sent", "UInt64", "segments", "data segments sent, including retransmissions"),
    Column("retransmissions", "UInt64", "segments", "retransmissions on the subflow"),
    Column("timeouts", "UInt64", "", "retransmission timeouts"),
    Column("timeout_times_s", "List(Float64)", "s", "when each of them occurred, since the start of the run"),
    Column("reinjections", "UInt64", "segments", "segments with data sent earlier on another subflow"),
    Column("loss_rate", "Float64", "", "data segments lost in the network, divided by data segments sent"),
    Column("rtt_mean_s", "Float64", "s", "mean of the RTT samples"),
    Column("cwnd_mean_segments", "Float64", "segments", "mean over time of the congestion window"),
    Column(
        "waited_first_s",
        "Float64",
        "s",
        "time that arrived bytes waited for new data on this subflow, averaged over all bytes of the connection. "
        "This column and the next three, summed over the subflows, give the connection's "
        "`out_of_order_delay_mean_s`; null if the engine does not report them",
    ),
    Column("waited_retransmission_s", "Float64", "s", "the same for data that this subflow retransmitted"),
    Column("waited_timeout_s", "Float64", "s", "the same for data that it retransmitted after a timeout"),
    Column("waited_reinjection_s", "Float64", "s", "the same for data sent earlier on another subflow"),
)

LINKS: Final = (
    *_RUN,
    Column("name", "String", "", "name in the scenario"),
    Column("direction", "String", "", "`down` (server to client) or `up`"),
    Column(
        "utilization",
        "Float64",
        "",
        "bytes sent, divided by what the capacity allowed; 0 to 1, but a packet counts whole at one moment, "
        "so over a time of few packets it may exceed 1",
    ),
    Column("loss_rate", "Float64", "", "packets lost, in the queue and on the wire, divided by packets that arrived"),
    Column("drops", "UInt64", "packets", "packets lost, in the queue and on the wire"),
    Column("queue_mean_packets", "Float64", "packets", "mean over time of the queue, including the packet being sent"),
    Column("queue_max_packets", "UInt64", "packets", "the longest queue"),
    Column("bytes_sent", "UInt64", "B", "bytes of all packets sent in the whole run, warm-up included"),
    Column(
        "dead_bytes",
        "UInt64",
        "B",
        "bytes lost because the link was down, in the whole run: sent to it meanwhile, or in its queue when it went "
        "down",
    ),
    Column(
        "cost",
        "Float64",
        "",
        "price of `bytes_sent` at the link's `metered` price per GB; null if the link is not metered",
    ),
    Column(
        "over_cap_bytes",
        "UInt64",
        "B",
        "by how much both directions together exceed the link's `metered` cap (the same in both rows); null without "
        "one",
    ),
)

SAMPLES: Final = (
    *_RUN,
    Column("time_s", "Float64", "s", "end of the interval"),
    Column("kind", "String", "", "`subflow` or `link`; the columns of the other kind are null"),
    Column("connection", "String", "", "subflow: name of its connection"),
    Column("index", "UInt32", "", "subflow: index of its connection"),
    Column("subflow", "UInt32", "", "subflow: number in the order of opening"),
    Column("path", "String", "", "subflow: name of its path"),
    Column("link", "String", "", "link: name"),
    Column("direction", "String", "", "link: `down` or `up`"),
    Column("goodput_bps", "Float64", "bit/s", "subflow: new application data that arrived on it in the interval"),
    Column("cwnd_segments", "Float64", "segments", "subflow: congestion window"),
    Column("srtt_s", "Float64", "s", "subflow: smoothed RTT; null before the first sample"),
    Column("in_flight_segments", "UInt32", "segments", "subflow: sent and not yet acknowledged or deemed lost"),
    Column("queue_packets", "UInt32", "packets", "link: packets in the queue"),
    Column("queue_bytes", "UInt64", "B", "link: bytes in the queue"),
    Column("utilization", "Float64", "", "link: bytes sent in the interval, divided by what the capacity allowed"),
    Column("drops", "UInt32", "packets", "link: packets lost in the interval"),
)

MAX_MIN_SHARE: Final = Column(
    "max_min_share",
    "Float64",
    "",
    "goodput divided by what the connection would have if the links were shared in the max-min fair way",
)
"""No column of a frame: a comparison makes it when it is asked for."""

FRAMES: Final[Mapping[str, tuple[Column, ...]]] = {
    "connections": CONNECTIONS,
    "subflows": SUBFLOWS,
    "links": LINKS,
    "samples": SAMPLES,
}


def polars_schema(frame: str, *, with_run: bool = True) -> "pl.Schema":
    """The polars schema of a frame of `FRAMES`; without the columns `repeat` and `seed` unless `with_run`."""
    import polars as pl  # loads slowly, and a worker of a sweep needs none

    columns = FRAMES[frame] if with_run else FRAMES[frame][RUN_COLUMNS:]
    return pl.Schema({column.name: _dtype(column.kind) for column in columns})


@cache
def _dtype(kind: Kind) -> "DataTypeClass | pl.DataType":
    import polars as pl

    depth = kind.count("List(")
    dtype: DataTypeClass | pl.DataType = getattr(pl, kind[5 * depth : len(kind) - depth])
    for _ in range(depth):
        dtype = pl.List(dtype)
    return dtype
