"""What an adaptive design goes on from: points of a CSV file as `mptcplab design` writes it, and responses."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mptcplab.designs.factors import Factor, FactorError
from mptcplab.designs.plain import DesignError, Floats


def read(file: Path, factors: Sequence[Factor], dimensions: int, response: str) -> tuple[Floats, Floats]:
    """The points in the unit cube, (n, dimensions), and their responses, (n,).

    Columns are the keys of the factors, or x1, x2, … without any. Raises DesignError with the line, OSError.
    """
    with file.open(encoding="utf-8", newline="") as opened:
        lines = csv.DictReader(opened)
        columns = [each.key for each in factors] or [f"x{number}" for number in range(1, dimensions + 1)]
        missing = [name for name in (*columns, response) if name not in (lines.fieldnames or ())]
        if missing:
            there = ", ".join(lines.fieldnames or ()) or "none"
            raise DesignError(f"{file}: found the columns {there}; expected {missing[0]!r} too")
        points, responses = [], []
        for row in lines:
            try:
                if factors:
                    points.append([each.coordinate(_value(row[each.key])) for each in factors])
                else:
                    points.append([_number(row[name]) for name in columns])
                responses.append(_number(row[response]))
            except (FactorError, ValueError) as error:
                raise DesignError(f"{file}:{lines.line_num}: {error}") from None
    if not points:
        raise DesignError(f"{file}: no points; a design goes on from one at least")
    found = np.asarray(points, dtype=np.float64)
    if (found < 0).any() or (found > 1).any():
        raise DesignError(f"{file}: found coordinates outside 0 to 1; give each --factor that the points are of")
    return found, np.asarray(responses, dtype=np.float64)


def _number(text: str | None) -> float:
    value = float(text or "nan")
    if not math.isfinite(value):
        raise ValueError(f"found {text!r}; expected a finite number")
    return value


def _value(text: object) -> object:
    """A number without a unit as such."""
    try:
        return float(str(text))
    except ValueError:
        return text
