"""Events that take a time, and those of addresses and shapers: what the core is told, and what is refused."""

from typing import Any

import mptcplab
import pytest
from mptcplab.scenario import Scenario, ScenarioError

TEXT = """
duration = "10 s"
[link.a]
rate = "10 Mbit/s"
delay = "10 ms"
loss = "1 %"
{link}
[link.b]
rate = "10 Mbit/s"
delay = "10 ms"
[connection.c]
paths = ["a", "b"]
"""


def event(what: str, rest: str = "", at: str = "1 s") -> str:
    return f'[[event]]\nat = "{at}"\nlink = "a"\nset = {{ {what} }}\n{rest}\n'


def described(events: str, link: str = "") -> list[dict[str, Any]]:
    return list(Scenario.from_toml(TEXT.format(link=link) + events).description()["events"])


def test_a_ramp_is_a_straight_line_of_steps_of_a_tenth_of_a_second() -> None:
    """From 10 to 5 Mbit/s in 2 s: 20 steps of 0.25 Mbit/s, the last of which is the value itself; loss to 5 %."""
    ramp = 'rate = "5 Mbit/s", loss = "5 %"'
    found = described(event(ramp, 'over = "2 s"\ndirection = "down"'))
    assert [each["at_ns"] for each in found] == [1_000_000_000 + 100_000_000 * step for step in range(1, 21)]
    assert [each["set"]["rate_bps"] for each in found] == [10_000_000 - 250_000 * step for step in range(1, 21)]
    assert found[9]["set"]["loss"] == {"kind": "bernoulli", "probability": 0.03}
    assert all(each["down"] and not each["up"] and each["set"]["delay_ns"] is None for each in found)


def test_a_ramp_begins_where_the_event_before_it_left_off() -> None:
    """Also where that stands behind it in the file. A short one has ten steps; what is after the end is left out."""
    found = described(event('delay = "20 ms"', 'over = "500 ms"', at="9.8 s") + event('delay = "30 ms"', at="5 s"))
    ramp = [each["set"]["delay_ns"] / 1e6 for each in found if each["at_ns"] > 9e9 and each["down"]]
    assert ramp == [29, 28, 27], "10 ms in ten steps of 50 ms, of which three come before 10 s"


def test_what_few_events_have_is_left_out_of_the_others() -> None:
    (change,) = described(event("down = true"))
    assert change["set"].keys() == {"dead", "rate_bps", "delay_ns", "loss"}
    (gone,) = described(event("address = false"))
    assert (gone["set"]["dead"], gone["set"]["address"]) == (True, False)


REFUSED = {
    "at_once": (event("down = true", 'over = "1 s"'), "", "which changes at once"),
    "overlap": (
        event('rate = "1 Mbit/s"', 'over = "2 s"') + event('rate = "2 Mbit/s"', at="2 s"),
        "",
        "in which another event changes the rate",
    ),
    "gilbert": (
        event('loss = "2 %"', 'over = "1 s"') + event('loss = { kind = "periodic", every = "9 packets" }', at="5 s"),
        "",
        "of a loss that is not a percentage",
    ),
    "variation": (
        event('rate = "1 Mbit/s"', 'over = "1 s"'),
        'variation = { kind = "autocorrelated", deviation = 0.3 }',
        "of a rate that varies at random",
    ),
    "one_way": (event("address = false", 'direction = "up"'), "", "an address is that of both directions"),
    "twice": (event("address = false, down = true"), "", "without its address a path is down, too"),
    "no_shaper": (event('shaper = "1 Mbit/s"'), "", "a link without a shaper down"),
    "shaper_rate": (event('shaper = "fast"'), 'shaper = { rate = "1 Mbit/s" }', '"none" or'),
    "shaper_queue": ("", 'shaper = { rate = "none" }', "a length that needs a rate"),
    "metered_first": ("", 'metered = { use = "backup" }', "a first path that is not a backup"),
    "price": ("", "metered = { price = -1.0 }", "a price per GB"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named(case: str) -> None:
    events, link, expected = REFUSED[case]
    with pytest.raises(ScenarioError) as caught:
        described(events, link)
    assert expected in str(caught.value)


def test_all_keys_are_written_and_read_again() -> None:
    events = event('shaper = "none"') + event('rate = "5 Mbit/s"', 'over = "2 s"', at="2 s") + event("backup = true")
    link = 'shaper = { rate = "1 Mbit/s" }\nmetered = { price = 4.5, cap = "20 GB" }'
    scenario = Scenario.from_toml(TEXT.format(link=link) + events)
    assert Scenario.from_toml(scenario.to_toml()).to_toml() == scenario.to_toml()
    built = mptcplab.event("2 s", "a", rate="5 Mbit/s", over="2 s")
    assert built == {"at": "2 s", "link": "a", "set": {"rate": "5 Mbit/s"}, "over": "2 s"}
