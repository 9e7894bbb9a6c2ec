"""A progress bar for functions that a notebook calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar in IPython, and nothing elsewhere.

    Yields a function that updates the bar. Its arguments are the number of completed steps, the number of all
    steps, and the name of the current step.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        yield lambda *_: None
        return
    from gpulab.notebook.progress import Progress
    from gpulab.notebook.screen import screen_of

    with Progress(screen_of(shell), title) as progress:
        yield progress
