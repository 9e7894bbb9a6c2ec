"""The output of a reference, and its error bound: their form, and whether they can be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpulab.problems.case import Argument
from gpulab.problems.declared_function import DeclaredFunction

__all__ = ["as_output", "as_outputs", "check_plausible", "reference_values"]

LARGEST_EXACT = 2**53  # integer; float64 has all that are smaller
MANY_ELEMENTS = 8  # fewest elements of an output for a statement about all of its values


def reference_values(arguments: Sequence[Argument]) -> dict[str, Any]:
    """Return the values of arguments by name, as a reference takes them.

    Arrays are copies in float64 or int64, scalars are Python's; an output without initial values is left out.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        value = argument.value
        if argument.kind != "pointer":
            values[argument.name] = value.item()
        elif argument.role == "input" or argument.initialized:
            wide = np.float64 if np.issubdtype(value.dtype, np.floating) else np.int64
            values[argument.name] = value.astype(wide)
    return values


def as_outputs(
    function: DeclaredFunction, made: Any, outputs: Sequence[Argument], *, broadcast: bool = False
) -> list[npt.NDArray[np.float64]]:
    """Return what a function returned for each output as float64, in the shape of the output.

    For several outputs, a function returns a tuple of arrays in their order, or a mapping by their names.
    broadcast: accept a number for all of them.
    """
    if len(outputs) == 1:
        parts = [made]
    elif isinstance(made, Mapping) and made.keys() == {output.name for output in outputs}:
        parts = [made[output.name] for output in outputs]
    elif isinstance(made, tuple | list) and len(made) == len(outputs):
        parts = list(made)
    elif broadcast and np.ndim(made) == 0:
        parts = [made] * len(outputs)
    else:
        names = ", ".join(output.name for output in outputs)
        raise function.error(
            f"{function.title} must return {len(outputs)} arrays, one for each of the outputs: {names}."
        )
    pairs = zip(parts, outputs, strict=True)
    return [as_output(function, part, output, broadcast=broadcast) for part, output in pairs]


def as_output(
    function: DeclaredFunction, made: Any, output: Argument, *, broadcast: bool = False
) -> npt.NDArray[np.float64]:
    """Return what a function returned as float64, in the shape of the output.

    broadcast: accept a number, or another shape that NumPy broadcasts. Raises `ProblemError` for anything
    else.
    """
    shape = output.value.shape
    if made is None:
        raise function.error(f"{function.title} returned None; it must return the output {output.name}.")
    if np.iscomplexobj(made):
        raise function.error(
            f"{function.title} returned complex numbers; return real and imaginary parts along the last axis."
        )
    try:
        array = np.asarray(made, np.float64)
    except (TypeError, ValueError):
        raise function.error(
            f"{function.title} returned {type(made).__name__}; it must return an array of numbers."
        ) from None
    if array.shape != shape and not (broadcast and _broadcasts(array.shape, shape)):
        raise function.error(
            f"{function.title} returned the shape {array.shape}; the output {output.name} has {shape}."
        )
    return np.broadcast_to(array, shape) if array.shape != shape else array


def check_plausible(
    reference: DeclaredFunction,
    bound: DeclaredFunction,
    expected: npt.NDArray[np.float64],
    tolerance: npt.NDArray[np.float64],
    dtype: np.dtype[Any],
) -> None:
    """Raise `ProblemError` for a reference or an error bound that no kernel or any kernel satisfies.

    expected, tolerance: at the elements that a kernel must write. dtype: of the output.
    """
    if not np.all(np.isfinite(expected)):
        raise reference.error("the reference returned values that are NaN or infinite.")
    if not np.all(tolerance >= 0):  # also False for NaN
        raise bound.error("the error bound is negative or NaN at some elements.")

    if np.issubdtype(dtype, np.integer):
        if np.any(np.abs(expected) > LARGEST_EXACT):
            raise reference.error(
                f"the reference returned {np.max(np.abs(expected)):.6g}; integers are compared as float64, "
                "which has all of them up to 2**53 only."
            )
        limits = np.iinfo(dtype)
        nearest = np.clip(np.rint(expected), limits.min, limits.max)
    else:
        with np.errstate(over="ignore"):
            nearest = expected.astype(dtype).astype(np.float64)
    missed = np.abs(nearest - expected) > tolerance
    if 2 * np.count_nonzero(missed) > missed.size:
        worst = int(np.argmax(np.abs(nearest - expected)))
        advice = "" if tolerance[worst] else " Declare `error_bound`, for example with `gamma`."
        raise bound.error(
            f"no kernel can satisfy the error bound: the value {expected[worst]:.6g} of the reference is "
            f"{abs(nearest[worst] - expected[worst]):.2g} away from the nearest {dtype.name}, and the "
            f"bound is {tolerance[worst]:.2g}.{advice}"
        )
    # A single sum of random numbers may be near zero by chance.
    if expected.size >= MANY_ELEMENTS and expected.any() and np.all(tolerance >= np.abs(expected)):
        raise bound.error(
            "the error bound accepts every kernel: it is larger than the values of the reference, so "
            "that an output of zeros would be correct."
        )


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False
