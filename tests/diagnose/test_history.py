"""Hosts that have had thousands of connections before: what those counted is not taken for the fault of the one that is
looked at."""

import re

import pytest
from mptcplab.diagnose.causes import CAUSES

from studies.diagnose.network import Situation
from studies.diagnose.situations import ALL
from tests.diagnose.test_robust import diagnosed, recorded

BEFORE = {
    "MPCapableSYNTX": 4000,
    "MPCapableSYNRX": 900,
    "MPCapableSYNACKRX": 3900,
    "MPCapableACKRX": 880,
    "MPCapableFallbackSYNACK": 70,
    "MPCapableFallbackACK": 9,
    "MPCapableSYNTXDrop": 30,
    "MPJoinSynTx": 3000,
    "MPJoinSynAckRx": 2900,
    "MPJoinSynRx": 500,
    "MPJoinAckRx": 480,
    "MPJoinNoTokenFound": 7,
    "MPJoinRejected": 3,
    "MPJoinSynTxConnectErr": 4,
    "MPJoinSynTxBindErr": 1,
    "MPJoinSynAckHMacFailure": 1,
    "MPRstTx": 40,
    "MPRstRx": 30,
    "DataCsumErr": 2,
    "MPFailTx": 2,
    "AddAddr": 20,
    "RmAddr": 50,
    "RmAddrTx": 40,
    "RmSubflow": 60,
    "SubflowStale": 12,
    "DuplicateData": 900,
    "Blackhole": 1,
}
COUNTERS = re.compile(r"=== [\d.]+ counters")
COUNTERS_ONLY = {"join-refused", "join-stripped", "reset", "nat-rebinding", "checksum", "mapping-lost"}
"""What nothing but counters tells of then: no cause is named, and what to ask is."""


def with_history(data: bytes) -> bytes:
    """The file with so much counted before: in the first output and in the last."""
    added = {f"MPTcpExt{name}": value for name, value in BEFORE.items()} | {"TcpEstabResets": 9}
    sections = re.split(r"(?m)^(?==== \d)", data.decode())
    return "".join(aged(each, added) if COUNTERS.match(each) else each for each in sections).encode()


def aged(section: str, added: dict[str, int]) -> str:
    lines = section.splitlines()
    counted = {words[0]: int(words[1]) for line in lines if len(words := line.split()) == 3 and words[0] in added}
    others = [line for line in lines if line.split()[:1] == [] or line.split()[0] not in added]
    return "\n".join(others + [f"{name} {counted.get(name, 0) + value} 0.0" for name, value in added.items()]) + "\n"


@pytest.mark.parametrize("situation", ALL, ids=lambda each: each.name)
def test_old_counters_are_nobodys_fault(situation: Situation) -> None:
    name, cause = situation.name, situation.cause
    found = diagnosed(map(with_history, recorded(name)))
    faults = [each for each in found.findings if CAUSES[each.cause].fault]
    assert {each.cause for each in faults if each.sure} <= {cause}
    if cause is None:
        assert faults == []
    elif cause not in COUNTERS_ONLY:
        assert cause in {each.cause for each in found.findings}
    else:
        named = {each.cause for each in found.findings}
        assert named & {cause, "one-path", "link"}
