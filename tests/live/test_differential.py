"""Random programs between our stack and the kernel, in every pairing, over random networks."""

import random

import pytest
from mptcplab import machine

from studies import differential
from studies.differential.program import Program, Seen, Side, Step

MISSING = [finding for finding in (*machine.live(), machine.kernel_mptcp()) if not finding.good]
live = pytest.mark.skipif(
    bool(MISSING),
    reason="no live system here: " + "; ".join(f"{finding.what} {finding.found}" for finding in MISSING),
)

ONE = Side((Step(0, 3),), False, (Step(0, 10),))


def whole(program: Program) -> dict[str, Seen]:
    return {
        "client": Seen(program.content("server"), "end of stream"),
        "server": Seen(program.content("client"), "end of stream"),
    }


@live
@pytest.mark.parametrize("seed", [3, 8])
def test_every_pairing_sees_what_was_sent(seed: int) -> None:
    """Two networks, six programs in four pairings each; seed 8 has a box that splits on both paths."""
    cases = differential.play(seed)
    assert len(cases) == 24
    ours = [case for case in cases if case.pairing != "kernel-kernel"]
    assert [(str(case), case.problems) for case in ours if case.problems] == []


def test_a_program_is_what_its_seed_says() -> None:
    one, two = (differential.draw_program(random.Random(7), 1) for _ in range(2))
    assert one == two
    assert one.content("client") == two.content("client") != one.content("server")
    many = [differential.draw_program(random.Random(seed), seed) for seed in range(300)]
    assert {program.protocol for program in many} == {"mptcp", "tcp"}
    assert 20 < sum(program.aborts is not None for program in many) < 70
    assert any(side.sends_bytes == 0 for program in many for side in program.sides.values())
    # Somebody has to close first.
    assert not any(all(side.closes_last for side in program.sides.values()) for program in many)


def test_what_is_wrong_is_found() -> None:
    program = Program(1, "tcp", {"client": ONE, "server": ONE}, None)
    seen = whole(program)
    assert differential.judge(program, seen) == []
    sent = seen["server"].received
    altered = Seen(bytes([sent[0], sent[1] ^ 1, sent[2]]), "end of stream")
    assert "byte 1 of 3 differs" in differential.judge(program, {**seen, "server": altered})[0]
    twice = Seen(sent + sent, "end of stream")
    assert "byte 3 of 3 differs or was not sent" in differential.judge(program, {**seen, "server": twice})[0]
    short = Seen(sent[:2], "end of stream")
    assert "the stream ended after 2 of 3" in differential.judge(program, {**seen, "server": short})[0]
    stuck = Seen(sent[:2], "unfinished")
    assert "unfinished after 2 of 3" in differential.judge(program, {**seen, "server": stuck})[0]
    aborted = Program(1, "tcp", program.sides, ("client", 0))
    assert differential.judge(aborted, {**seen, "server": Seen(b"", "reset")}) == []
    assert "has not heard" in differential.judge(aborted, {**seen, "server": Seen(b"", "unfinished")})[0]
