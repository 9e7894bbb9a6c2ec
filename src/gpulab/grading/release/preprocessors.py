"""nbgrader's steps that gpulab replaces: C stubs in kernel cells, and submissions that must not be lost.

`grading/nbgrader_config.py` puts them in the place of the stock ones; the order of the others stays.
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

from gpulab.grading.release.stub import answers_stub, asks_for_answers, kernel_stub

__all__ = [
    "ClearKernelSolutions",
    "DropDuplicates",
    "DropStandardError",
    "ExecuteToTheEnd",
    "RestoreCells",
    "is_kernel_cell",
]

Resources = dict[str, Any]


def is_kernel_cell(cell: NotebookNode) -> bool:
    """Whether this is a `%%cuda` cell: CUDA C below its first line, whatever the notebook's language."""
    return cell.cell_type == "code" and header_of(cell.source).split()[:1] == ["%%cuda"]


def header_of(source: str) -> str:
    """The first line that is not empty, as IPython looks for a cell magic; "" when there is none."""
    return next((line for line in source.splitlines() if line.strip()), "")


class ClearKernelSolutions(ClearSolutions):
    """nbgrader's ClearSolutions that speaks C in kernel cells.

    The stock one picks the stub by the notebook's language, so Python's stub would land in C, and a
    solution cell without markers would lose its `%%cuda` line.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        if not is_kernel_cell(cell):
            before, marker, _ = cell.source.partition(self.begin_solution_delimeter)
            stubs = {"python": answers_stub()} if marker and asks_for_answers(before) else {}
            return self._with_stubs(stubs, cell, resources, cell_index), resources
        header = header_of(cell.source)
        named = header.split()[1:2]
        stub = kernel_stub(named[0] if named and not named[0].startswith("-") else "this kernel")
        has_markers = self.begin_solution_delimeter in cell.source
        cell = self._with_stubs({"cuda": stub}, cell, {**resources, "language": "cuda"}, cell_index)
        if utils.is_solution(cell) and not has_markers:
            cell.source = f"{header}\n{stub}"
        return cell, resources

    def _with_stubs(
        self, stubs: dict[str, str], cell: NotebookNode, resources: Resources, cell_index: int
    ) -> NotebookNode:
        """The cell after the stock step, with these stubs by language beside the stock ones."""
        stock_stubs: dict[str, str] = self.code_stub  # type: ignore[has-type]
        self.code_stub = {**stock_stubs, **stubs}
        try:
            cell, _ = super().preprocess_cell(cell, resources, cell_index)
        finally:
            self.code_stub = stock_stubs
        return cell


class DropDuplicates(DeduplicateIds):
    """A cell copied together with its nbgrader metadata becomes an ordinary cell.

    The stock step leaves an empty `nbgrader` entry, which the next step takes for an outdated
    schema and gives up on the whole class.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


class RestoreCells(OverwriteCells):
    """Puts deleted cells back; the stock step stops when the cell before a deleted one is gone too."""

    def add_missing_grade_cells(
        self, nb: NotebookNode, resources: Resources
    ) -> tuple[NotebookNode, Resources]:
        """Each missing test or locked cell goes behind the nearest cell of the source that is still there."""
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        order = [cell.name for cell in source.source_cells]
        solutions = {cell.name for cell in source.solution_cells}
        points = {cell.name: cell.max_score for cell in source.grade_cells}
        for number, cell in enumerate(source.source_cells):
            place = {grade_id(other): index for index, other in enumerate(nb.cells) if grade_id(other)}
            if cell.name in place or not (cell.name in points or cell.locked):
                continue
            self.log.warning("Cell '%s' was missing; it is put back", cell.name)
            restored = self.missing_cell_transform(
                cell, points.get(cell.name, 0), is_solution=cell.name in solutions
            )
            if cell.name not in points:  # locked and given, such as the cell that loads gpulab
                restored.metadata.nbgrader["grade"] = False
                del restored.metadata.nbgrader["points"]
            restored["id"] = f"restored-{number}"
            before = [place[name] for name in order[:number] if name in place]
            nb.cells.insert(max(before, default=-1) + 1, restored)
        return nb, resources


class ExecuteToTheEnd(Execute):
    """Runs a submission; a cell that takes its Python process along costs only itself.

    The stock step gives up on a submission whose process died or did not answer an interrupt (a GPU
    kernel that never ends), and after a CUDA context is lost every later cell fails. Here the cell
    that did it fails, and the cells after it run in a new process, in which those before were repeated.
    """

    most_restarts = 3

    def preprocess(
        self, nb: NotebookNode, resources: Resources | None = None, km: Any = None
    ) -> tuple[NotebookNode, Resources]:
        self.forget()
        return super().preprocess(nb, resources, km)  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Begin with a notebook of which nothing has run."""
        self.lost = ""
        self.restarts = 0
        self.to_repeat: list[int] = []

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, index: int
    ) -> tuple[NotebookNode, Resources]:
        if self.lost:
            return self.failed(cell, self.lost), resources
        try:
            cell, resources = super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            cell = self.failed(cell, "the Python process of this notebook ended in this cell.")
        except CellTimeoutError:
            cell = self.failed(cell, f"still running after {self.timeout} s, and could not be interrupted.")
        else:
            if not lost_its_gpu(cell):
                if cell.cell_type == "code" and not utils.is_grade(cell) and not utils.has_failed(cell):
                    self.to_repeat.append(index)
                return cell, resources
        self.log.error("Cell %d ended its process; the next ones run in a new one", index)
        self.start_again(resources)
        return cell, resources

    def start_again(self, resources: Resources) -> None:
        """A new process in the state of the old one: the cells that went well run once more, unseen."""
        self.restarts += 1
        if self.restarts > self.most_restarts:
            self.lost = f"not run: the cells before ended their process {self.restarts} times."
            return
        try:
            self._cleanup_kernel()
            self.km = self.create_kernel_manager()
            self.start_new_kernel()
            self.start_new_kernel_client()
            for index in self.to_repeat:
                shown = self.nb.cells[index]
                super().preprocess_cell(copy.deepcopy(shown), resources, index)
                self.nb.cells[index] = shown
        except (DeadKernelError, CellTimeoutError, RuntimeError):
            self.lost = "not run: a cell before ended its process, and so did a second try."

    def failed(self, cell: NotebookNode, why: str) -> NotebookNode:
        if cell.cell_type == "code" and cell.source.strip():
            error = new_output("error", ename="NotRun", evalue=why, traceback=[f"NotRun: {why}"])
            cell.outputs = [*cell.get("outputs", []), error]
            cell.execution_count = None
        return cell


# Part of what gpulab.devices.cuda_errors says when a CUDA context is lost with all its arrays.
LOST_CONTEXT = "restart the notebook's Python kernel"


def lost_its_gpu(cell: NotebookNode) -> bool:
    """Whether a cell failed in a way after which its process can no longer use the GPU."""
    errors = (output for output in cell.get("outputs", []) if output.output_type == "error")
    return any(LOST_CONTEXT in error.evalue for error in errors)


class DropStandardError(Preprocessor):
    """Removes what cells wrote to stderr before points are given.

    nbgrader gives 0 points for a single byte on stderr, so that a library's warning would cost a
    student the cell. A failure in gpulab raises; a warning is no failure.
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
    """nbgrader's name of a cell, "" for an ordinary one."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
