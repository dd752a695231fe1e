"""What the two ends of one connection do, drawn from a seed, and what must come of it."""

import hashlib
import random
from dataclasses import dataclass
from typing import Final, Literal

SIDES: Final = ("client", "server")
MOST_BYTES: Final = 300_000
_LONGEST_PAUSE_S: Final = 0.6

Ending = Literal["end of stream", "reset", "unfinished"]


@dataclass(frozen=True)
class Step:
    """A piece that is written or read, after a pause."""

    pause_s: float
    size_bytes: int


@dataclass(frozen=True)
class Side:
    """What one end does."""

    writes: tuple[Step, ...]
    """Then it closes its direction."""
    closes_last: bool
    """Whether it closes only when the other has closed."""
    reads: tuple[Step, ...]
    """Then it reads on without pauses."""

    @property
    def sends_bytes(self) -> int:
        """How much it writes in all."""
        return sum(step.size_bytes for step in self.writes)


@dataclass(frozen=True)
class Program:
    """Both ends of a connection."""

    number: int
    protocol: Literal["mptcp", "tcp"]
    sides: dict[str, Side]
    aborts: tuple[str, int] | None
    """The end that aborts, and after how many of its writes."""

    def content(self, side: str) -> bytes:
        """What an end writes in all."""
        return random.Random(f"{self.number} {side}").randbytes(self.sides[side].sends_bytes)


@dataclass(frozen=True)
class Seen:
    """What one end saw."""

    received: bytes
    ending: Ending


def draw_program(rng: random.Random, number: int) -> Program:
    """A program: one in seven aborts, a sixth of the directions are empty, at most one side closes last."""
    waits = rng.choice([None, None, *SIDES])
    sides = {side: _side(rng, closes_last=side == waits) for side in SIDES}
    aborts = None
    if rng.random() < 1 / 7:
        side = rng.choice(SIDES)
        aborts = (side, rng.randint(0, len(sides[side].writes)))
    return Program(number, rng.choice(["mptcp", "mptcp", "mptcp", "tcp"]), sides, aborts)


def _side(rng: random.Random, *, closes_last: bool) -> Side:
    total = 0 if rng.random() < 1 / 6 else _size(rng, MOST_BYTES)
    writes: list[Step] = []
    while total > 0 and len(writes) < 40:
        size = min(total, _size(rng, 100_000)) if len(writes) < 39 else total
        writes.append(Step(_pause(rng, 0.1), size))
        total -= size
    reads = tuple(Step(_pause(rng, 0.05), _size(rng, 65_536)) for _ in range(rng.randint(1, 40)))
    return Side(tuple(writes), closes_last, reads)


def _size(rng: random.Random, most: int) -> int:
    """From 1 to `most`, each order of magnitude as likely as another."""
    drawn: float = most ** rng.random()
    return max(1, min(most, round(drawn)))


def _pause(rng: random.Random, probability: float) -> float:
    return rng.uniform(0.01, _LONGEST_PAUSE_S) if rng.random() < probability else 0.0


def judge(program: Program, seen: dict[str, Seen]) -> list[str]:
    """What each end should have seen otherwise; nothing when all is right."""
    problems = []
    for side in SIDES:
        (other,) = set(SIDES) - {side}
        sent, got = program.content(other), seen[side]
        place = _first_difference(sent, got.received)
        if place is not None:
            problems.append(
                f"{side}: byte {place} of {len(sent)} differs or was not sent ({len(got.received)} received)"
            )
        if program.aborts is None:
            if got.ending != "end of stream":
                problems.append(f"{side}: {got.ending} after {len(got.received)} of {len(sent)} bytes")
            elif len(got.received) != len(sent):
                problems.append(f"{side}: the stream ended after {len(got.received)} of {len(sent)} bytes")
        elif program.aborts[0] != side and got.ending == "unfinished" and _must_hear(program, side):
            problems.append(f"{side}: has not heard that the other end aborted")
    return problems


def _must_hear(program: Program, side: str) -> bool:
    """Whether an end learns of the other's abort although the reset was lost: TCP answers its data with another.

    Under Multipath TCP an end may wait for a minute for another subflow.
    """
    return program.protocol == "tcp" and program.sides[side].sends_bytes > 0


def _first_difference(sent: bytes, received: bytes) -> int | None:
    if sent.startswith(received):
        return None
    pairs = enumerate(zip(sent, received, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(sent), len(received)))


def digest(seen: Seen) -> str:
    """Short, for comparing."""
    return f"{seen.ending}, {len(seen.received)} bytes, {hashlib.sha256(seen.received).hexdigest()[:12]}"
