"""Terminal output: colours and progress bars in a terminal, plain text in a file or a pipe."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Bar", "say", "say_heat"]

# Rich styles of heat steps 0 to 4. They differ in weight and background too, not in hue alone.
HEAT = ("", "yellow", "bold yellow", "black on yellow", "bold white on red")
DELAY_S = 1.0  # shorter work shows no bar


def say(text: str, style: str = "", *, error: bool = False) -> None:
    """Print text, in a Rich style if the stream is a terminal."""
    stream = sys.stderr if error else sys.stdout
    if not text:
        return
    if not style or not stream.isatty():
        print(text, file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream, highlight=False, soft_wrap=True).print(Text(text, style=style))


def say_heat(lines: Iterable[Iterable[tuple[str, int]]]) -> None:
    """Print lines of (text, heat step), in colours if stdout is a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            print("".join(piece for piece, _ in line).rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((piece, HEAT[heat]) for piece, heat in line)))


class Bar:
    """A progress bar on stderr: `with Bar("checking") as progress: progress(done, total, "65x47x9")`.

    It appears after a second, also during a long step, and only if stderr is a terminal.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._progress: Progress | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._progress.add_task(self.title, total=None)
            self._timer = threading.Timer(DELAY_S, self._progress.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, done: int, total: int, label: str = "") -> None:
        """Report that `done` of `total` steps are complete; `label` names the step that is running."""
        if self._progress is not None:
            text = f"{self.title}: {label}" if label else self.title
            self._progress.update(self._task, completed=done, total=total, description=text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None and self._progress is not None:
            self._timer.cancel()
            self._timer.join()
            self._progress.stop()
