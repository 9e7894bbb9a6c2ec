"""`gpulab.score_table`: the stars of this session's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.errors import GpulabError
from gpulab.problems import problem, problem_names
from gpulab.session import correct_kernel, found_unfinished
from gpulab.views.html import View
from gpulab.views.score_view import stars_text
from gpulab.views.tables.builder import Column, table_view

if TYPE_CHECKING:
    from gpulab.problems.base import Problem
    from gpulab.verification.par import StarScore

__all__ = ["score_table"]


@dataclass(frozen=True)
class _Row:
    """A step with a par. score: None until its kernel is correct."""

    name: str
    changes: str
    score: StarScore | None


def score_table() -> View:
    """Show the stars of this session's kernels, for all steps that have a par.

    A par is a count of a good solution, such as the sectors that it loads. It is part of a problem's
    declaration: see `gpulab.problems.Step`. Three stars are for counts at par or below, two for counts of at
    most twice the par, one for a correct kernel. Counts are those of the simulator, and the same on every
    machine.

    Returns
    -------
    View
        A table with one row for each step, and the sum of the stars; a line of text if no step has a par.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.score_table()  # in a folder whose `problem.py` declares no par
    No step of the problems that are known here has a par.
    """
    from gpulab.verification.par import MOST_STARS
    from gpulab.views.html import paragraph

    rows = [
        _Row(f"{each.name}.{variant}", step.changes, _score(each, variant))
        for each in map(problem, problem_names())
        for variant, step in each.variants.items()
        if step.par
    ]
    if not rows:
        return paragraph("No step of the problems that are known here has a par.", dim=True)
    columns = (
        Column("kernel", "name"),
        Column("stars", lambda row: stars_text(row.score.stars if row.score else 0)),
        Column("counts / par", "score.ratio", "{:.2f}".format),
        Column("", lambda row: "better than par" if row.score and row.score.beats_par else row.changes),
    )
    earned = sum(row.score.stars for row in rows if row.score)
    return table_view(columns, rows, f"{earned} of {MOST_STARS * len(rows)} stars, counted by the simulator.")


def _score(problem: Problem, variant: str) -> StarScore | None:
    """Return the score of the session's kernel; None if there is none, or it is not correct."""
    from gpulab.profiling.counts.cell_counts import count_cell
    from gpulab.verification.par import score_of

    try:
        found = correct_kernel(problem, variant)
        unfinished = found_unfinished(f"{problem.name}.{variant}")
        return None if found is None or unfinished else score_of(count_cell(found[1], found[0]))
    except GpulabError:  # a kernel that the simulator cannot run, or a cell that does not compile
        return None
