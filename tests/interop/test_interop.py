"""Our transport against the kernel's, for real: the short form of `make interop`."""

import os

import pytest

from .cases import CASES
from .child import LOSS
from .matrix import SETTINGS, Row, missing, run, table

# Where CI has said that it can, nothing is left out.
pytestmark = pytest.mark.skipif(
    missing() is not None and not os.environ.get("MPTCPLAB_REQUIRE_LIVE"),
    reason=f"interoperation with the kernel needs {missing()}",
)

SIZE_BYTES = 2_000_000


@pytest.mark.parametrize(("family", "checksum"), SETTINGS, ids=lambda value: str(value))
def test_every_case(family: int, checksum: bool) -> None:
    rows = list(run(family, checksum, SIZE_BYTES))
    failed = [row for row in rows if row["problem"]]
    assert not failed, (
        table(rows) + "\n" + "\n".join(f"{row['case']}, {row['role']}: {row['problem']}" for row in failed)
    )
    wanted = {(case.name, role) for case in CASES.values() for role in case.roles if checksum in case.checksum}
    wanted |= {(LOSS, "client"), (LOSS, "server")}
    assert {(row["case"], row["role"]) for row in rows} == wanted


def test_a_fault_is_seen() -> None:
    """Options that are taken off without being asked for make a case fail."""
    rows: list[Row] = list(run(4, False, SIZE_BYTES, only="fallback-is-a-fault"))
    assert [bool(row["problem"]) for row in rows] == [True, True]
    assert all("should stand still" in row["problem"] for row in rows)
