"""Bytes in flight over time, from what was sent and acknowledged."""

import numpy as np
import numpy.typing as npt
import polars as pl

Times = npt.NDArray[np.float64]


def in_flight(sent: pl.DataFrame, acks: pl.DataFrame, times_s: Times) -> dict[int, Times]:
    """For each subflow the bytes that it carried and that no DATA_ACK had covered at each of the times.

    `sent` and `acks` are of one connection and direction. A retransmission on the same subflow does not count again, a
    reinjection counts on both subflows. In TCP, these are the bytes in flight; in Multipath TCP they include what
    arrived and waits at the receiver for data of another subflow.
    """
    acked_s, acked = acks["time_s"].to_numpy(), acks["offset"].to_numpy()
    found: dict[int, Times] = {}
    for (subflow,), segments in sent.filter(pl.col("kind") != "retransmission").group_by(
        "subflow", maintain_order=True
    ):
        begin_s, length = segments["time_s"].to_numpy(), segments["length"].to_numpy().astype(np.float64)
        first = np.searchsorted(acked, segments["offset"].to_numpy() + segments["length"].to_numpy())
        end_s = np.maximum(np.append(acked_s, np.inf)[first], begin_s)
        found[int(str(subflow))] = _before(begin_s, length, times_s) - _before(end_s, length, times_s)
    return found


def _before(at_s: Times, length: Times, times_s: Times) -> Times:
    """The sum of what happened until each of the times."""
    order = np.argsort(at_s, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(length[order])))
    return np.asarray(total[np.searchsorted(at_s[order], times_s, side="right")], dtype=np.float64)
