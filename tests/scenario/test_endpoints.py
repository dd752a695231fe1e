"""`[[endpoint]]` and `[limits]`: what they become in the description, and what is refused."""

import re

import pytest
from mptcplab.scenario import Scenario, ScenarioError
from mptcplab.scenario.endpoints import Endpoint, Limits, described, numbered

NETWORK = """
duration = "5 s"
link.a = { rate = "20 Mbit/s", delay = "10 ms" }
link.b = { rate = "10 Mbit/s", delay = "20 ms" }
link.c = { rate = "10 Mbit/s", delay = "20 ms" }
[connection.m]
paths = ["a", "b"]
path_manager = "linux"
"""


def client(path: str, **keys: object) -> Endpoint:
    return Endpoint.model_validate({"host": "client", "path": path, **keys})


def server(path: str | None, **keys: object) -> Endpoint:
    return Endpoint.model_validate({"host": "server", **({} if path is None else {"path": path}), **keys})


def test_ids_that_are_not_given_are_those_that_the_kernel_gives() -> None:
    each = [client("a"), server("a"), client("b", id=7), client("c"), client("d", id=1)]
    assert [(one.id, one.endpoint.path) for one in numbered(each[:4], "client")] == [(1, "a"), (7, "b"), (8, "c")]
    assert [one.id for one in numbered(each, "server")] == [1]


def test_flags_that_are_not_given_are_the_usual_ones() -> None:
    assert client("a").flags == ("subflow",)
    assert server("a").flags == ("signal",)


def test_each_endpoint_of_the_server_but_the_first_path_s_is_one_more_address() -> None:
    each = [
        server("b"),
        server(None),
        server("a", flags=["signal"]),
        server("elsewhere"),
        client("b", flags=["backup"]),
    ]
    told = described(each, None, ["a", "b"], "6.12")
    assert told["server_places"] == [0, 1, 0]
    assert [(one["id"], one["address"]) for one in told["server"]["endpoints"]] == [(1, 1), (2, 2), (3, 0)]
    assert told["client"] == {
        "subflows": 2,
        "add_addr_accepted": 0,
        "allow_join_initial_addr_port": True,
        "endpoints": [{"id": 1, "address": 1, "flags": ["backup"], "port": None}],
    }


def test_limits_of_one_host_leave_the_other_the_kernel_s() -> None:
    told = described([], Limits.model_validate({"server": {"subflows": 5}}), ["a"], "6.18")
    assert (told["server"]["subflows"], told["client"]["subflows"], told["kernel"]) == (5, 2, "6.18")


def test_a_scenario_without_them_has_nothing_of_them() -> None:
    without = Scenario.from_toml(NETWORK.replace('path_manager = "linux"', ""))
    assert "kernel_paths" not in without.description()["connections"][0]
    assert "endpoint" not in without.to_toml()


def test_a_complete_scenario_says_the_same() -> None:
    text = NETWORK + '[[endpoint]]\nhost = "client"\npath = "b"\n[limits.client]\nsubflows = 3\n'
    scenario = Scenario.from_toml(text)
    again = Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert again.description() == scenario.description()
    assert scenario.with_({"limits.server.subflows": 4}).document.limits != scenario.document.limits


ENDPOINT = '[[endpoint]]\nhost = "client"\npath = "b"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[endpoint]]\nhost = "client"\n', "endpoint.0.path: found nothing; expected the path whose address"),
        ('[[endpoint]]\nhost = "router"\n', 'endpoint.0.host: found "router"; expected "client" or "server"'),
        (ENDPOINT + 'flags = ["subflo"]\n', 'endpoint.0.flags: found "subflo"; expected .*did you mean "subflow"'),
        (ENDPOINT + 'flags = ["signal", "fullmesh"]\n', "the kernel refuses both together"),
        (ENDPOINT + "port = 80\n", 'endpoint.0.port: found 80; expected none, or flags with "signal"'),
        (ENDPOINT + "id = 0\n", "endpoint.0.id: found 0; expected an address id, a whole number from 1 to 255"),
        (ENDPOINT + ENDPOINT, 'endpoint.1.path: found "b" again'),
        (ENDPOINT + "id = 3\n" + ENDPOINT.replace('"b"', '"a"') + "id = 3\n", "endpoint.1.id: found 3 again"),
        (ENDPOINT.replace('"b"', '"c"'), 'endpoint.0.path: found "c"; expected a path of a connection with'),
        (ENDPOINT + 'flags = ["laminar"]\n', '"laminar" with kernel = "6.12"; expected kernel = "6.18"'),
        ("[limits.client]\nsubflows = 9\n", "limits.client.subflows: found 9; expected subflows beside the first"),
        ("[limits.client]\nsubflow = 1\n", 'an unknown key "subflow"; .*did you mean "subflows"'),
        (
            "".join(f'[[endpoint]]\nhost = "server"\nport = {n}\n' for n in range(1, 10)),
            "at most 8, the kernel's limit",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.from_toml(NETWORK + text)
    assert re.search(says, str(raised.value)), str(raised.value)


def test_they_need_a_connection_with_the_kernel_s_path_manager() -> None:
    with pytest.raises(ScenarioError, match=r"endpoint: found a table .* expected a connection with path_manager"):
        Scenario.from_toml(NETWORK.replace('"linux"', '"fullmesh"') + ENDPOINT)


def test_the_engines_that_cannot_refuse() -> None:
    scenario = Scenario.from_toml(NETWORK + ENDPOINT)
    assert scenario.unsupported("sim") == []
    assert [problem.key for problem in scenario.unsupported("model")][:1] == ["connection.m.path_manager"]
