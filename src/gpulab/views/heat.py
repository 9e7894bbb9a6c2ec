"""The heat scale: counted divided by ideal, in five steps of colour."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["BOUNDS", "STEPS", "amount", "level", "swatches"]

# Lower bounds of steps 1 to 4, as the ratio of counted to ideal (units of traffic; lanes of a warp to active
# lanes).
BOUNDS = (1.05, 1.5, 2.5, 5.0)
STEPS = len(BOUNDS) + 1


def level(excess: float) -> int:
    """Return the step, 0 (ideal) to 4, of a ratio of counted to ideal."""
    return bisect_right(BOUNDS, excess)


def amount(number: float) -> str:
    """Format a mean with one decimal; a small mean is not shown as zero."""
    return "<0.1" if 0 < number < 0.05 else f"{number:.1f}"


def swatches() -> str:
    """Return the scale as HTML: a box for each step, with its lower bound."""
    labels = ["ideal", *(f"from {bound:g}×" for bound in BOUNDS)]
    return "".join(
        f'<span class="gp-swatch gp-heat-{step}">{label}</span>' for step, label in enumerate(labels)
    )
