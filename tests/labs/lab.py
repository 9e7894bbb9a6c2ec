"""Reading, running and releasing a lab's notebook, and the tests that every lab has to pass.

A test module names its lab in `LAB = Lab("01_stencil", "stencil")`. The fixtures of `conftest.py` provide the
notebook as the source, after a run, as released, and released and run unsolved. `SourceNotebookTests`,
`RunTests` and `ReleasedNotebookTests` are classes of tests to inherit from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

pytest.importorskip("nbgrader", reason="the labs are nbgrader notebooks")

from nbclient import NotebookClient
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
from nbgrader.preprocessors import CheckCellMetadata
from nbgrader.utils import determine_grade

__all__ = [
    "REPOSITORY",
    "Lab",
    "ReleasedNotebookTests",
    "RooflineTests",
    "RunTests",
    "SourceNotebookTests",
    "by_grade_id",
    "by_id",
    "errors",
    "kernel_cells",
    "kernel_headers",
    "max_points",
    "nbgrader_metadata",
    "output_text",
    "read",
    "release_notebook",
    "roofline_cells",
    "run",
    "run_one_after_another",
    "static_picture",
    "value_of",
]

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300  # for one cell, on a slow machine
MAX_BYTES = 900_000  # of a notebook that is saved with all its outputs
MARKERS = re.compile(r"(?://|###|<!--|%%) ?(?:BEGIN|END) SOLUTION")


@dataclass(frozen=True)
class Lab:
    """A lab's folder under labs/, the name of its notebook, and the programs that are released with it."""

    folder_name: str
    notebook_name: str
    programs: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return REPOSITORY / "labs" / self.folder_name

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.notebook_name}.ipynb"


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def nbgrader_metadata(cell: NotebookNode) -> dict[str, object]:
    """Return nbgrader's metadata of a cell; empty if it has none."""
    return dict(cell.metadata.get("nbgrader", {}))


def max_points(notebook: NotebookNode) -> dict[str, float]:
    """Return the maximum points of each graded cell, by grade_id."""
    metadata = [nbgrader_metadata(cell) for cell in notebook.cells]
    return {str(data["grade_id"]): float(str(data["points"])) for data in metadata if data.get("grade")}


def by_grade_id(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {
        str(nbgrader_metadata(cell)["grade_id"]): cell for cell in notebook.cells if nbgrader_metadata(cell)
    }


def by_id(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {cell.id: cell for cell in notebook.cells}


def kernel_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the `%%cuda` cells by the first word after the magic: "stencil.opt_1" or a plain name."""
    cells = [cell for cell in notebook.cells if cell.source.startswith("%%cuda")]
    return {cell.source.split()[1]: cell for cell in cells}


def kernel_headers(notebook: NotebookNode) -> list[str]:
    """Return the first lines of the kernel cells, in order."""
    return [cell.source.splitlines()[0] for cell in kernel_cells(notebook).values()]


def errors(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.get("outputs", []) if output.output_type == "error"]


def value_of(cell: NotebookNode) -> float:
    """Return the number that a cell's last line evaluates to, which nbgrader takes as its score."""
    (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    return float(result.data["text/plain"])


def output_text(cell: NotebookNode) -> str:
    """Return all outputs of a cell as one text."""
    return "".join(str(output.get("data", output.get("text", ""))) for output in cell.outputs)


def roofline_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the cells that draw a roofline, by id."""
    return {
        cell.id: cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "gpulab.roofline(" in cell.source
    }


def static_picture(cell: NotebookNode) -> str:
    """Return the HTML that a page without scripts shows of a figure."""
    return "".join(
        output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})
    )


def run(notebook: NotebookNode, folder: Path, *, allow_errors: bool = False) -> NotebookNode:
    """Execute a notebook from top to bottom in `folder` and return it with its outputs.

    The kernel has one thread: other tests use the other cores, and the process that would model times for it
    takes more processor time than it saves.
    """
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        allow_errors=allow_errors,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute(env=os.environ | {"GPULAB_THREADS": "1"})


def run_one_after_another(
    notebook: NotebookNode, parts: Sequence[Sequence[NotebookNode]], folder: Path
) -> list[NotebookNode]:
    """Execute lists of cells in one session, errors included, and return a notebook for each list.

    The start of a session takes several seconds of processor time.
    """
    notebook.cells = [cell for part in parts for cell in part]
    cells = iter(run(notebook, folder, allow_errors=True).cells)
    return [nbformat.v4.new_notebook(cells=[next(cells) for _ in part]) for part in parts]


def release_notebook(lab: Lab, work: Path, level: int = 2) -> Path:
    """Release a lab into `work` and return the path of the students' notebook.

    level: 1 leaves out the files of the given kernels.
    """
    from gpulab.grading.pipeline.course import open_course
    from gpulab.grading.release.assignments import release

    course = open_course(REPOSITORY / "grading" / "nbgrader_config.py", work=work)
    (notebook,) = release(course, lab.folder_name, level=level).notebooks
    return notebook


class SourceNotebookTests:
    """Requirements of a lab's notebook in the repository."""

    def test_notebook_has_cell_ids_and_a_python_kernel(self, source: NotebookNode) -> None:
        nbformat.validate(source)
        assert (source.nbformat, source.nbformat_minor) == (4, 5)
        assert source.metadata.kernelspec.name == "python3"

    def test_notebook_has_no_outputs(self, source: NotebookNode) -> None:
        code = [cell for cell in source.cells if cell.cell_type == "code"]
        assert code
        assert all(not cell.outputs and cell.execution_count is None for cell in code)

    def test_notebook_is_a_valid_nbgrader_assignment(self, lab: Lab, source: NotebookNode) -> None:
        MetadataValidatorV3().validate_nb(source)
        CheckCellMetadata().preprocess(
            source.copy(), {"unique_key": f"{lab.folder_name}+{lab.notebook_name}"}
        )

    def test_grade_ids_are_unique(self, source: NotebookNode) -> None:
        names = [nbgrader_metadata(cell)["grade_id"] for cell in source.cells if nbgrader_metadata(cell)]
        assert len(names) == len(set(names))

    def test_points_are_those_of_the_rubric(self, lab: Lab, source: NotebookNode) -> None:
        from gpulab.grading.release.rubric import check_points, read_rubric

        rubric = read_rubric(REPOSITORY / "grading" / "rubric.toml", lab.folder_name)
        check_points(rubric, max_points(source), lab.notebook)
        assert rubric

    def test_first_cell_has_the_points_and_minutes_of_the_lab(self, source: NotebookNode) -> None:
        head = source.cells[0].source
        assert head.startswith("# ")
        assert re.search(r"\d+ minutes", head)
        assert re.search(rf"\b{sum(max_points(source).values()):g} points", head)

    def test_text_above_a_graded_cell_has_its_points(self, source: NotebookNode) -> None:
        text = ""
        for cell in source.cells:
            data = nbgrader_metadata(cell)
            if data.get("grade"):
                assert re.search(rf"\b{float(str(data['points'])):g} points?\b", text), cell.id
                text = ""
            elif cell.cell_type == "markdown":
                text += cell.source

    def test_second_line_of_a_kernel_cell_is_a_comment(self, source: NotebookNode) -> None:
        for cell in kernel_cells(source).values():
            assert re.match(r"// \w", cell.source.splitlines()[1]), cell.id

    def test_test_cells_are_locked(self, source: NotebookNode) -> None:
        for cell in source.cells:
            data = nbgrader_metadata(cell)
            if data.get("grade") and not data["solution"]:
                assert data["locked"], cell.id
                assert cell.cell_type == "code", cell.id

    def test_figures_exist_and_have_a_description(self, lab: Lab, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
        figures = re.findall(r"!\[(.*?)\]\((.*?)\)", text) + re.findall(r'<img alt="(.*?)" src="(.*?)"', text)
        assert all(description and (lab.folder / path).is_file() for description, path in figures)
        assert {Path(path).name for _, path in figures} == {
            path.name for path in (lab.folder / "figures").glob("*.svg")
        }


class RunTests:
    """Requirements of the source notebook after a run from top to bottom, on a machine without a GPU."""

    def test_every_code_cell_runs_without_an_error(self, executed: NotebookNode) -> None:
        assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")

    def test_every_kernel_cell_has_an_output(self, executed: NotebookNode) -> None:
        assert all(cell.outputs for cell in kernel_cells(executed).values())

    def test_saved_notebook_is_small(self, executed: NotebookNode) -> None:
        assert len(nbformat.writes(executed).encode()) < MAX_BYTES

    def test_no_output_dominates_the_size(self, executed: NotebookNode) -> None:
        sizes = {cell.id: len(str(cell.get("outputs", ""))) for cell in executed.cells}
        assert {name: size for name, size in sizes.items() if size > MAX_BYTES / 5} == {}

    def test_every_test_cell_gives_full_points(self, executed: NotebookNode) -> None:
        """nbgrader takes a value as partial credit; a cell without a value and an error has all points."""
        for name, cell in by_grade_id(executed).items():
            if nbgrader_metadata(cell)["grade"] and cell.cell_type == "code":
                results = [output for output in cell.outputs if output.output_type == "execute_result"]
                assert not results, name
                assert not any(output.get("name") == "stderr" for output in cell.outputs), name


class RooflineTests:
    """Requirements of the rooflines of the source notebook after a run."""

    def test_rooflines_contain_every_kernel_and_no_measured_time(self, executed: NotebookNode) -> None:
        cells = roofline_cells(executed)
        assert cells
        for name, cell in cells.items():
            picture = static_picture(cell)
            assert 'aria-label="Roofline' in picture, name
            assert "measured," not in picture
            problems = re.findall(r'roofline\("(\w+)"', cell.source)
            variants = [
                kernel.partition(".")[2]
                for kernel in kernel_cells(executed)
                if kernel.split(".")[0] in problems
            ]
            assert all(variant in picture for variant in variants), name
            assert ("times modelled" in picture) == bool(variants or "launches=" in cell.source)


class ReleasedNotebookTests:
    """Requirements of the students' notebook: all figures, no solutions, and tests that fail on stubs."""

    def test_release_contains_all_figures_and_nothing_that_students_must_write(
        self, lab: Lab, released: Path
    ) -> None:
        in_source, in_release = (
            {path.name for path in (place / "figures").glob("*.svg")}
            for place in (lab.folder, released.parent)
        )
        assert in_source == in_release
        programs = {path.name for path in released.parent.rglob("*") if path.suffix in (".py", ".cu")}
        assert programs == set(lab.programs)

    def test_release_contains_no_part_of_a_solution(self, released: Path, source: NotebookNode) -> None:
        text = "\n".join(cell.source for cell in read(released).cells)
        assert not re.search(r"(?:BEGIN|END) (?:SOLUTION|MARK SCHEME)", text)
        for cell in source.cells:
            if not nbgrader_metadata(cell).get("solution"):
                continue
            parts = MARKERS.split(cell.source)
            for solution in parts[1::2] if len(parts) > 1 else [cell.source]:
                assert solution.strip() not in text, cell.id

    def test_release_keeps_header_and_comment_of_every_kernel(
        self, released: Path, source: NotebookNode
    ) -> None:
        def first_lines(notebook: NotebookNode) -> Mapping[str, list[str]]:
            return {name: cell.source.splitlines()[:2] for name, cell in kernel_cells(notebook).items()}

        assert first_lines(read(released)) == first_lines(source)

    def test_given_kernels_run(self, unsolved: NotebookNode) -> None:
        given = [
            cell for cell in kernel_cells(unsolved).values() if not nbgrader_metadata(cell).get("solution")
        ]
        assert not any(errors(cell) for cell in given)

    def test_stub_is_not_compiled_and_named_with_its_lines(self, unsolved: NotebookNode) -> None:
        for name, cell in kernel_cells(unsolved).items():
            if nbgrader_metadata(cell).get("solution"):
                assert not errors(cell), name
                (text,) = [output.data["text/plain"] for output in cell.outputs]
                lines = [n for n, line in enumerate(cell.source.splitlines(), 1) if "#error" in line]
                assert f"{name} is not written yet" in text, name
                assert re.findall(r"\d+", text.partition("#error")[2]) == list(map(str, lines)), name

    def test_run_all_reaches_the_last_cell(self, unsolved: NotebookNode) -> None:
        assert all(cell.execution_count for cell in unsolved.cells if cell.cell_type == "code")

    def test_automatic_test_cells_fail_before_the_answer(self, unsolved: NotebookNode) -> None:
        for cell in unsolved.cells:
            data = nbgrader_metadata(cell)
            if cell.cell_type == "code" and data.get("grade") and not data["solution"]:
                assert determine_grade(cell)[0] == 0, cell.id

    def test_rooflines_name_the_kernels_that_are_missing(self, unsolved: NotebookNode) -> None:
        stubs = {
            name for name, cell in kernel_cells(unsolved).items() if nbgrader_metadata(cell).get("solution")
        }
        for cell in roofline_cells(unsolved).values():
            assert not errors(cell)
            problems = re.findall(r'roofline\("(\w+)"', cell.source)
            missing = [name.partition(".")[2] for name in stubs if name.split(".")[0] in problems]
            texts = "".join(re.findall(r">([^<]*)left out: not written yet", static_picture(cell)))
            assert all(variant in texts for variant in missing), (cell.id, missing, texts)

    def test_no_cell_raises_for_an_unknown_name(self, unsolved: NotebookNode) -> None:
        for cell in unsolved.cells:
            assert not any(error.ename in ("NameError", "AttributeError") for error in errors(cell)), cell.id
