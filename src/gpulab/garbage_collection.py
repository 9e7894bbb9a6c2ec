"""Pauses of Python's garbage collector, which frees objects that refer to each other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector in a block of code, or in a function as its decorator.

    The compilers and the performance model make many objects, of which few are garbage in cycles. A full
    collection looks at every object of the process, those of the user's notebook too, and takes up to 0.2 s.
    The collector stays off afterwards if it was off before.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
