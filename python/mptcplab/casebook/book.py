"""What `case.toml` says.

title    = "A slow tunnel beside fast Wi-Fi"
topic    = "one bad line"                    # one of TOPICS
question = "…"                               # what was asked, in our words
source   = { url = "https://…", date = 2023-05-08 }
observed = "…"                               # what was seen there, in our words
answer   = "…"                               # what is right, and why
engines  = ["sim", "linux", "linux-virtual"] # on which the checks are meant to hold
seeds    = 3                                 # runs of each variant, of which the means are compared

[variant.tcp]                                # the scenario with some keys changed; "as asked" is the scenario itself
title   = "TCP on the Wi-Fi alone"
without = ["connection.m.scheduler"]         # keys that are removed first
set     = { "connection.m.protocol" = "tcp", "connection.m.paths" = ["wifi"] }

[[check]]
says     = "Multipath TCP is slower than TCP on the better of its paths"
what     = "m.goodput_bps"                   # connection.column, connection@path.column or link:NAME:WAY.column
variant  = "as asked"                        # this if nothing is said
at_most  = { variant = "tcp", times = 0.5 }  # or at_least, or a number in the column's unit; or near, within 5 %
"""

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mptcplab.errors import Error
from mptcplab.scenario import Scenario, ScenarioError
from mptcplab.shipped import cases_directory, is_name

TOPICS: Final = (
    "aggregation",
    "one bad line",
    "failover",
    "backups",
    "buffers",
    "middleboxes",
    "short transfers",
    "many connections",
    "schedulers",
    "fairness",
    "bufferbloat",
    "path management",
)
AS_ASKED: Final = "as asked"
"""The variant that is the scenario itself."""
NEAR: Final = 0.05
"""How far a value may be from one that it is to be near: 5 %."""


class CaseError(Error):
    """A case is not there, or its files are wrong: every problem that was found."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Table):
    """Where it was asked."""

    url: str = Field(pattern=r"^https://\S+$")
    date: datetime.date


class Variant(_Table):
    """The scenario with some keys changed."""

    title: str
    without: list[str] = []
    set: Mapping[str, Any]


class Bound(_Table):
    """A value of a variant, times a factor."""

    variant: str = AS_ASKED
    what: str | None = None
    """As in the check if nothing is said."""
    times: float = Field(default=1.0, gt=0)


class Check(_Table):
    """A statement about means over the seeds."""

    says: str
    what: str = Field(pattern=r"^[^.]+\.[a-z_0-9]+$")
    variant: str = AS_ASKED
    at_least: float | Bound | None = None
    at_most: float | Bound | None = None
    near: float | Bound | None = None

    @property
    def bounds(self) -> list[tuple[Literal["at least", "at most", "near"], float | Bound]]:
        """Those that are given."""
        given = {"at least": self.at_least, "at most": self.at_most, "near": self.near}
        return [(kind, bound) for kind, bound in given.items() if bound is not None]  # type: ignore[misc]


class _File(_Table):
    title: str
    topic: Literal[TOPICS]  # type: ignore[valid-type]
    question: str
    source: Source
    observed: str
    answer: str
    engines: list[str] = Field(default=["sim"], min_length=1)
    seeds: int = Field(default=3, ge=1, le=100)
    variant: Mapping[str, Variant] = {}
    check: list[Check] = Field(min_length=1)


@dataclass(frozen=True)
class Case:
    """A case of the book, its scenarios checked."""

    name: str
    file: _File
    scenarios: Mapping[str, Scenario]
    """By variant; the scenario itself is the first, `AS_ASKED`."""


def case_names() -> list[str]:
    """The names of the cases, sorted."""
    place = cases_directory()
    return [] if place is None else sorted(file.parent.name for file in place.glob("*/case.toml"))


def load(name: str, folder: Path | None = None) -> Case:
    """The case of this name, or in `folder`. Raises CaseError."""
    if folder is None:
        place = cases_directory()
        if place is None or not is_name(name) or name not in case_names():
            raise CaseError(f"there is no case {name!r}; mptcplab case list shows them")
        folder = place / name
    try:
        file = _File.model_validate(tomllib.loads((folder / "case.toml").read_text(encoding="utf-8")))
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise CaseError("\n".join(f"{folder / 'case.toml'}: {line}" for line in lines)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{folder / 'case.toml'}: {error}") from None
    scenarios: dict[str, Scenario] = {}
    try:
        scenarios[AS_ASKED] = Scenario.load(folder / "scenario.toml")
        for variant, changed in file.variant.items():
            scenarios[variant] = _without(folder, changed.without).with_(changed.set)
    except ScenarioError as error:
        raise CaseError(str(error)) from None
    problems = [f"{folder / 'case.toml'}: {problem}" for problem in _problems(file, scenarios)]
    if problems:
        raise CaseError("\n".join(problems))
    return Case(name, file, scenarios)


def _without(folder: Path, keys: list[str]) -> Scenario:
    """The scenario without some of its keys."""
    data = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    for key in keys:
        *tables, last = key.split(".")
        table = data
        for name in tables:
            table = table.get(name, {})
        if last not in table:
            raise CaseError(f"{folder / 'case.toml'}: without: found {key!r}; expected a key of the scenario")
        del table[last]
    return Scenario.from_dict(data)


def _problems(file: _File, scenarios: Mapping[str, Scenario]) -> list[str]:
    found = []
    for check in file.check:
        if len(check.bounds) != 1:
            found.append(f"check {check.says!r}: found {len(check.bounds)} of at_least, at_most and near; expected one")
        named = [check.variant, *(bound.variant for _, bound in check.bounds if isinstance(bound, Bound))]
        found += [
            f"check {check.says!r}: found the variant {each!r}; expected one of {', '.join(scenarios)}"
            for each in named
            if each not in scenarios
        ]
    return found
