"""One outcome from what two ends saw, worked by hand."""

import base64
import json
import math
from typing import Any

import numpy as np
from mptcplab.engines.linux_virtual.columns import TYPES
from mptcplab.engines.testbed import merge

KINDS = [{"direction": "down"}, {"direction": "up"}]
DESCRIPTION: dict[str, Any] = {"connections": KINDS, "links": [{"name": "wifi"}]}


def subflow(path: int, **known: Any) -> dict[str, Any]:
    columns = ("goodput_bps", "share", *merge._OF_SENDER, *merge._NEVER)
    return {"path": path, **dict.fromkeys(columns), "goodput_bps": 0.0, "segments_sent": 0, **known}


def row(kind: int, *subflows: dict[str, Any], **known: Any) -> dict[str, Any]:
    columns = {"start_s": 0.0, "goodput_bps": None, "bytes_delivered": 0, "completion_s": None, "transfers": None}
    silence = {"longest_silence_s": None, "failure": None, "fallback": False}
    return {"kind": kind, "index": 0, **columns, **silence, "subflows": list(subflows), **known}


def samples(**columns: list[float]) -> dict[str, str]:
    length = len(columns["time_s"])
    zeros = {name: [0.0] * length for name in TYPES["subflow_samples"]}
    return {
        name: base64.b64encode(np.array(values, dtype=TYPES["subflow_samples"][name]).tobytes()).decode()
        for name, values in {**zeros, **columns}.items()
    }


def end(*rows: dict[str, Any], **columns: list[float]) -> dict[str, Any]:
    return {"summary": {"connections": list(rows)}, "samples": samples(**columns), "programs": []}


def test_senders_count_what_was_sent_and_receivers_what_arrived() -> None:
    client = end(
        row(0, subflow(7, goodput_bps=3e6), subflow(8, goodput_bps=1e6), goodput_bps=4e6, bytes_delivered=500),
        row(1, subflow(7, goodput_bps=9e6, segments_sent=40, rtt_mean_s=0.02), completion_s=2.0),
        time_s=[0.1, 0.1, 0.1],
        connection=[0, 0, 1],
        subflow=[0, 1, 0],
        goodput_bps=[30.0, 10.0, 99.0],
        cwnd_segments=[0.0, 0.0, 12.0],
        srtt_s=[math.nan, math.nan, 0.02],
    )
    # The server saw the subflows in another order.
    server = end(
        row(0, subflow(8, segments_sent=100, rtt_mean_s=0.05), subflow(7, segments_sent=300, rtt_mean_s=0.01)),
        row(
            1,
            subflow(7, goodput_bps=8e6),
            goodput_bps=8e6,
            bytes_delivered=900,
            longest_silence_s=0.3,
            completion_s=1.9,
        ),
        time_s=[0.1, 0.1, 0.1],
        connection=[0, 0, 1],
        subflow=[0, 1, 0],
        goodput_bps=[0.0, 0.0, 80.0],
        cwnd_segments=[4.0, 8.0, 0.0],
        srtt_s=[0.05, 0.01, math.nan],
    )
    outcome = merge.outcome(DESCRIPTION, [0, 1], client, server)
    down, up = json.loads(outcome["summary"])["connections"]
    assert (down["goodput_bps"], down["bytes_delivered"]) == (4e6, 500)
    assert [(each["path"], each["share"], each["segments_sent"]) for each in down["subflows"]] == [
        (7, 0.75, 300),
        (8, 0.25, 100),
    ]
    assert (up["goodput_bps"], up["bytes_delivered"], up["longest_silence_s"]) == (8e6, 900, 0.3)
    assert up["completion_s"] == 2.0, "by the client's clock"
    assert (up["subflows"][0]["goodput_bps"], up["subflows"][0]["segments_sent"]) == (8e6, 40)
    columns = outcome["subflow_samples"]
    assert columns is not None
    assert columns["goodput_bps"].tolist() == [30.0, 10.0, 80.0]
    assert columns["cwnd_segments"].tolist() == [8.0, 4.0, 12.0]
    assert columns["srtt_s"].tolist() == [0.01, 0.05, 0.02]


def test_what_the_server_cannot_tell_apart_is_not_known() -> None:
    """Behind a translator of addresses the server, which sends, knows one path of three."""
    seen = [subflow(path, goodput_bps=1e6) for path in (0, 1, 2)]
    client = end(row(0, *seen, goodput_bps=3e6), time_s=[0.1], connection=[0], subflow=[2], goodput_bps=[5.0])
    server = end(row(0, subflow(0, segments_sent=10)), time_s=[], connection=[], subflow=[])
    outcome = merge.outcome({**DESCRIPTION, "connections": KINDS[:1]}, [0], client, server)
    (connection,) = json.loads(outcome["summary"])["connections"]
    assert [each["segments_sent"] for each in connection["subflows"]] == [10, None, None]
    assert [each["goodput_bps"] for each in connection["subflows"]] == [1e6] * 3
    columns = outcome["subflow_samples"]
    assert columns is not None
    assert math.isnan(columns["cwnd_segments"][0])


def test_what_only_the_sender_knows_stands_for_what_arrived() -> None:
    """Of an upload behind a translator the client counts what was acknowledged."""
    client = end(
        row(0, subflow(0, goodput_bps=2e6, segments_sent=5), subflow(1, goodput_bps=2e6, segments_sent=6)),
        time_s=[], connection=[], subflow=[],
    )  # fmt: skip
    server = end(row(0, subflow(0, goodput_bps=2e6), goodput_bps=4e6), time_s=[], connection=[], subflow=[])
    outcome = merge.outcome({**DESCRIPTION, "connections": KINDS[1:]}, [0], client, server)
    (connection,) = json.loads(outcome["summary"])["connections"]
    assert [(each["path"], each["goodput_bps"], each["share"]) for each in connection["subflows"]] == [
        (0, 2e6, 0.5),
        (1, 2e6, 0.5),
    ]
    assert [link["utilization"] for link in json.loads(outcome["summary"])["links"]] == [None, None]
