"""Random sizes and inputs of a graded check, which no submission can foresee.

In a notebook they come from the operating system. The grader derives them from a secret of the instructor and
the text of the kernel: grading the same text again draws the same inputs.
"""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["random_generator", "use_secret"]

_secret: bytes | None = None


def use_secret(secret: bytes | None) -> None:
    """Derive all later draws of this process from a secret; None draws from the operating system."""
    global _secret  # noqa: PLW0603  (one judge process grades with one secret)
    _secret = secret


def random_generator(name: str) -> np.random.Generator:
    """Return the generator of the inputs that a kernel cell is checked with.

    Parameters
    ----------
    name : str
        The kernel as its header names it, such as ``"stencil.opt_1"`` or ``"axpy"``.

    Returns
    -------
    numpy.random.Generator
        Seeded by the operating system; in the grader, by the instructor's secret and the kernel's text.

    Examples
    --------
    >>> from gpulab.grading.checks import random_generator
    >>> sizes = random_generator("axpy").integers(2000, 3000, size=3)
    >>> len(sizes)
    3
    """
    if _secret is None:
        return np.random.default_rng()

    from gpulab import session

    cell = session.cell(name)
    text = f"{cell.header}\n{cell.source}" if cell is not None else ""
    digest = hashlib.sha256(b"\0".join([_secret, name.encode(), text.encode()])).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
