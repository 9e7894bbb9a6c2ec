"""Problems: their declaration, the labs' own ones, and published and measured figures.

A teacher declares an exercise with `Problem`, in a file `problem.py` next to a notebook or in a package with
an entry point of the group `gpulab.problems`.

Examples
--------
>>> import gpulab
>>> "transpose" in gpulab.problems.problem_names()
False
"""

from __future__ import annotations

from gpulab.problems.base import INTERFACE, Problem
from gpulab.problems.case import (
    RANDOM_ERRORS,
    UNIT_ROUNDOFF,
    Argument,
    Block,
    Case,
    Mistake,
    PartialReference,
    Read,
    Shape,
    gamma,
    random_values,
    sum_error,
)
from gpulab.problems.declaration import Input, Output, Scalar, Size, Step
from gpulab.problems.registry import load_problems, problem, problem_names
from gpulab.problems.requirement import METRICS, Requirement

__all__ = [
    "INTERFACE",
    "METRICS",
    "RANDOM_ERRORS",
    "UNIT_ROUNDOFF",
    "Argument",
    "Block",
    "Case",
    "Input",
    "Mistake",
    "Output",
    "PartialReference",
    "Problem",
    "Read",
    "Requirement",
    "Scalar",
    "Shape",
    "Size",
    "Step",
    "gamma",
    "load_problems",
    "problem",
    "problem_names",
    "random_values",
    "sum_error",
]
