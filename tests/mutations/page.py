"""The page docs/mistakes.md: exercise, planted mistake and message, one row for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.mutations.mutations import Mutation

__all__ = ["PAGE", "page", "row_start"]

PAGE = Path(__file__).parents[2] / "docs" / "mistakes.md"
LENGTH = 400  # characters of a message in the table
INTRODUCTION = """# Planted mistakes

Each row is a mistake that was planted into a right kernel or answer, and the message that a student gets for
it. `python -m tests.mutations` runs all of them on the simulator and writes this page; it fails if a mistake
passes, or if its message lacks the words that name the mistake. `tests/mutations/mutations.py` says how to
add one.

| exercise | planted mistake | message |
|---|---|---|
"""


def page(messages: Mapping[Mutation, str]) -> str:
    """Return the page for the messages of all mutations."""
    return INTRODUCTION + "".join(f"{row_start(m)} {_message(m, text)} |\n" for m, text in messages.items())


def row_start(mutation: Mutation) -> str:
    """Return a row without its message."""
    return f"| {mutation.lab}.{mutation.exercise} | {_escaped(mutation.name)} |"


def _message(mutation: Mutation, text: str) -> str:
    """Return the line of a message that names the mistake, shortened."""
    lines = [line.strip() for line in text.splitlines()]
    line = next((line for line in lines if mutation.fragments[0] in line), " ".join(lines))
    return _escaped(line if len(line) <= LENGTH else f"{line[:LENGTH].rsplit(' ', 1)[0]} …")


def _escaped(text: str) -> str:
    for character in "\\|<*_`":
        text = text.replace(character, f"\\{character}")
    return text
