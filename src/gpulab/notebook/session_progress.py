"""A progress bar for functions that a notebook calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar if this runs in IPython; yield a function (steps done, all steps, next step)."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        yield lambda *_: None
        return
    from gpulab.notebook.progress import Progress
    from gpulab.notebook.screen import screen_of

    with Progress(screen_of(shell), title) as progress:
        yield progress
