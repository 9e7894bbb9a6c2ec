"""What the tests of all labs share: a lab's notebook read, run and released, and what each must keep.

A test module says which lab it is about in `LAB = Lab("01_stencil", "stencil")`; the fixtures of
`conftest.py` give its notebook as the source, after a run, as released, and released and run unsolved.
`SourceNotebook`, `RunFromTopToBottom` and `ReleasedNotebook` are classes of tests to inherit from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

pytest.importorskip("nbgrader", reason="the labs are nbgrader notebooks")

from nbclient import NotebookClient
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
from nbgrader.preprocessors import CheckCellMetadata

__all__ = [
    "REPOSITORY",
    "Lab",
    "ReleasedNotebook",
    "RunFromTopToBottom",
    "SourceNotebook",
    "by_grade_id",
    "by_id",
    "errors",
    "headers",
    "kernel_cells",
    "marks",
    "points",
    "read",
    "released_notebook",
    "rooflines",
    "run",
    "shown",
    "still",
]

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300  # for one cell, on a slow machine
MOST_BYTES = 900_000  # of a notebook that is saved with all its outputs
MARKERS = re.compile(r"(?://|###|<!--|%%) ?(?:BEGIN|END) SOLUTION")


@dataclass(frozen=True)
class Lab:
    """A lab's folder under labs/ and the name of its notebook."""

    folder_name: str
    notebook_name: str

    @property
    def folder(self) -> Path:
        return REPOSITORY / "labs" / self.folder_name

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.notebook_name}.ipynb"


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def marks(cell: NotebookNode) -> dict[str, object]:
    """nbgrader's metadata of a cell; empty for a cell that it has nothing to do with."""
    return dict(cell.metadata.get("nbgrader", {}))


def points(notebook: NotebookNode) -> dict[str, float]:
    """The most points of each graded cell, by grade_id."""
    return {
        str(marks(cell)["grade_id"]): float(str(marks(cell)["points"]))
        for cell in notebook.cells
        if marks(cell).get("grade")
    }


def by_grade_id(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {str(marks(cell)["grade_id"]): cell for cell in notebook.cells if marks(cell)}


def by_id(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {cell.id: cell for cell in notebook.cells}


def kernel_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The `%%cuda` cells by what follows the magic: "stencil.opt_1", or the plain name of a kernel."""
    cells = [cell for cell in notebook.cells if cell.source.startswith("%%cuda")]
    return {cell.source.split()[1]: cell for cell in cells}


def headers(notebook: NotebookNode) -> list[str]:
    """The first lines of the kernel cells, in order."""
    return [cell.source.splitlines()[0] for cell in kernel_cells(notebook).values()]


def errors(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.get("outputs", []) if output.output_type == "error"]


def shown(cell: NotebookNode) -> str:
    """Everything that a cell shows, as one text."""
    return "".join(str(output.get("data", output.get("text", ""))) for output in cell.outputs)


def rooflines(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The cells that end in a roofline, by their ids."""
    return {
        cell.id: cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "gpulab.roofline(" in cell.source
    }


def still(cell: NotebookNode) -> str:
    """The still picture that a page without scripts shows of a figure, as HTML."""
    return "".join(
        output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})
    )


def run(notebook: NotebookNode, folder: Path, *, allow_errors: bool = False) -> NotebookNode:
    """The notebook after a run from top to bottom with `folder` as the kernel's working folder."""
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        allow_errors=allow_errors,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def released_notebook(lab: Lab, work: Path) -> Path:
    """The notebook that students get, made in `work`."""
    from gpulab.grading.pipeline.course import open_course
    from gpulab.grading.release.assignments import release
    from tests.grading.in_process import releasing_in_process

    course = open_course(REPOSITORY / "grading" / "nbgrader_config.py", work=work)
    (notebook,) = release(releasing_in_process(course), lab.folder_name).notebooks
    return notebook


class SourceNotebook:
    """What the notebook in the repository keeps, whichever lab it is."""

    def test_is_a_notebook_with_cell_ids_and_a_python_kernel(self, source: NotebookNode) -> None:
        nbformat.validate(source)
        assert (source.nbformat, source.nbformat_minor) == (4, 5)
        assert source.metadata.kernelspec.name == "python3"

    def test_has_no_outputs(self, source: NotebookNode) -> None:
        code = [cell for cell in source.cells if cell.cell_type == "code"]
        assert code
        assert all(not cell.outputs and cell.execution_count is None for cell in code)

    def test_is_a_valid_nbgrader_assignment(self, lab: Lab, source: NotebookNode) -> None:
        MetadataValidatorV3().validate_nb(source)
        CheckCellMetadata().preprocess(
            source.copy(), {"unique_key": f"{lab.folder_name}+{lab.notebook_name}"}
        )

    def test_names_every_graded_cell_once(self, source: NotebookNode) -> None:
        names = [marks(cell)["grade_id"] for cell in source.cells if marks(cell)]
        assert len(names) == len(set(names))

    def test_gives_the_points_of_the_rubric(self, lab: Lab, source: NotebookNode) -> None:
        from gpulab.grading.release.rubric import check_points, read_rubric

        rubric = read_rubric(REPOSITORY / "grading" / "rubric.toml", lab.folder_name)
        check_points(rubric, points(source), lab.notebook)
        assert rubric

    def test_says_all_its_points_and_its_minutes_in_its_first_cell(self, source: NotebookNode) -> None:
        head = source.cells[0].source
        assert head.startswith("# ")
        assert re.search(r"\d+ minutes", head)
        assert re.search(rf"\b{sum(points(source).values()):g} points", head)

    def test_says_the_points_of_each_graded_cell_in_the_text_above_it(self, source: NotebookNode) -> None:
        text = ""
        for cell in source.cells:
            if marks(cell).get("grade"):
                assert re.search(rf"\b{float(str(marks(cell)['points'])):g} points?\b", text), cell.id
                text = ""
            elif cell.cell_type == "markdown":
                text += cell.source

    def test_says_in_each_kernel_cells_second_line_what_it_changes(self, source: NotebookNode) -> None:
        for cell in kernel_cells(source).values():
            assert re.match(r"// \w", cell.source.splitlines()[1]), cell.id

    def test_checks_points_in_locked_cells(self, source: NotebookNode) -> None:
        tests = [cell for cell in source.cells if marks(cell).get("grade") and not marks(cell)["solution"]]
        assert all(marks(cell)["locked"] and cell.cell_type == "code" for cell in tests)

    def test_shows_only_figures_that_exist_and_describes_each(self, lab: Lab, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        figures = re.findall(r"!\[(.*?)\]\((.*?)\)", text) + re.findall(r'<img alt="(.*?)" src="(.*?)"', text)
        assert all(words and (lab.folder / path).is_file() for words, path in figures)
        assert {Path(path).name for _, path in figures} == {
            path.name for path in (lab.folder / "figures").glob("*.svg")
        }


class RunFromTopToBottom:
    """The source notebook, run once: every cell, no error, nothing under a test cell."""

    def test_ends_without_an_error(self, executed: NotebookNode) -> None:
        assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")

    def test_shows_something_under_every_kernel(self, executed: NotebookNode) -> None:
        assert all(cell.outputs for cell in kernel_cells(executed).values())

    def test_stays_small_when_it_is_saved(self, executed: NotebookNode) -> None:
        assert len(nbformat.writes(executed).encode()) < MOST_BYTES

    def test_shows_no_output_that_is_far_larger_than_the_others(self, executed: NotebookNode) -> None:
        sizes = {cell.id: len(str(cell.get("outputs", ""))) for cell in executed.cells}
        assert {name: size for name, size in sizes.items() if size > MOST_BYTES / 5} == {}

    def test_puts_its_kernels_under_the_roofs_of_a_gpu(self, executed: NotebookNode) -> None:
        """Without a GPU everything is modelled, and no roof is solid."""
        cells = rooflines(executed)
        assert cells
        for name, cell in cells.items():
            picture = still(cell)
            assert 'aria-label="Roofline' in picture, name
            assert "data sheet" in picture
            assert "measured," not in picture
            of = re.findall(r'roofline\("(\w+)"', cell.source)
            variants = [
                kernel.partition(".")[2] for kernel in kernel_cells(executed) if kernel.split(".")[0] in of
            ]
            assert all(variant in picture for variant in variants), name
            assert ("times modelled" in picture) == bool(variants)

    def test_gives_full_marks_in_every_test_cell(self, executed: NotebookNode) -> None:
        """A value is partial credit for nbgrader; without one, a cell that does not fail has all points."""
        for name, cell in by_grade_id(executed).items():
            if marks(cell)["grade"] and cell.cell_type == "code":
                results = [output for output in cell.outputs if output.output_type == "execute_result"]
                assert not results, name
                assert not any(output.get("name") == "stderr" for output in cell.outputs), name


class ReleasedNotebook:
    """What students get: the figures, none of the solutions, and stubs that say what to do."""

    def test_brings_its_files_along(self, lab: Lab, released: Path) -> None:
        for folder in ("figures", "given"):
            mine, theirs = (
                {path.name for path in (place / folder).glob("*.*") if path.suffix in (".svg", ".cu")}
                for place in (lab.folder, released.parent)
            )
            assert mine == theirs
        assert not list(released.parent.rglob("*.py"))

    def test_holds_nothing_of_the_solutions(self, released: Path, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in read(released).cells)
        assert not re.search(r"(?:BEGIN|END) (?:SOLUTION|MARK SCHEME)", text)
        for cell in source.cells:
            if not marks(cell).get("solution"):
                continue
            parts = MARKERS.split(cell.source)
            for solution in parts[1::2] if len(parts) > 1 else [cell.source]:
                assert solution.strip() not in text, cell.id

    def test_keeps_the_header_and_the_comment_of_every_kernel(
        self, released: Path, source: NotebookNode
    ) -> None:
        def openings(notebook: NotebookNode) -> Mapping[str, list[str]]:
            return {name: cell.source.splitlines()[:2] for name, cell in kernel_cells(notebook).items()}

        assert openings(read(released)) == openings(source)

    def test_runs_the_kernels_that_are_given(self, unsolved: NotebookNode) -> None:
        given = [cell for cell in kernel_cells(unsolved).values() if not marks(cell).get("solution")]
        assert not any(errors(cell) for cell in given)

    def test_fails_in_every_unsolved_kernel_cell_with_the_stubs_message(self, unsolved: NotebookNode) -> None:
        for name, cell in kernel_cells(unsolved).items():
            if marks(cell).get("solution"):
                (error,) = errors(cell)
                assert error.ename == "CompileError", name
                (message,) = re.findall(r'#error "(.*)"', cell.source)
                assert message in error.evalue, name

    def test_has_a_roofline_that_says_which_kernels_are_missing(self, unsolved: NotebookNode) -> None:
        written = {name for name, cell in kernel_cells(unsolved).items() if marks(cell).get("solution")}
        for cell in rooflines(unsolved).values():
            assert not errors(cell)
            of = re.findall(r'roofline\("(\w+)"', cell.source)
            missing = [name.partition(".")[2] for name in written if name.split(".")[0] in of]
            said = re.findall(r">([^<]*)left out: [^<]*did not compile", still(cell))
            assert all(variant in "".join(said) for variant in missing), (cell.id, missing, said)

    def test_never_answers_with_an_unknown_name(self, unsolved: NotebookNode) -> None:
        for cell in unsolved.cells:
            assert not any(error.ename in ("NameError", "AttributeError") for error in errors(cell)), cell.id
