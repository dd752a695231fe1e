"""The rows of the answer's table: what is recommended, and TCP on the best path."""

from typing import TYPE_CHECKING

from mptcplab.advice import formats
from mptcplab.advice.reasons import reached

if TYPE_CHECKING:
    from mptcplab.advice.answer import Advice, Recommendation


def shown(advice: "Advice") -> list["Recommendation"]:
    """What a table has: the recommended, and TCP on the best path."""
    last = advice.best_single_path
    return [
        *advice.recommended,
        *([] if any(each.candidate == last.candidate for each in advice.recommended) else [last]),
    ]


def rows(advice: "Advice") -> tuple[list[str], list[list[str]]]:
    """Headers, and a row for each of `shown`."""
    paths = advice.question.paths
    several = len(advice.question.targets) > 1
    headers = ["setting", *(f"{name}\nmean" if several else "mean" for name in advice.question.targets)]
    headers += ["range of the runs"] * (not several)
    headers += [
        f"against TCP on\n{advice.best_single_path.candidate.paths[0]}",
        "below\nit",
        "bytes over\n" + ", ".join(paths),
    ]
    found = []
    for each in shown(advice):
        row = [each.label, *(formats.quantity(value.mean, value.unit) for value in each.values.values())]
        if not several:
            value = next(iter(each.values.values()))
            row.append(f"{formats.quantity(value.low, value.unit)} to {formats.quantity(value.high, value.unit)}")
        reference = each.candidate == advice.best_single_path.candidate
        row += ["—" if reference else reached(each), formats.share(each.below_best_path)]
        row.append(", ".join(formats.share(part) for part in each.shares.values()))
        found.append(row)
    return headers, found
