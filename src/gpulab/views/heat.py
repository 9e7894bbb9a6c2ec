"""The heat scale: how much more than it must something takes, in five steps of colour; and the numbers."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["BOUNDS", "STEPS", "amount", "level", "swatches"]

# An excess (units taken over the fewest; lanes of a warp over the active ones) from which a step begins.
BOUNDS = (1.05, 1.5, 2.5, 5.0)
STEPS = len(BOUNDS) + 1


def level(excess: float) -> int:
    """The step of an excess, from 0 (nothing to gain) to 4."""
    return bisect_right(BOUNDS, excess)


def amount(number: float) -> str:
    """A mean with one decimal place; 0.04 is not nothing."""
    return "<0.1" if 0 < number < 0.05 else f"{number:.1f}"


def swatches() -> str:
    """The scale as HTML: a box for each step, with what it means in figures."""
    named = ["as few as can be", *(f"from {bound:g}×" for bound in BOUNDS)]
    return "".join(
        f'<span class="gp-swatch gp-heat-{step}">{words}</span>' for step, words in enumerate(named)
    )
