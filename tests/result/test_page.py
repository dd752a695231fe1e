"""Pages from templates: what a scenario says cannot become markup, and a value that a template lacks is an error."""

import mptcplab
import pytest
from jinja2 import UndefinedError
from mptcplab.render import page

HOSTILE = "</title></script><script>alert(1)</script>&"


def test_a_title_cannot_become_markup() -> None:
    scenario = mptcplab.Scenario.load("one-link").with_(title=HOSTILE, duration="1 s", **{"measure.warmup": "0 s"})
    result = mptcplab.run(scenario)
    shown = result.report()
    for text in (shown, result._repr_html_()):
        assert "<script>alert" not in text
    assert "&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in result._repr_html_()


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        page.render("notebook.html", tables=[], engine="sim", runs="seed 1", most_rows=1)
