"""The generated network against the definition of Al-Fares 2008, and its draws."""

from collections import Counter
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mptcplab.scenario import Scenario
from mptcplab.scenario.fat_tree import FatTree, Route, draw, pairs, parts, senders

TEXT = """
    duration = "1 s"
    [topology]
    kind = "fat-tree"
    k = 4
    rate = "100 Mbit/s"
    delay = "20 us"
    queue = "100 packets"
    [traffic]
    kind = "permutation"
"""


def described(*overrides: str) -> dict[str, Any]:
    return Scenario.from_toml(TEXT, overrides=overrides).description()


def ends(link: str, host_switch: dict[str, str]) -> tuple[str, str]:
    """The lower and the upper end of a link, by its name."""
    if link.startswith("host-"):
        return link, host_switch[link]
    lower, upper = link.split(".")
    return lower, upper


def test_hosts_have_a_queue_of_their_own_towards_the_network() -> None:
    links = described('topology.host_queue = "1000 packets"')["links"]
    limits = {way: [link[way]["queue"]["limit"]["packets"] for link in links] for way in ("up", "down")}
    # 16 hosts and 32 links between switches.
    assert limits == {"up": [1000] * 16 + [100] * 32, "down": [100] * 48}
    plain = described()["links"]
    assert [link["down"] for link in links] == [link["down"] for link in plain]
    assert [link["up"] for link in links[16:]] == [link["up"] for link in plain[16:]]


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_the_tree_has_its_numbers(k: int) -> None:
    tree = FatTree(k)
    links = [*tree.host_links(), *tree.switch_links()]
    assert len(links) == len(set(links)) == 3 * k**3 // 4
    degree = Counter(switch for link in tree.switch_links() for switch in link.split("."))
    assert Counter(switch.split("-")[0] for switch in degree) == {
        "edge": k * k // 2,
        "agg": k * k // 2,
        "core": k * k // 4,
    }
    # Edge switches have k/2 hosts besides; every other port leads to a switch, a core's to each pod.
    assert {(switch.split("-")[0], count) for switch, count in degree.items()} == {
        ("edge", k // 2),
        ("agg", k),
        ("core", k),
    }
    for core in (switch for switch in degree if switch.startswith("core")):
        below = [link.split(".")[0] for link in tree.switch_links() if link.endswith(f".{core}")]
        assert sorted(switch.split("-")[1] for switch in below) == [str(pod) for pod in range(k)]


@given(k=st.sampled_from([2, 4, 6]), data=st.data())
def test_every_route_leads_from_one_host_to_the_other(k: int, data: st.DataObject) -> None:
    tree = FatTree(k)
    source = data.draw(st.integers(0, tree.hosts - 1))
    target = data.draw(st.integers(0, tree.hosts - 1).filter(lambda host: host != source))
    links = {*tree.host_links(), *tree.switch_links()}
    half = k // 2
    # Hosts are numbered from switch to switch and from pod to pod.
    host_switch = {f"host-{h}": f"edge-{h // half**2}-{h // half % half}" for h in range(tree.hosts)}
    routes = [tree.route(source, target, number) for number in range(tree.route_count(source, target))]
    assert len(set(routes)) == len(routes)
    same_pod = source // half**2 == target // half**2
    same_edge = host_switch[f"host-{source}"] == host_switch[f"host-{target}"]
    assert len(routes) == (1 if same_edge else half if same_pod else half**2)
    for route in routes:
        assert {*route.up, *route.down} <= links
        assert len(route.up) == len(route.down) == (1 if same_edge else 2 if same_pod else 3)
        at = f"host-{source}"
        for link in route.up:
            lower, at_next = ends(link, host_switch)
            assert lower == at
            at = at_next
        assert at == route.via
        for link in route.down:
            at_next, upper = ends(link, host_switch)
            assert upper == at
            at = at_next
        assert at == f"host-{target}"


def test_a_route_by_hand() -> None:
    # k = 4: host 1 is at edge 0 of pod 0, host 14 at edge 1 of pod 3; core 2 is at aggregation 1 of every pod.
    assert FatTree(4).route(1, 14, 2) == Route(
        "core-2",
        ("host-1", "edge-0-0.agg-0-1", "agg-0-1.core-2"),
        ("agg-3-1.core-2", "edge-3-1.agg-3-1", "host-14"),
    )


@given(hosts=st.integers(2, 60), seed=st.integers(0, 2**64 - 1))
def test_patterns(hosts: int, seed: int) -> None:
    permutation = pairs("permutation", hosts, None, seed)
    assert [source for source, _ in permutation] == list(range(hosts))
    assert sorted(target for _, target in permutation) == list(range(hosts))
    random = pairs("random", hosts, None, seed)
    assert [source for source, _ in random] == list(range(hosts))
    assert all(0 <= target < hosts for _, target in random)
    everyone = pairs("all-to-all", hosts, None, seed)
    assert len(set(everyone)) == hosts * (hosts - 1)
    for pattern in (permutation, random, everyone):
        assert all(source != target for source, target in pattern)
    assert pairs("stride", hosts, hosts + 1, seed) == [(host, (host + 1) % hosts) for host in range(hosts)]


def test_draws_are_even_and_permutations_too() -> None:
    counts = Counter(draw(1, str(number), 5) for number in range(10_000))
    # Binomial(10 000, 1/5): standard deviation 40.
    assert all(abs(counts[value] - 2000) < 5 * 40 for value in range(5))
    # Four things have 9 derangements.
    found = Counter(tuple(target for _, target in pairs("permutation", 4, None, seed)) for seed in range(3_600))
    assert len(found) == 9
    assert all(abs(count - 400) < 5 * sqrt(400) for count in found.values())


def test_the_description_is_the_network() -> None:
    description = described("traffic.subflows=3", "seed=5")
    assert len(description["links"]) == 48
    direction = {
        "rate_bps": 100_000_000,
        "trace": None,
        "delay_ns": 20_000,
        "queue": {"kind": "drop-tail", "limit": {"packets": 100}},
        "loss": {"kind": "none"},
    }
    assert all(link["down"] == link["up"] == direction for link in description["links"])
    assert len(description["connections"]) == 16
    for connection in description["connections"]:
        assert (connection["count"], connection["direction"], len(connection["paths"])) == (1, "up", 3)
        for number in connection["paths"]:
            path = description["paths"][number]
            assert path["name"].startswith(f"{connection['name']} by ")
            source, target = connection["name"].split(">")
            names = [description["links"][link]["name"] for link in path["links"]]
            assert (names[0], names[-1]) == (source, target)
            assert path["reversed"] == [False] * (len(names) // 2) + [True] * (len(names) // 2)
    names = [path["name"] for path in description["paths"]]
    assert len(names) == len(set(names))


def test_subflows_draw_for_themselves() -> None:
    eight, two = described("topology.k=8"), described("topology.k=8", "traffic.subflows=2")

    def turns(description: dict[str, Any]) -> dict[str, list[str]]:
        return {
            connection["name"]: [description["paths"][path]["name"].split()[-1] for path in connection["paths"]]
            for connection in description["connections"]
        }

    # The first two are the same, however many there are; and what TCP takes is the first.
    assert turns(two) == {name: drawn[:2] for name, drawn in turns(eight).items()}
    assert turns(described("topology.k=8", "traffic.protocol=tcp")) == {n: d[:1] for n, d in turns(eight).items()}
    # Eight draws of 16: 16 (1 − (15/16)⁸) = 6.45 different ones.
    across = [len(set(drawn)) for drawn in turns(eight).values() if drawn[0].startswith("core")]
    assert sum(across) / len(across) == pytest.approx(6.45, abs=0.5)


def test_another_seed_is_another_network() -> None:
    assert described() == described()
    assert described()["connections"] != described("seed=2")["connections"]


def test_oversubscription_is_between_switches() -> None:
    links = described("topology.oversubscription=4.0")["links"]
    rates = {link["name"].split("-")[0]: link["up"]["rate_bps"] for link in links}
    assert rates == {"host": 100_000_000, "edge": 25_000_000, "agg": 25_000_000}


def test_the_bdp_is_of_the_longest_path() -> None:
    # 100 Mbit/s · 12 · 20 us = 3000 B, times ten.
    links = described('topology.queue="10 BDP"')["links"]
    assert all(link["up"]["queue"]["limit"] == {"bytes": 30_000} for link in links)


KINDS = """
    duration = "1 s"
    [topology]
    kind = "fat-tree"
    k = 4
    hosts_per_edge = 8
    rate = "100 Mbit/s"
    delay = "20 us"
    [traffic.long]
    kind = "permutation"
    share = "25 %"
    subflows = 3
    [traffic.short]
    kind = "permutation"
    protocol = "tcp"
    application = { kind = "file", size = "70 kB" }
"""


def test_kinds_of_traffic_divide_the_hosts() -> None:
    description = Scenario.from_toml(KINDS).description()
    connections = description["connections"]
    assert Counter(each["name"].split()[0] for each in connections) == {"long": 16, "short": 48}
    assert Counter(len(each["paths"]) for each in connections) == {3: 16, 1: 48}
    ways = [each["name"].split()[1].split(">") for each in connections]
    # Together they are one permutation of all 64 hosts, the one that a single kind has.
    hosts = {f"host-{number}" for number in range(64)}
    assert {source for source, _ in ways} == {target for _, target in ways} == hosts
    alone = Scenario.from_toml(KINDS, overrides=['traffic={ kind = "permutation" }']).description()
    assert {each["name"] for each in alone["connections"]} == {each["name"].split()[1] for each in connections}
    # Another seed has other hosts send.
    other = Scenario.from_toml(KINDS).description(seed=2)["connections"]
    assert {each["name"] for each in other} != {each["name"] for each in connections}


def test_kinds_of_traffic_are_written_as_they_are_read() -> None:
    scenario = Scenario.from_toml(KINDS, overrides=["traffic.long.congestion=olia"])
    assert Scenario.from_toml(scenario.to_toml()) == scenario
    assert 'name = "olia"' in scenario.to_toml()


@given(percent=st.lists(st.integers(1, 50), min_size=1, max_size=6), hosts=st.integers(1, 600), seed=st.integers(0, 9))
def test_no_host_has_two_kinds(percent: list[int], hosts: int, seed: int) -> None:
    shares = [Fraction(each, sum(percent)) for each in percent]
    assert sum(parts(shares, hosts)) == hosts
    counts = parts([*shares[:-1], None], hosts)
    assert counts == parts(shares, hosts)
    chosen = senders(counts, hosts, seed)
    assert [len(each) for each in chosen] == counts
    assert set().union(*chosen) == set(range(hosts))


def test_more_hosts_at_an_edge_switch() -> None:
    tree = FatTree(4, 8)
    assert tree.hosts == 64
    # Host 17 is the second at the third edge switch: pod 1, edge 0; host 63 the last of all.
    assert tree.route(17, 63, 1).up == ("host-17", "edge-1-0.agg-1-0", "agg-1-0.core-1")
    assert tree.route(17, 63, 1).down == ("agg-3-0.core-1", "edge-3-1.agg-3-0", "host-63")
    assert tree.route_count(0, 7) == 1
    assert tree.route_count(0, 8) == 2
    assert tree.route_count(0, 16) == 4
