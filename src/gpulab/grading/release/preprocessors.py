"""nbgrader preprocessors for kernel cells and for submissions that nbgrader would give up on.

`grading/nbgrader_config.py` puts them in place of the stock ones and keeps the order of the others.
"""

from __future__ import annotations

import copy
from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import ClearSolutions, DeduplicateIds, Execute, OverwriteCells
from nbgrader.preprocessors import NbGraderPreprocessor as Preprocessor

from gpulab.cell import is_kernel_cell
from gpulab.grading.release.stub import answers_stub, asks_for_answers, kernel_stub

__all__ = [
    "ClearKernelSolutions",
    "DropDuplicates",
    "DropStandardError",
    "ExecuteWithRestarts",
    "RestoreCells",
    "first_line",
]

Resources = dict[str, Any]


def first_line(source: str) -> str:
    """Return the first line that is not empty, where IPython expects a cell magic; "" if there is none."""
    return next((line for line in source.splitlines() if line.strip()), "")


class ClearKernelSolutions(ClearSolutions):
    """nbgrader's ClearSolutions with C stubs in kernel cells.

    The stock preprocessor selects the stub by the language of the notebook, so it would put Python's stub
    into C, and it would remove the `%%cuda` line of a solution cell without markers.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        if cell.cell_type != "code" or not is_kernel_cell(cell.source):
            before, marker, _ = cell.source.partition(self.begin_solution_delimeter)
            stubs = {"python": answers_stub()} if marker and asks_for_answers(before) else {}
            return self._with_stubs(stubs, cell, resources, cell_index), resources

        header = first_line(cell.source)
        names = header.split()[1:2]
        stub = kernel_stub(names[0] if names and not names[0].startswith("-") else "this kernel")
        has_markers = self.begin_solution_delimeter in cell.source
        cell = self._with_stubs({"cuda": stub}, cell, {**resources, "language": "cuda"}, cell_index)
        if utils.is_solution(cell) and not has_markers:
            cell.source = f"{header}\n{stub}"
        return cell, resources

    def _with_stubs(
        self, stubs: dict[str, str], cell: NotebookNode, resources: Resources, cell_index: int
    ) -> NotebookNode:
        """Return the cell after the stock preprocessor, run with additional stubs by language."""
        stock_stubs: dict[str, str] = self.code_stub  # type: ignore[has-type]
        self.code_stub = {**stock_stubs, **stubs}
        try:
            cell, _ = super().preprocess_cell(cell, resources, cell_index)
        finally:
            self.code_stub = stock_stubs
        return cell


class DropDuplicates(DeduplicateIds):
    """nbgrader's DeduplicateIds, which makes a copied cell an ordinary cell.

    The stock preprocessor leaves an empty `nbgrader` entry in the metadata. The next preprocessor takes it
    for an outdated schema and stops the grading of the whole class.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


class RestoreCells(OverwriteCells):
    """nbgrader's OverwriteCells, which restores deleted cells.

    The stock preprocessor stops if the cell before a deleted one was deleted too.
    """

    def add_missing_grade_cells(
        self, nb: NotebookNode, resources: Resources
    ) -> tuple[NotebookNode, Resources]:
        """Insert each missing test cell or locked cell after the nearest preceding cell that still exists."""
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        order = [cell.name for cell in source.source_cells]
        solutions = {cell.name for cell in source.solution_cells}
        points = {cell.name: cell.max_score for cell in source.grade_cells}
        for number, cell in enumerate(source.source_cells):
            index_of = {grade_id(other): index for index, other in enumerate(nb.cells) if grade_id(other)}
            if cell.name in index_of or not (cell.name in points or cell.locked):
                continue
            self.log.warning("Cell '%s' was missing and is restored", cell.name)
            restored = self.missing_cell_transform(
                cell, points.get(cell.name, 0), is_solution=cell.name in solutions
            )
            if cell.name not in points:  # a locked cell without points, such as the one that loads gpulab
                restored.metadata.nbgrader["grade"] = False
                del restored.metadata.nbgrader["points"]
            restored["id"] = f"restored-{number}"
            preceding = [index_of[name] for name in order[:number] if name in index_of]
            nb.cells.insert(max(preceding, default=-1) + 1, restored)
        return nb, resources


class ExecuteWithRestarts(Execute):
    """nbgrader's Execute, which continues in a new Jupyter kernel after a cell that ended the old one.

    The stock preprocessor gives up on a submission whose process ended or did not react to an interrupt (as
    with a GPU kernel without end), and after a lost CUDA context every later cell fails. Here only the cell
    that caused it fails: the cells after it run in a new process, in which the successful cells before it
    ran again.
    """

    max_restarts = 3

    def preprocess(
        self, nb: NotebookNode, resources: Resources | None = None, km: Any = None
    ) -> tuple[NotebookNode, Resources]:
        self.reset()
        return super().preprocess(nb, resources, km)  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Set the state for a notebook of which no cell has run."""
        self.not_run = ""  # why no further cell can run; empty as long as cells run
        self.restarts = 0
        self.successful: list[int] = []  # indices of the cells to repeat in a new process

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, index: int
    ) -> tuple[NotebookNode, Resources]:
        if self.not_run:
            return self.failed(cell, self.not_run), resources
        try:
            cell, resources = super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            cell = self.failed(cell, "the Python process of this notebook ended in this cell.")
        except CellTimeoutError:
            cell = self.failed(cell, f"still running after {self.timeout} s, and not interruptible.")
        else:
            if not has_lost_context(cell):
                if cell.cell_type == "code" and not utils.is_grade(cell) and not utils.has_failed(cell):
                    self.successful.append(index)
                return cell, resources
        self.log.error("Cell %d ended its process; the following cells run in a new one", index)
        self.restart(resources)
        return cell, resources

    def restart(self, resources: Resources) -> None:
        """Start a new process and run the successful cells again; their outputs stay as they were."""
        self.restarts += 1
        if self.restarts > self.max_restarts:
            self.not_run = f"not run: earlier cells ended their process {self.restarts} times."
            return
        try:
            self._cleanup_kernel()
            self.km = self.create_kernel_manager()
            self.start_new_kernel()
            self.start_new_kernel_client()
            for index in self.successful:
                cell = self.nb.cells[index]
                super().preprocess_cell(copy.deepcopy(cell), resources, index)
                self.nb.cells[index] = cell
        except (DeadKernelError, CellTimeoutError, RuntimeError):
            self.not_run = "not run: an earlier cell ended its process, and it could not be restarted."

    def failed(self, cell: NotebookNode, reason: str) -> NotebookNode:
        """Return the cell with an error output that has this reason."""
        if cell.cell_type == "code" and cell.source.strip():
            error = new_output("error", ename="NotRun", evalue=reason, traceback=[f"NotRun: {reason}"])
            cell.outputs = [*cell.get("outputs", []), error]
            cell.execution_count = None
        return cell


# Part of each message of gpulab.devices.cuda_errors about a lost CUDA context.
LOST_CONTEXT = "restart the Python kernel of the notebook"


def has_lost_context(cell: NotebookNode) -> bool:
    """Return whether a cell failed with a lost CUDA context, after which its process cannot use the GPU."""
    errors = (output for output in cell.get("outputs", []) if output.output_type == "error")
    return any(LOST_CONTEXT in error.evalue for error in errors)


class DropStandardError(Preprocessor):
    """Preprocessor that removes the stderr output of test cells before they are scored.

    nbgrader gives 0 points to a cell with output on stderr, so that the warning of a library would cost the
    points of the cell. A failed check raises an exception instead.
    """

    def preprocess_cell(
        self,
        cell: NotebookNode,
        resources: Resources,
        cell_index: int,  # noqa: ARG002
    ) -> tuple[NotebookNode, Resources]:
        if cell.cell_type == "code" and utils.is_grade(cell):
            cell.outputs = [
                output
                for output in cell.outputs
                if not (output.output_type == "stream" and output.name == "stderr")
            ]
        return cell, resources


def grade_id(cell: NotebookNode) -> str:
    """Return nbgrader's name of a cell, or "" for an ordinary cell."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
