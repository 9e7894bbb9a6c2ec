"""The figures of labs/03_puzzles."""

from __future__ import annotations

from drawings.devicequery import index

FIGURES = (index,)
