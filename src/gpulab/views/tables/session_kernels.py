"""Sentences below a table about the kernels of this session that are not finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab import session

if TYPE_CHECKING:
    from gpulab.problems.base import Problem

__all__ = ["unfinished_kernels"]


def unfinished_kernels(problem: Problem) -> list[str]:
    """Return a sentence about the kernels that a table leaves out, and one about those without a requirement.

    Every table of a session shows the kernels with right values, also those of the second sentence.
    """
    states = (
        (session.found_incorrect, "Left out, because not correct yet"),
        (session.found_unfinished, "Correct values, but a requirement of the step is not satisfied yet"),
    )
    found = [
        (text, [variant for variant in problem.variants if state(f"{problem.name}.{variant}")])
        for state, text in states
    ]
    return [f"{text}: {', '.join(variants)}." for text, variants in found if variants]
