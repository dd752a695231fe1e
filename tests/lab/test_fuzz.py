"""Whatever is sent, the server answers 2xx or 4xx, reads no file outside, and goes on.

MPTCPLAB_LAB_FUZZ is how many requests of each kind are tried (40).
"""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from httpx2 import InvalidURL
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mptcplab import shipped
from starlette.testclient import TestClient

from tests.lab.conftest import SMALL, request

EXAMPLES = int(os.environ.get("MPTCPLAB_LAB_FUZZ", "40"))
SECRET = "root:x:0:0"
KINDS = ("read", "run", "packets", "why", "export", "advise")
BOUNDED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "/etc/passwd",
            "../../../../etc/passwd",
            "~/.ssh/id_rsa",
            "file:///etc/passwd",
            "evil.py:Evil",
            "\0",
            "1e309 Mbit/s",
            "\ud800",
            "\udfff.a",
            ".".join("a" * 3_000) + " = 1",
            "[" * 3_000,
        ]
    ),
    st.sampled_from(["0 s", "1 ns", "30 s", "0 bit/s", "1 bit/s", "900 Gbit/s", "-1 %", "100 %", "1 packets", "never"]),
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(["plugin", "trace", "file", "kind", "$number", "name"]), texts), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
BUDGET = 0.01
"""Of the usual work of an answer to `advise`, so that one takes a moment."""
bodies = st.fixed_dictionaries(
    {"budget": st.one_of(st.just(BUDGET), texts)},
    optional={
        "page": st.one_of(st.just("fuzz"), values),
        "text": st.one_of(st.just(SMALL), texts, values),
        "data": values,
        "origin": st.one_of(st.sampled_from([*shipped.scenario_names(), "opened", "../app"]), values),
        "engine": st.one_of(st.sampled_from(["sim", "model"]), values),
        "export": st.one_of(st.sampled_from(["toml", "python", "json"]), values),
        "connection": values,
        "traffic": st.one_of(st.sampled_from(["web", "calls"]), values),
        "purpose": st.one_of(st.just("linux"), values),
        "metered": st.one_of(st.just(["a"]), values),
        "from_s": values,
        "at_s": st.one_of(st.floats(0, 3), values),
        "for_s": values,
    },
)


def asked(client: TestClient, kind: str, body: Any) -> None:
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    answer = client.post(f"/api/{kind}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code < 500, (answer.status_code, body, answer.text)
    assert SECRET not in answer.text
    assert "process died" not in answer.text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"text": "\ud800 = 1"}, 400),
        ({"text": SMALL.replace("Two paths", "\udc00")}, 400),
        ({"data": {"\ud800": 1}}, 400),
        ({"text": ".".join("a" * 900) + " = 1\n" + SMALL}, 422),
        ({"text": ".".join("a" * 100_000) + " = 1\n" + SMALL}, 422),
        ({"text": f"[{'.'.join('a' * 3_000)}]\n" + SMALL}, 422),
        ({"text": ".".join("a" * 900) + " = 1\n", "data": {"title": "x"}}, 422),
        ({"text": ".".join("a" * 100_000) + " = 1\n", "data": {"title": "x"}}, 422),
        ({"text": "x = " + "{a = " * 3_000 + "1" + "}" * 3_000 + "\n" + SMALL}, 422),
    ],
    ids=range(9),
)
def test_halves_of_pairs_and_deep_keys(client: TestClient, kind: str, changed: dict[str, Any], status: int) -> None:
    content = json.dumps(request(from_s=0, for_s=0.1, at_s=0.1, export="toml", **{"text": SMALL, **changed}))
    answer = client.post(f"/api/{kind}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert "process died" not in answer.text


@BOUNDED
@given(kind=st.sampled_from(KINDS), body=bodies)
def test_any_request(client: TestClient, kind: str, body: dict[str, Any]) -> None:
    asked(client, kind, body)


def places(value: Any, key: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key of a document."""
    found = [key] if key else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        found += places(inner, (*key, part))
    return found


@BOUNDED
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_scenario_with_something_else_in_it(client: TestClient, data: st.DataObject, kind: str) -> None:
    """A key of a scenario that is right gets any value: most are refused, some run."""
    document = tomllib.loads(SMALL + '[[event]]\nat = "1 s"\nlink = "a"\nset = { down = true }\n')
    key = data.draw(st.sampled_from(places(document)))
    here: Any = document
    for part in key[:-1]:
        here = here[part]
    here[key[-1]] = data.draw(values)
    body = {
        "page": "fuzz",
        "text": SMALL,
        "data": document,
        "origin": None,
        "export": "json",
        "from_s": 0,
        "at_s": 0.5,
        "for_s": 0.1,
        "budget": BUDGET,
    }
    asked(client, kind, body)
    try:
        text = tomli_w.dumps(document)
    except (TypeError, ValueError, AttributeError):
        return
    asked(client, kind, {**body, "text": text, "data": None})


@BOUNDED
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]),
    path=st.one_of(
        st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=60),
        st.lists(
            st.sampled_from(["..", "static", "api", "presets", "etc", "passwd", "%2e%2e", "%00", "", "opened"]),
            max_size=6,
        ).map("/".join),
    ),
)
def test_any_address(client: TestClient, method: str, path: str) -> None:
    try:
        answer = client.request(method, "/" + path.lstrip("/"))
    except (ValueError, InvalidURL):  # no address at all: it is never sent
        return
    assert answer.status_code < 500
    assert SECRET not in answer.text


def test_the_secret_is_one_that_is_there() -> None:
    """Or nothing above could fail."""
    assert SECRET in Path("/etc/passwd").read_text(encoding="utf-8")
