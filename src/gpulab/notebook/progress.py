"""Progress bar of a cell for work that takes more than a second."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from gpulab.notebook.screen import Screen
from gpulab.views.html import View, escape

__all__ = ["Progress"]

_PERIOD_S = 0.1  # shortest time between two updates of the bar


class Progress:
    """Context manager that shows a progress bar.

        with Progress(screen, "checking") as step:
            step(done, total, "65x47x9")

    Work that ends within `patience_s` seconds shows no bar. A timer draws the bar if a single step takes
    longer than that.
    """

    def __init__(
        self,
        screen: Screen,
        title: str,
        *,
        patience_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self._screen = screen
        self._patience_s = patience_s
        self._clock = clock
        self._start = clock()
        self._last = float("-inf")
        self._state = (0, 1, "")
        self._lock = threading.Lock()
        self._over = False
        # The timer runs in the context of the cell, so that the bar appears below this cell.
        self._timer = threading.Timer(patience_s, contextvars.copy_context().run, (self._draw,))
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __call__(self, done: int, total: int, label: str = "") -> None:
        """Report that `done` of `total` steps are complete; `label` names the current one."""
        self._state = (done, max(total, 1), label)
        now = self._clock()
        if now - self._start >= self._patience_s and now - self._last >= _PERIOD_S:
            self._draw()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._last > float("-inf"):
                self._screen.bar(None)

    def _draw(self) -> None:
        with self._lock:
            if not self._over:
                self._last = self._clock()
                self._screen.bar(_bar(self.title, *self._state))


def _bar(title: str, done: int, total: int, label: str) -> View:
    full = round(20 * min(done, total) / total)
    text = f"{done} of {total}" + (f": {label}" if label else "")
    bar = f'<progress max="{total}" value="{done}"></progress>'
    return View(
        f'<div class="gp-line">{escape(title)} {bar} {escape(text)}</div>',
        f"{title} [{'#' * full}{'.' * (20 - full)}] {text}",
    )
