"""`mptcplab paths`: subflows, causes and remarks, for scenarios and for what hosts print."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

NETWORK = """
duration = "5 s"
link.wifi = { rate = "20 Mbit/s", delay = "10 ms" }
link.lte = { rate = "10 Mbit/s", delay = "20 ms" }
[connection.m]
paths = ["wifi", "lte"]
path_manager = "linux"
"""
CLIENT = """
[[endpoint]]
host = "client"
path = "lte"
flags = ["subflow", "backup"]
"""
SERVER = """
[[endpoint]]
host = "server"
path = "lte"
"""
ACCEPTS = """
[limits.client]
add_addr_accepted = 1
"""


def opened(call: Call, tmp_path: Path, text: str, *options: object) -> dict[str, Any]:
    file = tmp_path / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    done = call("paths", file, "--json", *options)
    assert (done.status, done.err) == (0, "")
    (connection,) = json.loads(done.out)["connections"]
    found: dict[str, Any] = connection
    return found


def lines(connection: dict[str, Any]) -> list[tuple[object, ...]]:
    keys = ("path", "server_address", "address_id", "backup", "established")
    return [tuple(each[key] for key in keys) for each in connection["subflows"]]


def test_an_endpoint_opens_a_subflow_with_its_flags(call: Call, tmp_path: Path) -> None:
    found = opened(call, tmp_path, NETWORK + CLIENT)
    assert lines(found) == [("wifi", 0, 0, False, True), ("lte", 0, 1, True, True)]
    # The join leaves when the first data has been acknowledged: after the handshake's round trip, and another one.
    assert 0.04 <= found["subflows"][1]["at_s"] <= 0.1
    assert found["remarks"] == []


def test_an_announced_address_is_joined_if_the_limit_lets_it(call: Call, tmp_path: Path) -> None:
    without = opened(call, tmp_path, NETWORK + SERVER)
    assert lines(without) == [("wifi", 0, 0, False, True)]
    (first, second) = without["remarks"]
    assert "ip mptcp limits set add_addr_accepted 1" in first
    assert second == 'no subflow uses the path "lte"'
    found = opened(call, tmp_path, NETWORK + SERVER + ACCEPTS)
    assert [each[:2] for each in lines(found)] == [("wifi", 0), ("lte", 1)]
    assert "server announces id 1" in [each["what"] for each in found["events"]]


def test_what_a_server_opens_is_refused(call: Call, tmp_path: Path) -> None:
    found = opened(call, tmp_path, NETWORK + SERVER + 'flags = ["subflow"]\n')
    assert [each["opened_by"] for each in found["subflows"]] == ["client", "server"]
    assert [each["established"] for each in found["subflows"]] == [True, False]
    assert any("a client listens on no port" in remark for remark in found["remarks"])


def test_an_event_takes_the_endpoint_and_gives_it_back(call: Call, tmp_path: Path) -> None:
    events = "".join(
        f'[[event]]\nat = "{at} s"\nlink = "lte"\nset = {{ address = {there} }}\n'
        for at, there in ((1, "false"), (2, "true"))
    )
    found = opened(call, tmp_path, NETWORK + CLIENT + events)
    assert [each[0] for each in lines(found)] == ["wifi", "lte", "lte"]
    assert [each["what"] for each in found["events"]].count("client withdraws id 1") == 1


def test_an_announcement_may_come_before_the_first_data_is_answered(call: Call, tmp_path: Path) -> None:
    # As Linux 6.12 did in both directions: the client's third ACK leaves alone and the server announces on it, before
    # it has the client's data, but behind data of its own.
    one = "[limits.client]\nadd_addr_accepted = 1\nsubflows = 1\n" + SERVER + CLIENT.replace(', "backup"', "")
    up = opened(call, tmp_path, NETWORK + 'direction = "up"\n' + one)
    assert lines(up)[1] == ("lte", 1, 1, False, True)
    down = opened(call, tmp_path, NETWORK + one)
    assert lines(down)[1] == ("lte", 0, 1, False, True)


def test_an_address_without_an_endpoint_has_the_next_number(call: Call, tmp_path: Path) -> None:
    third = 'link.sat = { rate = "10 Mbit/s", delay = "30 ms" }\n'
    text = NETWORK.replace("[connection", third + "[connection", 1).replace('"lte"]', '"lte", "sat"]')
    first = '[[endpoint]]\nhost = "client"\npath = "wifi"\nflags = ["backup"]\n'
    found = opened(call, tmp_path, text + first + SERVER.replace("lte", "sat") + ACCEPTS)
    # The routing takes the third address, which is the first that needs a number beyond that of the endpoint.
    assert [each[:3] for each in lines(found)] == [("wifi", 0, 0), ("sat", 1, 2)]


def test_what_the_server_closes_makes_room_at_once(call: Call, tmp_path: Path) -> None:
    third = 'link.sat = { rate = "10 Mbit/s", delay = "5 ms" }\n'
    text = NETWORK.replace("[connection", third + "[connection", 1).replace('"lte"]', '"lte", "sat"]')
    limits = "[limits.client]\nsubflows = 1\n[limits.server]\nsubflows = 1\n"
    event = '[[event]]\nat = "1 s"\nlink = "lte"\nset = { address = false }\n'
    plain = CLIENT.replace(', "backup"', "")
    # The withdrawal arrives after 10 ms over wifi, and the join of the other is complete after 15 ms. The reset of the
    # subflow never arrives: its path is down.
    found = opened(call, tmp_path, text + plain + plain.replace("lte", "sat") + limits + event)
    assert [(each[0], each[4]) for each in lines(found)] == [("wifi", True), ("lte", True), ("sat", True)]


def test_laminar_needs_the_kernel_that_knows_it(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    text = NETWORK + SERVER + ACCEPTS + CLIENT.replace('"subflow", "backup"', '"laminar"')
    file.write_text(text, encoding="utf-8")
    done = call("paths", file)
    assert done.status == 2
    assert '"laminar" with kernel = "6.12"; expected kernel = "6.18"' in done.err
    found = opened(call, tmp_path, text.replace('"linux"', '{ name = "linux", kernel = "6.18" }', 1))
    assert [each[:3] for each in lines(found)] == [("wifi", 0, 0), ("lte", 1, 1)]


def test_other_path_managers_are_shown_too(call: Call, tmp_path: Path) -> None:
    found = opened(call, tmp_path, NETWORK.replace('"linux"', '"backup"'))
    assert lines(found) == [("wifi", 0, 0, False, True), ("lte", 0, 1, True, True)]
    done = call("paths", tmp_path / "scenario.toml", "--kernel", "6.18")
    assert (done.status, done.out) == (2, "")
    assert 'path_manager = "linux"' in done.err


PASTED = """
$ ip mptcp endpoint show
192.168.1.2 id 1 subflow dev eth0
10.0.0.2 id 2 subflow backup dev wwan0
$ ip mptcp limits show
add_addr_accepted 0 subflows 2
"""


def test_what_two_hosts_print_is_an_input(call: Call, tmp_path: Path) -> None:
    client, server = tmp_path / "client.txt", tmp_path / "server.txt"
    client.write_text(PASTED, encoding="utf-8")
    server.write_text("192.0.2.7 id 1 signal dev eth0\nadd_addr_accepted 0 subflows 2\n", encoding="utf-8")
    done = call("paths", "--client", client, "--server", server, "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    (found,) = document["connections"]
    assert lines(found) == [("192.168.1.2", 0, 0, False, True), ("10.0.0.2", 0, 2, True, True)]
    assert any("192.168.1.2 opens the connection" in note for note in document["notes"])
    assert any("add_addr_accepted" in remark for remark in found["remarks"])
    other = json.loads(call("paths", "--client", client, "--from", "10.0.0.2", "--json").out)["connections"][0]
    assert [each[0] for each in lines(other)] == ["10.0.0.2", "192.168.1.2"]


def test_the_table_and_the_drawing(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(NETWORK + CLIENT, encoding="utf-8")
    out = call("paths", file).out
    assert "client: subflows 2, add_addr_accepted 0" in out
    assert "client endpoint 1: subflow backup" in out
    assert "lte  ┄┄┄┄┄┄┄┄┄┄ backup ┄┄┄┄┄┄┄┄┄┄ server" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "found no scenario; expected FILE, or --client TEXT"),
        (("--server", "x"), "found no scenario"),
        (("--client", "{place}/nothing"), "nothing"),
        (("--client", "{place}/empty"), "found no endpoints and no limits"),
        (("wifi-lte", "--client", "{place}/empty"), "found a scenario beside --client"),
    ],
)
def test_wrong_input(call: Call, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    (tmp_path / "empty").write_text("hello\n", encoding="utf-8")
    done = call("paths", *(each.format(place=tmp_path) for each in arguments))
    assert (done.status, done.out) == (2, "")
    assert says in done.err
