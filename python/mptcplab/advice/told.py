"""The answer as text and as compact HTML: the command, a notebook and the laboratory say the same."""

from html import escape
from typing import TYPE_CHECKING, Final

from mptcplab.advice import formats
from mptcplab.advice.costs import HEADERS
from mptcplab.advice.rows import rows

if TYPE_CHECKING:
    from mptcplab.advice.answer import Advice, Recommendation

_REASONS: Final = 8
_MORE_REASONS: Final = 3
_PREFERRED: Final = {
    "best": "Within 2 % of the best, a setting that survives the loss of a path wins, then the simpler one (--prefer).",
    "survive": "Within 10 % of the best, a setting that survives the loss of a path wins (--prefer survive).",
    "simple": "Within 10 % of the best, the simpler setting wins (--prefer simple).",
    "fair": "Within 10 % of the best, a coupled control or a single path wins (--prefer fair).",
}


def headline(each: "Recommendation") -> str:
    """`On your kernel: fibre and lte with CUBIC; dsl is left out.`"""
    where = "On your kernel" if each.candidate.stock else "With a free choice of control and scheduler"
    left = (
        f"; {formats.listed(list(each.left_out))} {'is' if len(each.left_out) == 1 else 'are'} left out"
        if each.left_out and not each.candidate.is_tcp
        else ""
    )
    opens = f"; {each.candidate.paths[0]} opens connections" if len(each.candidate.paths) > 1 else ""
    return f"{where}: {each.label}{opens}{left}."


def closing(advice: "Advice") -> list[str]:
    """What holds for the whole answer."""
    said = []
    purpose = advice.question.purpose
    if purpose == "both" and len(advice.recommended) == 1:
        said.append("A free choice of control and scheduler would gain no more than 3 %.")
    elif not advice.recommended[-1].candidate.stock:
        said.append("No stock kernel has that scheduler: mptcplab's own stack and simulator do.")
    simulated = advice.effort.words(advice.question.traffic.duration_s)
    return [*said, _PREFERRED[advice.question.prefer], *([simulated] if simulated else [])]


def text(advice: "Advice", *, most: int = 30) -> str:
    """At most so many lines, without the commands."""
    lines = [f"{advice.question.traffic.title}: {advice.question.traffic.summary()}.", ""]
    for place, each in enumerate(advice.recommended):
        lines.append(headline(each))
        lines += [f"  - {reason}" for reason in each.reasons[: _MORE_REASONS if place else _REASONS]]
    lines += [*closing(advice), ""]
    headers, cells = rows(advice)
    lines += aligned([" ".join(header.split()) for header in headers], cells)
    if advice.costs:
        lines += ["", *aligned(list(HEADERS), [each.cells() for each in advice.costs])]
    return "\n".join(lines[:most])


def uploads(down: "Advice", up: "Advice") -> str:
    """What is common to the answers for both directions of the same paths."""
    here, there = down.best.candidate, up.best.candidate
    said = "Who sends chooses the control: the server that of downloads, this host that of uploads."
    if set(here.paths) == set(there.paths) and set(here.backup) == set(there.backup):
        return f"{said} Both directions use the same paths."
    return (
        f"{said} Linux has one set of paths for both, so the commands set that of downloads ({here.label}); for "
        "uploads alone, use --direction up."
    )


def aligned(headers: list[str], cells: list[list[str]]) -> list[str]:
    """A table of plain text, the first column to the left and the others to the right."""
    table = [headers, *cells]
    widths = [max(len(row[place]) for row in table) for place in range(len(headers))]

    def line(row: list[str]) -> str:
        first = row[0].ljust(widths[0])
        others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return "  ".join((first, *others)).rstrip()

    return [line(headers), "─" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, cells)]


def html(advice: "Advice") -> str:
    """The same for a notebook: the answer, its reasons and a table; the commands are folded."""
    parts = [f"<p>{escape(advice.question.traffic.title)}: {escape(advice.question.traffic.summary())}.</p>"]
    for place, each in enumerate(advice.recommended):
        reasons = "".join(f"<li>{escape(one)}</li>" for one in each.reasons[: _MORE_REASONS if place else _REASONS])
        parts.append(f"<p><strong>{escape(headline(each))}</strong></p><ul>{reasons}</ul>")
        if each.commands.get("ip"):
            lines = escape("\n".join(each.commands["ip"]))
            parts.append(f"<details><summary>Commands</summary><pre>{lines}</pre></details>")
    parts.append(f"<p>{escape(' '.join(closing(advice)))}</p>")
    headers, cells = rows(advice)
    parts.append(_table(headers, cells))
    if advice.costs:
        parts.append(_table(list(HEADERS), [each.cells() for each in advice.costs]))
    return "".join(parts)


def _table(headers: list[str], cells: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
