"""How far long work is: a bar with an estimate on a terminal, plain lines elsewhere, nothing for short work."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_QUIET_S: Final = 0.5
"""Work that takes less says nothing."""
_LINE_EVERY_S: Final = 10.0


class Progress:
    """Takes the part that is done, 0 to 1, from any thread that holds the GIL, one at a time."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self._what = what
        self._stream = stream
        self._began_s = time.monotonic()
        self._next_line_s = self._began_s + _LINE_EVERY_S
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, part: float) -> None:
        """Show that `part` of the work is done."""
        now_s = time.monotonic()
        if not self._stream.isatty():
            if now_s >= self._next_line_s:
                self._next_line_s = now_s + _LINE_EVERY_S
                self._stream.write(self._line(part, now_s - self._began_s) + "\n")
                self._stream.flush()
            return
        if self._bar is None and now_s - self._began_s >= _QUIET_S and part < 1.0:
            self._bar = _bar(self._stream)
            self._task = self._bar.add_task(self._what, total=1.0)
            self._bar.start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=part)

    def _line(self, part: float, elapsed_s: float) -> str:
        left = f", about {elapsed_s * (1 - part) / part:.0f} s left" if part > 0 else ""
        return f"{self._what}: {part:.0%} after {elapsed_s:.0f} s{left}"


def _bar(stream: TextIO) -> "RichProgress":
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("·"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left"),
        console=Console(file=stream, emoji=False),
        transient=True,
    )
