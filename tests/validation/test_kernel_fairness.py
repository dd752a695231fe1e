"""The study of the kernel's controls, by its engines without a kernel: copies are networks of their own."""

import numpy as np
import pytest
from mptcplab.scenario import Scenario

from studies.kernel_fairness import shares, side_by_side
from studies.runs import scenario_text


def test_copies_are_as_the_original_and_apart() -> None:
    one = Scenario.from_toml(scenario_text("shared-bottleneck")).document
    three = Scenario.from_toml(side_by_side(scenario_text("shared-bottleneck"), 3)).document
    assert len(three.links) == 3 * len(one.links)
    assert three.path_links("first-2") == ("access1-2", "shared-2")
    assert three.links["shared-1"] == one.links["shared"]
    assert three.connections["single-0"].start == one.connections["single"].start


@pytest.mark.parametrize(
    ("control", "scheduler", "least", "most"),
    [("reno", None, 0.62, 0.72), ("olia", None, 0.44, 0.53), ("olia", "linux", 0.30, 0.47)],
)
def test_the_kernels_scheduler_takes_from_olia(control: str, scheduler: str | None, least: float, most: float) -> None:
    """Two thirds uncoupled, a half coupled; less where data is bound to subflows ahead of their windows."""
    found = shares(control, "sim", copies=8, seeds=2, seconds=120, scheduler=scheduler)
    assert found.shape == (16,)
    assert least < float(np.mean(found)) < most


def test_the_model_has_one_answer_for_all_copies() -> None:
    found = shares("lia", "model", copies=3, seeds=5, seconds=60)
    assert found == pytest.approx([0.49] * 3, abs=0.02)
