"""The stars of a correct kernel: its counts next to the par of its step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.verification.par import FACTOR, MOST_STARS
from gpulab.views.html import View, card, note, paragraph, table

if TYPE_CHECKING:
    from gpulab.verification.par import StarScore
    from gpulab.verification.requirements import RequirementResult

__all__ = ["score_line", "score_view", "stars_text"]


def stars_text(stars: int) -> str:
    """Return stars as text, such as ★★☆."""
    return "★" * stars + "☆" * (MOST_STARS - stars)


def score_view(score: StarScore) -> View:
    """Return the stars, what they mean, and each count with its par."""
    rows = [
        (each.metric, f"{each.value:.4g}", f"{each.limit:.4g}", _comparison(each)) for each in score.results
    ]
    return card(
        _hue(score),
        _title(score),
        table(("counted by the simulator", "yours", "par", ""), rows, numeric=(1, 2)),
        None if score.stars == MOST_STARS else paragraph(_advice(score), dim=True),
    )


def score_line(score: StarScore) -> View:
    """Return the stars in one line, for the end of a long output."""
    return note(_hue(score), _title(score))


def _hue(score: StarScore) -> str:
    return "good" if score.stars == MOST_STARS else "hint"


def _title(score: StarScore) -> str:
    result = "correct, above par"
    if score.stars == MOST_STARS:
        result = "better than par!" if score.beats_par else "at par"
    return f"{stars_text(score.stars)} {score.name}: {result}"


def _advice(score: StarScore) -> str:
    missing = f"All counts at par give {MOST_STARS} stars"
    return f"{missing}." if score.stars > 1 else f"{missing}, at most {FACTOR:g} times par gives 2."


def _comparison(result: RequirementResult) -> str:
    """Return the place of a count relative to its par, with the lines that contribute most to it."""
    if not result.satisfied:
        lines = ", ".join(map(str, result.lines))
        return f"above par (line{'s' * (len(result.lines) > 1)} {lines})" if lines else "above par"
    return "below par" if result.value < result.limit else "at par"
