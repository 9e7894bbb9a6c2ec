"""The finished part of an output whose computation was stopped.

A KeyboardInterrupt carries the view of the finished part to the notebook, which shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpulab.views.html import View

__all__ = ["finished_view", "keep_finished"]

_ATTRIBUTE = "_gpulab_finished"


@contextmanager
def keep_finished(view: Callable[[], View]) -> Iterator[None]:
    """Attach `view()` to a KeyboardInterrupt in this block."""
    try:
        yield
    except KeyboardInterrupt as stop:
        setattr(stop, _ATTRIBUTE, view())
        raise


def finished_view(stop: BaseException) -> View | None:
    """Return the view that `keep_finished` attached, or None."""
    view: View | None = getattr(stop, _ATTRIBUTE, None)
    return view
