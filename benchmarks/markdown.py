"""Paragraphs of generated Markdown pages."""

from __future__ import annotations

from textwrap import wrap

__all__ = ["paragraph"]


def paragraph(text: str) -> list[str]:
    """Return a paragraph as lines, with an empty line after it."""
    words = " ".join(text.split())
    return [*wrap(words, 110, break_long_words=False, break_on_hyphens=False), ""]
