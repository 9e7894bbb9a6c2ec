"""A finding: one error of a kernel, in the terms of NVIDIA's Compute Sanitizer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["TOO_LONG", "Finding", "Findings", "Index3", "index_text", "unravel"]

Index3 = tuple[int, int, int]

# Kinds of memcheck that are about the address of an access, found by the simulator or reported by CUDA.
_IN_MEMORY = frozenset(
    {
        *("out_of_bounds_read", "out_of_bounds_write", "out_of_bounds_atomic", "misaligned"),
        *("outside_surface", "misaligned_surface"),
        *("illegal_address", "misaligned_address", "invalid_address_space"),
    }
)

# Kinds that are not plain words already, as the heading of a finding.
_TITLES = {
    "out_of_bounds_read": "read outside an array",
    "out_of_bounds_write": "write outside an array",
    "out_of_bounds_atomic": "atomic operation outside an array",
    "misaligned": "misaligned address",
    "illegal_address": "access outside all arrays",
    "outside_surface": "access outside a surface",
    "misaligned_surface": "misaligned access to a surface",
    "invalid_texture": "invalid texture or surface object",
    "wrong_texture": "texture or surface of another kind",
    "invalid_free": "free of an invalid address",
    "uninitialized_read": "read of an uninitialized element",
    "read_after_write": "race between a write and a read",
    "write_after_read": "race between a read and a write",
    "write_after_write": "race between two writes",
    "exited_threads": "barrier after some threads have left",
    "divergent_barrier": "barrier that some threads do not reach",
    "barrier_deadlock": "barrier that waits forever",
    "barrier_count": "barrier with an invalid number of threads",
    "missing_lanes": "mask of lanes that do not execute the instruction",
    "partial_warp": "matrix instruction without the whole warp",
    "never_ends": "loop that does not end",
    "too_long": "launch that executes too many instructions",
    "assert": "failed assertion",
    "trap": "trap instruction",
    "no_fallback_code": "code that is too large for the simulator",
}


TOO_LONG = ("never_ends", "too_long")  # kinds of launches that were stopped at their budget


def index_text(index: Index3) -> str:
    """Return an index as text: `(3,1)` for (3, 1, 0); z is included only if it is not 0."""
    x, y, z = index
    return f"({x},{y},{z})" if z else f"({x},{y})"


def unravel(number: int, dims: Index3) -> Index3:
    """Return the index of a thread in its block, or of a block in its grid, from its linear number."""
    return number % dims[0], number // dims[0] % dims[1], number // (dims[0] * dims[1])


@dataclass(frozen=True)
class Finding:
    """One error of a kernel, with the first place where it occurred.

    Attributes
    ----------
    tool : {"memcheck", "racecheck", "initcheck", "synccheck"}
        The tool of NVIDIA's Compute Sanitizer that reports such an error.
    kind : str
        A short, stable name within the tool, such as `out_of_bounds_read`.
    line : int
        The source line, counted from 1 in the compiled text; 0 if unknown.
    block, thread : (int, int, int) or None
        `blockIdx` and `threadIdx` as (x, y, z); None if unknown.
    message : str
        A sentence for the author of the kernel.
    count : int
        The number of occurrences in the launch, as far as known.
    severity : {"error", "warning"}
        A warning is for what GPUs accept and the CUDA programming model does not.
    space : str
        The state space of an invalid access, such as "shared"; empty for other findings.
    index : int or None
        The element of the array, counted in memory order from its start, that an access outside an array of
        the launch addresses; None for other findings.

    Examples
    --------
    >>> import gpulab
    >>> dev = gpulab.device("sim")
    >>> kernel = dev.compile("__global__ void k(float* x) { x[threadIdx.x + 1] = 0; }")
    >>> finding = gpulab.sanitize(kernel, 1, 32, (dev.zeros(32),))[0]
    >>> finding.tool, finding.line, finding.thread
    ('memcheck', 1, (31, 0, 0))
    """

    tool: str
    kind: str
    line: int
    block: Index3 | None
    thread: Index3 | None
    message: str
    count: int = 1
    severity: str = "error"
    space: str = ""
    index: int | None = None

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.message}"

    @property
    def title(self) -> str:
        """The kind in plain words."""
        return _TITLES.get(self.kind, self.kind.replace("_", " "))

    @property
    def in_memory(self) -> bool:
        """True for an access outside all arrays or at a misaligned address."""
        return self.kind in _IN_MEMORY

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for JSON.

        Returns
        -------
        dict
            The attributes by name.
        """
        return asdict(self)


class Findings(list[Finding]):
    """A list of findings that is displayed as one line for each.

    Attributes
    ----------
    source : str
        The text of the kernel, from which a notebook quotes the lines.
    """

    def __init__(self, findings: Iterable[Finding] = (), source: str = "") -> None:
        super().__init__(findings)
        self.source = source

    def __repr__(self) -> str:
        if not self:
            return "no errors found"
        lines = [f"{finding.tool} {finding.severity}, {finding}" for finding in self]
        return "\n".join([f"{len(self)} finding{'s' * (len(self) > 1)}", *lines])
