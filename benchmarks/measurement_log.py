"""The log of a measurement, one JSON object per line, and its progress on the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["appended", "progress_since"]


@contextmanager
def appended(log: Path) -> Iterator[Callable[..., None]]:
    """Yield a function that appends its keyword arguments to a log as one entry.

    Each entry is in the file before the next launch, which may end the process.
    """
    with log.open("a", encoding="utf-8") as file:

        def write(**entry: object) -> None:
            file.write(json.dumps(entry) + "\n")
            file.flush()

        yield write


def progress_since(start: float) -> Callable[[str], None]:
    """Return a function that prints a text after the seconds since `start`, of `time.monotonic`."""

    def progress(text: str) -> None:
        print(f"{time.monotonic() - start:5.0f} s  {text}", flush=True)

    return progress
