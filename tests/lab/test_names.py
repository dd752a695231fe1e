"""Names that mean something to whatever they pass through, through the server of the laboratory."""

import json
import re
import tomllib
from typing import Any

import pytest
import tomli_w
from mptcplab import Scenario
from starlette.testclient import TestClient

from tests.lab.conftest import request
from tests.test_names import GROUPS, document


def asked(client: TestClient, kind: str, text: str, **more: Any) -> bytes:
    done = client.post(f"/api/{kind}", json=request(text, **more))
    assert done.status_code == 200, done.text
    return done.content


@pytest.mark.parametrize("names", GROUPS, ids=range(len(GROUPS)))
def test_a_page_of_these_names(client: TestClient, names: list[str]) -> None:
    """Each name comes back as it went, in each kind of answer, and the data of the page give the same scenario."""
    text = tomli_w.dumps(document(names))
    read = json.loads(asked(client, "read", text))
    assert list(read["data"]["link"]) == names
    assert list(read["looks"]["paths"]) == names
    again = json.loads(asked(client, "read", text, data=read["data"]))
    assert tomllib.loads(again["text"]) == tomllib.loads(text)
    run = json.loads(asked(client, "run", text).split(b"\n")[-2])
    assert [link["name"] for link in run["result"]["links"]] == [name for name in names for _ in ("down", "up")]
    packets = json.loads(asked(client, "packets", text, from_s=0, for_s=0.1).split(b"\n")[-2])
    assert {each["connection"] for each in packets["waiting"]} <= set(names)
    whole = Scenario.from_toml(text).sha256()
    assert Scenario.from_toml(asked(client, "export", text, export="toml").decode()).sha256() == whole
    scope: dict[str, Any] = {}
    program = asked(client, "export", text, export="python").decode()
    exec(program.partition("result = mptcplab.run(scenario)")[0], scope)  # noqa: S102
    assert scope["scenario"].sha256() == whole
    for figure in ("goodput", "queues"):
        assert b"<svg" in asked(client, "export", text, export="svg", figure=figure)
    report = asked(client, "export", text, export="report")
    assert not re.search(rb"<script>x\(\)|<img src=x", report)
