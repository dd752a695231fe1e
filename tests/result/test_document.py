"""The document of `--json`."""

import json
import math
from typing import Any

import jsonschema
import pytest
from mptcplab import Result, Scenario, run

NUMBER = {"type": ["number", "null"]}
COUNT = {"type": "integer", "minimum": 0}
COUNTED = {"type": ["integer", "null"], "minimum": 0}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SUBFLOW = closed(
    {
        "path": {"type": "string"},
        "goodput_bps": NUMBER,
        "share": NUMBER,
        "segments_sent": COUNTED,
        "retransmissions": COUNTED,
        "timeouts": COUNTED,
        "reinjections": COUNTED,
        "loss_rate": NUMBER,
        "rtt_mean_s": NUMBER,
        "cwnd_mean_segments": NUMBER,
    }
)
CONNECTIONS = {
    "type": "array",
    "items": closed(
        {
            "name": {"type": "string"},
            "index": COUNT,
            "protocol": {"enum": ["tcp", "mptcp"]},
            "congestion": {"type": "string"},
            "scheduler": {"type": ["string", "null"]},
            "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "start_s": NUMBER,
            "goodput_bps": NUMBER,
            "bytes_delivered": COUNTED,
            "completion_s": NUMBER,
            "longest_silence_s": NUMBER,
            "notice_s": NUMBER,
            "packet_overhead": NUMBER,
            "out_of_order_delay_s": closed({"mean": NUMBER, "p95": NUMBER}),
            "fallback": {"type": ["boolean", "null"]},
            "transfers": {"type": ["object", "null"]},
            "video": {"type": ["object", "null"]},
            "subflows": {"type": "array", "items": SUBFLOW, "minItems": 1},
        }
    ),
}
LINKS = {
    "type": "array",
    "items": closed(
        {
            "name": {"type": "string"},
            "direction": {"enum": ["down", "up"]},
            "utilization": NUMBER,
            "loss_rate": NUMBER,
            "drops": COUNTED,
            "queue_mean_packets": NUMBER,
            "queue_max_packets": COUNTED,
            "bytes_sent": COUNTED,
            "dead_bytes": COUNTED,
            "cost": NUMBER,
            "over_cap_bytes": COUNTED,
        }
    ),
}
PROVENANCE = closed(
    {
        "version": {"type": "string"},
        "commit": {"type": ["string", "null"]},
        "dirty": {"type": ["boolean", "null"]},
        "scenario_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "engine": {"type": "string"},
        "seed": COUNT,
        "repeat": {"type": "integer", "minimum": 1},
        "through_wire": {"type": "boolean"},
        "python": {"type": "string"},
        "packages": {"type": "object", "additionalProperties": {"type": "string"}},
    }
)
SAID = {key: {"type": "array", "items": {"type": "string"}} for key in ("notes", "failures")}
HEAD = {
    "title": {"type": "string"},
    "engine": {"enum": ["sim", "model", "stack", "linux"]},
    "seed": COUNT,
    "duration_s": {"type": "number"},
    "provenance": PROVENANCE,
    **SAID,
}
SAMPLES = {"type": ["string", "null"]}
ONE = closed({**HEAD, "connections": CONNECTIONS, "links": LINKS, "samples": SAMPLES})
SERIES = closed(
    {
        **HEAD,
        "runs": {
            "type": "array",
            "items": closed({"repeat": COUNT, "seed": COUNT, **SAID, "connections": CONNECTIONS, "links": LINKS}),
        },
        "summary": closed({key: {"type": "array"} for key in ("connections", "subflows", "links")}),
        "samples": SAMPLES,
    }
)


def test_one_run_is_the_document_of_the_interface(result: Result) -> None:
    document = json.loads(result.to_json())
    jsonschema.validate(document, ONE)
    assert document["title"] == "Two paths and a neighbour"
    assert document["duration_s"] == 4.0
    assert document["samples"] is None
    download = document["connections"][0]
    assert download["out_of_order_delay_s"] == {"mean": 0.002, "p95": 0.0123}
    assert [subflow["path"] for subflow in download["subflows"]] == ["wifi", "lte"]


def test_the_model_answers_with_the_same_document(scenario: Scenario) -> None:
    steady = scenario.with_("event=[]")
    document = json.loads(run(steady, "model").to_json())
    jsonschema.validate(document, ONE)
    assert document["connections"][0]["bytes_delivered"] is None
    assert "scheduler" in document["notes"][0]


def test_the_schema_of_this_test_can_fail(result: Result) -> None:
    document = result.to_dict()
    document["connections"][0]["goodput"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, ONE)


def test_several_runs_are_a_list_with_a_summary(scenario: Scenario, made_up_core: None) -> None:
    document = json.loads(run(scenario, repeat=3).to_json(samples_file="samples.parquet"))
    jsonschema.validate(document, SERIES)
    assert document["samples"] == "samples.parquet"
    assert [one["seed"] for one in document["runs"]] == [7, 8, 9]
    assert document["seed"] == 7
    # The made-up goodput is 10 Mbit/s plus the seed: 7, 8, 9 have mean 8 and standard deviation 1.
    download = document["summary"]["connections"][0]
    assert download["name"] == "download"
    assert download["goodput_bps"]["mean"] == pytest.approx(10e6 + 8)
    assert download["goodput_bps"]["sd"] == pytest.approx(1.0)
    assert download["goodput_bps"]["runs"] == 3
    # Nobody knows when the neighbours complete.
    assert document["summary"]["connections"][1]["completion_s"] == {"mean": None, "sd": None, "runs": 0}


def test_the_document_is_json_to_the_letter(result: Result) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(result.to_json(), parse_constant=refuse)


def test_values_that_json_cannot_say_are_null() -> None:
    from mptcplab.results.json_document import _plain

    assert [_plain(value) for value in (math.nan, math.inf, 1.5, None, 3)] == [None, None, 1.5, None, 3]
