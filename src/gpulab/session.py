"""The kernel cells of this session and their kernels, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpulab.cell import KernelCell, PlainCell, require_choice, require_kernel_cell, unwritten_lines
from gpulab.errors import UsageError
from gpulab.problems import Problem
from gpulab.problems import problem as problem_named

if TYPE_CHECKING:
    from gpulab.cell import Cell
    from gpulab.devices.base import Kernel

__all__ = [
    "cell",
    "chosen_problem",
    "clear",
    "correct_kernel",
    "forget",
    "found_incorrect",
    "found_unfinished",
    "keep_cell",
    "kernel",
    "kernel_names",
    "mark_incorrect",
    "mark_unfinished",
    "reference_of",
    "set_reference",
]

_KERNELS: dict[str, Kernel] = {}
_CELLS: dict[str, Cell] = {}
_COMPILERS: dict[str, Callable[[], Kernel]] = {}  # for kernels that are compiled when they are first used

_REFERENCES: dict[str, KernelCell] = {}  # the lab's own solutions, by name; only the grader has them
_INCORRECT: set[str] = set()  # names of kernels whose last check found wrong values or a fault
_UNFINISHED: set[str] = set()  # names of kernels with right values that miss a requirement of their step


def keep_cell(
    executed: Cell, compiled: Kernel | None = None, *, compiler: Callable[[], Kernel] | None = None
) -> None:
    """Store an executed cell, and its kernel if it compiled.

    Without a kernel, an earlier kernel of the same name is removed. compiler: compiles the kernel when it is
    first used.
    """
    _CELLS.pop(executed.name, None)  # the cells are in the order of their last runs
    _CELLS[executed.name] = executed
    _COMPILERS.pop(executed.name, None)
    _forget_check(executed.name)
    if compiler is not None:
        _COMPILERS[executed.name] = compiler
    if compiled is None:
        _KERNELS.pop(executed.name, None)
    else:
        _KERNELS[executed.name] = compiled


def forget(name: str) -> None:
    """Remove the cell of this name and its kernel, if there are any."""
    for stored in (_CELLS, _KERNELS, _COMPILERS):
        stored.pop(name, None)
    _forget_check(name)


def _forget_check(name: str) -> None:
    for names in (_INCORRECT, _UNFINISHED):
        names.discard(name)


def clear() -> None:
    """Remove all cells and kernels."""
    _CELLS.clear()
    _KERNELS.clear()
    _COMPILERS.clear()
    _INCORRECT.clear()
    _UNFINISHED.clear()


def chosen_problem(name: str = "") -> Problem:
    """Return the problem of this name; for "", that of the kernel cell that ran last.

    Raises `UsageError` if there is no such problem, or no kernel of a problem has run.
    """
    if name:
        return problem_named(name)
    last = next((cell for cell in reversed(_CELLS.values()) if isinstance(cell, KernelCell)), None)
    if last is None:
        raise UsageError(
            "no kernel of a problem has run in this session: run a cell that begins with "
            "%%cuda PROBLEM.VARIANT, or name the problem."
        )
    return last.config.problem


def set_reference(name: str, cell: KernelCell | None) -> None:
    """Compare kernels with this solution of the lab from now on; None removes the solution.

    The judge of a submission calls it; a student's notebook has no solutions. name: as in the header.
    """
    if cell is None:
        _REFERENCES.pop(name, None)
    else:
        _REFERENCES[name] = cell


def reference_of(name: str) -> KernelCell | None:
    """Return the lab's solution of a kernel, with its own block and tile; None if there is none."""
    return _REFERENCES.get(name)


def mark_incorrect(name: str) -> None:
    """Record that a kernel is not correct; the next run of its cell removes the record."""
    _INCORRECT.add(name)


def found_incorrect(name: str) -> bool:
    """Return True if the last check of a kernel found wrong values, a fault or a race."""
    return name in _INCORRECT


def mark_unfinished(name: str) -> None:
    """Record that a correct kernel misses a requirement; the next run of its cell removes the record."""
    _UNFINISHED.add(name)


def found_unfinished(name: str) -> bool:
    """Return True if a kernel was correct in its last check, except for a requirement of its step."""
    return name in _UNFINISHED


def correct_kernel(problem: Problem, variant: str) -> tuple[Kernel, KernelCell] | None:
    """Return the session's kernel of a variant and its cell; None if there is none, or it is not correct.

    A kernel with right values that misses a requirement of its step is correct here.
    """
    name = f"{problem.name}.{variant}"
    executed = _CELLS.get(name)
    if executed is None or name not in kernel_names() or found_incorrect(name):
        return None
    return kernel(name), require_kernel_cell(executed)


def kernel(name: str) -> Kernel:
    """Return a kernel that a `%%cuda` cell of this session defined.

    Parameters
    ----------
    name : str
        The name in the header of the cell: `NAME`, or `PROBLEM.VARIANT`. If a cell of the first kind has
        several kernels, also the name of one of them.

    Returns
    -------
    Kernel
        The kernel of the cell's last run, compiled for this session's device. Call it with a grid, a block
        and arguments. `kernel.module` gives the `__device__` and `__constant__` variables of the cell.

    Raises
    ------
    UsageError
        If no cell of this name ran, its last run did not compile, or the name of a cell does not say which
        of its kernels is meant.

    Examples
    --------
    In a notebook, after the cell ``%%cuda scale`` ran:

    >>> dev = gpulab.device()                # doctest: +SKIP
    >>> x = dev.full(8, 1.5)                 # doctest: +SKIP
    >>> gpulab.kernel("scale")(1, 8, (x,))   # doctest: +SKIP
    """
    if name in _COMPILERS:
        _compile(name)
    if name in _KERNELS:
        if executed := _CELLS.get(name):
            require_choice(executed, _KERNELS[name].program.kernel_names)
        return _KERNELS[name]
    among_others = _kernel_among_others(name)
    if among_others is not None:
        return among_others
    if name in _CELLS and unwritten_lines(_CELLS[name].source):
        raise UsageError(f"the kernel `{name}` is not written yet.")
    if name in _CELLS:
        raise UsageError(f"the cell of kernel `{name}` ran but did not compile. Correct it and run it again.")

    compiled = ", ".join(sorted(_KERNELS)) or "none"
    of_problems = [each for each in sorted(_KERNELS) if each.endswith(f".{name}")]
    advice = f"Do you mean `{of_problems[0]}`?" if of_problems else "Run its %%cuda cell first."
    raise UsageError(f"no kernel `{name}` was compiled in this session (compiled: {compiled}). {advice}")


def _compile(name: str) -> None:
    """Compile the kernel of a cell that was stored without one."""
    _KERNELS[name] = _COMPILERS[name]()
    del _COMPILERS[name]


def _kernel_among_others(name: str) -> Kernel | None:
    """Return a kernel of a plain cell with several kernels, of the last cell that has one of this name."""
    for cell_name, executed in reversed(_CELLS.items()):
        if not isinstance(executed, PlainCell) or executed.source.count("__global__") < 2:
            continue
        if cell_name in _COMPILERS and name.partition("<")[0] in executed.source:
            _compile(cell_name)
        stored = _KERNELS.get(cell_name)
        if stored is not None and name in stored.program.kernel_names:
            return stored.module.get_function(name)
    return None


def cell(name: str) -> Cell | None:
    """Return a `%%cuda` cell of this session: its header and its text.

    Parameters
    ----------
    name : str
        The name in the header of the cell: `NAME`, or `PROBLEM.VARIANT`.

    Returns
    -------
    Cell or None
        The cell as it last ran, even if it did not compile; None if no cell of this name ran. Its `header`
        has the block and the tile. A cell of a problem also has a `config`, with the macros to compile its
        `source` with.

    Examples
    --------
    In a notebook, after the cell ``%%cuda matmul.K4 --block 64 --tile 1 4`` ran:

    >>> cell = gpulab.kernel_cell("matmul.K4")  # doctest: +SKIP
    >>> cell.config.block, cell.config.tile     # doctest: +SKIP
    ((64, 1, 1), (1, 4, 1))
    """
    return _CELLS.get(name)


def kernel_names() -> tuple[str, ...]:
    """Return the names of this session's kernels, in the order in which they were first compiled.

    Returns
    -------
    tuple of str
        The names that `gpulab.kernel` accepts.

    Examples
    --------
    In a notebook, after two cells ran:

    >>> gpulab.kernel_names()  # doctest: +SKIP
    ('scale', 'matmul.K4')
    """
    return tuple(_KERNELS)
