"""The table of hand-worked cases, `hand_checked.toml`."""

import importlib
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TABLE = Path(__file__).with_name("hand_checked.toml")
CASES: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["case"]


def test_the_table_is_long_enough_and_each_case_says_how_it_was_worked_out() -> None:
    assert len(CASES) >= 50
    assert all(case["how"] for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case['call']}" for i, case in enumerate(CASES, 1)])
def test_case(case: dict[str, Any]) -> None:
    module, function = case["call"].split(".")
    package = "mptcplab" if module == "metrics" else "mptcplab.models"
    found = getattr(importlib.import_module(f"{package}.{module}"), function)(*case["args"], **case.get("named", {}))
    if "field" in case:
        found = getattr(found, case["field"])
    expected = np.asarray(case["expect"])
    tolerance = 0.5 * 10.0 ** (1 - case["digits"]) if "digits" in case else 1e-9
    # A printed value of d digits is right to half a unit of the last, at most 0.5·10^(1−d) of itself.
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-12, err_msg=case["how"])
