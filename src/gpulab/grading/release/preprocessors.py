"""nbgrader preprocessors for kernel cells, for failing cells and for deleted cells.

`grading/nbgrader_config.py` puts them in place of nbgrader's own preprocessors.
"""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader import utils
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor, OverwriteCells

from gpulab.cell import is_kernel_cell
from gpulab.grading.release.stub import answers_stub, asks_for_answers, kernel_stub

__all__ = [
    "ClearKernelSolutions",
    "ContinueAfterErrors",
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


class ContinueAfterErrors(NbGraderPreprocessor):
    """Let "Run All" of a half-answered notebook reach its end.

    JupyterLab and nbclient go on after an error of a cell with the tag `raises-exception`. The error is
    shown, and nbgrader counts it, as that of any cell. The first code cell loads gpulab, and still stops the
    run.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        for cell in [cell for cell in nb.cells if cell.cell_type == "code"][1:]:
            tags = cell.metadata.get("tags", [])
            cell.metadata["tags"] = [*tags, *({"raises-exception"} - set(tags))]
        return nb, resources


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
            restored = from_dict(  # nbgrader leaves the metadata a plain dict
                self.missing_cell_transform(
                    cell, points.get(cell.name, 0), is_solution=cell.name in solutions
                )
            )
            if cell.name not in points:  # a locked cell without points, such as the one that loads gpulab
                restored.metadata.nbgrader["grade"] = False
                del restored.metadata.nbgrader["points"]
            restored["id"] = f"restored-{number}"
            preceding = [index_of[name] for name in order[:number] if name in index_of]
            nb.cells.insert(max(preceding, default=-1) + 1, restored)
        return nb, resources


def grade_id(cell: NotebookNode) -> str:
    """Return nbgrader's name of a cell, or "" for an ordinary cell."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
