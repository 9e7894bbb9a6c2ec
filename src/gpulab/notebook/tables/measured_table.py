"""`gpulab.measured_table`: times that were measured for a lab, shown after a prediction."""

from __future__ import annotations

from gpulab.views.html import View, paragraph

__all__ = ["measured_table"]


def measured_table(name: str, *, after: str = "") -> View:
    """Show kernels that were measured for a lab, with registers, resident blocks, waves and modelled times.

    Parameters
    ----------
    name : str
        The table: "stencil.steps", "stencil.mystery", "stencil.mystery_solved" or "stencil.ablation".
    after : str, optional
        A prediction that must be committed first, such as "stencil.ablation".

    Returns
    -------
    View
        A table with one row for each kernel, times in milliseconds. A line of text as long as the prediction
        is not committed.

    Raises
    ------
    UsageError
        If there is no such table or prediction.

    See Also
    --------
    gpulab.waves_table : The same figures of this session's kernels.

    Examples
    --------
    >>> import gpulab
    >>> gpulab.measured_table("stencil.mystery")
    kernel  blocks  registers  resident  waves ...
    ------ ...
    A        1,024         31         8   0.97 ...
    B        1,024         40         6   1.29 ...
    ...
    """
    from gpulab.exercises import find_exercise
    from gpulab.exercises.lab_session import current_lab
    from gpulab.problems.measurements import measured_kernels
    from gpulab.views.tables.measurements_view import measurements_view

    table = measured_kernels(name)
    if after and find_exercise(after).name not in current_lab().committed:
        return paragraph("Commit your predictions first; then this cell shows the table.")
    return measurements_view(name.partition(".")[0], table, table.kernels)
