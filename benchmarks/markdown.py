"""Paragraphs of generated Markdown pages."""

from __future__ import annotations

from textwrap import wrap

__all__ = ["paragraph", "wide_paragraph"]


def paragraph(text: str, width: int = 110) -> list[str]:
    """Return a paragraph as lines of at most `width` characters, with an empty line after it."""
    words = " ".join(text.split())
    return [*wrap(words, width, break_long_words=False, break_on_hyphens=False), ""]


def wide_paragraph(text: str) -> list[str]:
    """Return a paragraph as lines of at most 118 characters, as pages with wide tables have."""
    return paragraph(text, 118)
