"""The message for a cell: from the check of a problem's kernel, or from the test cell of the lab."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

import gpulab
from gpulab.cell import KernelCell, is_kernel_cell, parse_cell
from gpulab.devices.base import Device
from gpulab.errors import CompileError, GpulabError
from gpulab.problems import load_problems, registry
from gpulab.verification.check import check_cell
from tests.ipython_shell import new_shell
from tests.mutations.mutations import LABS, lab_cells

__all__ = ["message_of"]

SEED = 1  # of the inputs, so that messages are the same in every run
SETUP = ("setup", "student", "{}_task")  # cells before an exercise, if the notebook has them


def message_of(lab: str, exercise: str, text: str) -> str:
    """Return the message for a cell's text; an empty string if the cell passes without a warning."""
    _load_problems(lab)
    if is_kernel_cell(text):
        try:
            cell = parse_cell(text)
        except GpulabError as error:
            return str(error)
        if isinstance(cell, KernelCell):
            return _check(cell)
        text = re.sub(r"\A(\s*)// *%%cuda", r"\1%%cuda", text)
    return _run_in_notebook(lab, exercise, text)


def _load_problems(lab: str) -> None:
    """Load the problems that the lab declares next to its notebook, if any, and forget those of others."""
    registry._LABS.clear()
    for path in LABS.glob(f"*_{lab}/{registry.PROBLEM_FILE}"):
        load_problems(path)


@cache
def _device() -> Device:
    return gpulab.device("sim:h200")


def _check(cell: KernelCell) -> str:
    """Return the reasons and warnings of a cell of a problem."""
    try:
        result = check_cell(cell, _device(), seed=SEED)
    except CompileError as error:
        return "\n".join(map(str, error.diagnostics))
    except GpulabError as error:
        return str(error)
    return "\n".join((*result.reasons, *result.warnings))


def _run_in_notebook(lab: str, exercise: str, text: str) -> str:
    """Run a cell, then the exercise's test cell; return what they show if one fails or gives few points."""
    from IPython.utils.capture import capture_output

    from gpulab import session
    from gpulab.exercises import lab_session
    from gpulab.grading.checks.draws import use_secret

    cells = lab_cells(lab)
    session.clear()
    lab_session.STATE = lab_session.LabSession()  # the practice parameters, and no committed prediction
    use_secret(b"mutations")  # the same inputs in every run
    shell = new_shell()
    names = [name.format(exercise) for name in SETUP]
    setup = [cells[name] for name in names if name in cells] or ["%load_ext gpulab"]
    test = cells[f"{exercise.lower()}_test"]
    try:
        for source in (*setup, text, test):
            with capture_output() as captured:
                result = shell.run_cell(source, store_history=False)
            error = result.error_before_exec or result.error_in_exec
            part_of_the_points = source == test and result.result is not None
            if error is not None or part_of_the_points:
                # The message for a kernel is complete; the card in the output repeats it with source lines.
                repeated = error is not None and is_kernel_cell(text)
                shown = [] if repeated else [_text(output.data) for output in captured.outputs]
                return "\n".join(part for part in (str(error or ""), *shown) if part)
    finally:
        use_secret(None)
        session.clear()
    return ""


def _text(data: dict[str, Any]) -> str:
    """Return a display without markup."""
    if "text/html" in data:
        return html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", data["text/html"], flags=re.DOTALL))
    return str(data.get("text/plain", ""))
