"""`mtu`, `mss` and `router` of links: what they stand for, what is wrong, and who refuses them."""

import mptcplab
import pytest
from mptcplab import routers
from mptcplab.engines import linux, model, testbed
from mptcplab.engines.linux_virtual import tc_refusals
from mptcplab.export import refusals
from mptcplab.scenario import Scenario, ScenarioError, describe

NETWORK = """
duration = "5 s"
link.a = {{ rate = "20 Mbit/s", delay = "10 ms"{keys} }}
connection.m.paths = ["a"]
"""


def scenario(keys: str = "") -> Scenario:
    return Scenario.from_toml(NETWORK.format(keys=keys))


def boxes(keys: str) -> list[dict[str, object]]:
    (link,) = describe.description(scenario(keys).document, 1, False)["links"]
    found: list[dict[str, object]] = link["middleboxes"]
    return found


def test_an_mtu_is_a_router_that_clamps_the_mss() -> None:
    clamped = {"kind": "mss-clamping", "mss_bytes": 1452}
    assert boxes(', mtu = "1492 B", middleboxes = ["nat"]') == [clamped, {"kind": "nat"}]
    assert boxes(', middleboxes = ["mss-clamping"]') == [clamped], "the default suits PPPoE"
    assert boxes("") == []
    assert 'mtu = "1492 B"' in scenario(', mtu = "1492 B"').to_toml()


def test_an_mss_is_the_same_router_by_what_it_writes() -> None:
    assert boxes(', mss = "1452 B"') == boxes(', mtu = "1492 B"')
    # A router may write less than the link takes.
    assert boxes(', mtu = "1492 B", mss = "1400 B"') == [{"kind": "mss-clamping", "mss_bytes": 1400}]
    given = scenario(', router = "pppoe", mss = "1400 B"')
    assert Scenario.from_toml(given.to_toml()) == given
    assert mptcplab.link(rate="1 Mbit/s", mss="1400 B")["mss"] == "1400 B"


@pytest.mark.parametrize("router", routers.ROUTERS, ids=lambda router: router.name)
def test_a_router_is_what_its_settings_say_one_by_one(router: routers.Router) -> None:
    named = scenario(f', router = "{router.name}"')
    singly = scenario("".join(f", {each.key} = {each.written}" for each in router.settings))
    assert named == singly
    assert "router" not in named.to_toml()
    assert Scenario.from_toml(named.to_toml()) == named
    assert all(each.source for each in router.settings)


def test_what_the_link_gives_itself_stays() -> None:
    assert scenario(', router = "pppoe", mtu = "1400 B"').document.links["a"].mtu == 1400
    assert scenario(', router = "pppoe", middleboxes = []').document.links["a"].middleboxes == ()


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (", mtu = 1492", "link.a.mtu: found 1492 (a bare number); expected a size with its unit"),
        (', mtu = "500 B"', 'link.a.mtu: found "500 B"; expected a size from 576 B to 65535 B'),
        (', mss = "80 B"', 'link.a.mss: found "80 B"; expected a size from 88 B to 65495 B'),
        (
            ', router = "pppoe", mss = "1460 B"',
            'link.a.mss: found "1460 B"; expected at most 1452 B, which mtu = "1492 B" leaves',
        ),
        (', router = "hotl"', 'link.a.router: found "hotl"; expected "home"'),
        (', router = "hotl"', 'did you mean "hotel"?'),
    ],
)
def test_what_is_wrong_is_said(keys: str, says: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        scenario(keys)
    assert says in str(wrong.value)


@pytest.mark.parametrize(("key", "size"), [("mtu", "1492 B"), ("mss", "1452 B")])
def test_who_cannot_says_so(key: str, size: str) -> None:
    found = scenario(f', {key} = "{size}"')
    for problems in (model.unsupported(found), testbed.unsupported(found)):
        assert any(problem.key == f"link.a.{key}" for problem in problems), problems
    (of_model,) = model.unsupported(found)
    assert "the model engine has packets of one size" in str(of_model)
    assert [*found.unsupported("sim"), *found.unsupported("stack")] == []
    others = (linux.unsupported(found), tc_refusals.found(found.document, ()), refusals.unsupported(found))
    assert not [each for problems in others for each in problems if key in str(each)]
