"""Examples in docstrings as code: Markdown would take the prompt `>>>` for three quotations within one another."""

from typing import Any

import griffe

PROMPT = ">>> "


def fenced(text: str) -> str:
    """The text with each of its examples, from a prompt to the next empty line, as a block of code."""
    lines: list[str] = []
    within = False
    for line in text.splitlines():
        starts = line.lstrip().startswith(PROMPT)
        if starts and not within:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}```pycon")
            within = True
        elif within and not line.strip():
            lines.append("```")
            within = False
        lines.append(line)
    if within:
        lines.append("```")
    return "\n".join(lines)


class Doctests(griffe.Extension):
    """Puts the examples of every docstring into blocks of code."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:  # noqa: ANN401 - as griffe calls it
        """Called for a whole package, whose own docstring comes before its objects."""
        self.on_object(obj=pkg)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401
        """Called for each object when it has been loaded."""
        if obj.docstring is not None and PROMPT in obj.docstring.value and "```pycon" not in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
