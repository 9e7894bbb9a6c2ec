"""Where problems are found: installed packages, the file of a lab, and the grader's copy."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpulab import entry_points
from gpulab.cell import parse_cell, read_cells
from gpulab.errors import HeaderError, ProblemError, UsageError
from gpulab.problems import load_problems, problem, problem_names, registry
from gpulab.worker_process import Worker
from tests.foreign_problems import PROBLEMS, TRANSPOSE, write_problems

OWN = ("matmul", "stencil")


@pytest.fixture(autouse=True)
def no_other_labs(no_labs: None) -> None:
    pass


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which distributions are found, as pip installs them."""
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._installed.cache_clear()
    yield tmp_path
    registry._installed.cache_clear()


def install(folder: Path, module: str, text: str, entry: str) -> None:
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[gpulab.problems]\n{entry}\n")


def declared_name(worker_argument: str) -> object:
    """Return the function of a worker process that tells what it received."""
    return lambda received: f"{worker_argument} {received.name} {received.kernel_name('naive')}"


def test_installed_problems_are_those_of_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem_names() == OWN


def test_problems_of_a_source_tree_that_is_not_installed_are_found(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_points, "entry_points", lambda group: ())
    assert problem_names() == OWN


def test_file_of_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_problems(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert parse_cell(TRANSPOSE).name == "transpose.naive"
    assert set(problem_names()) > {*OWN, "transpose", "histogram"}


def test_file_next_to_a_kernel_is_found(tmp_path: Path) -> None:
    write_problems(tmp_path)
    (tmp_path / "kernel.cu").write_text(f"// {TRANSPOSE}", encoding="utf-8")
    (cell,) = read_cells(tmp_path / "kernel.cu")
    assert cell.name == "transpose.naive"


def test_kernel_of_no_problem_may_have_the_name_of_a_problem_of_another_lab(tmp_path: Path) -> None:
    for lab in ("first", "second"):
        (tmp_path / lab).mkdir()
    write_problems(tmp_path / "first")
    plain = "%%cuda histogram\n__global__ void histogram() {}"
    registry.open_lab(tmp_path / "first")
    with pytest.raises(HeaderError, match="`histogram` is a problem; add the variant"):
        parse_cell(plain)
    registry.open_lab(tmp_path / "second")
    assert parse_cell(plain).name == "histogram"
    assert parse_cell(TRANSPOSE).name == "transpose.naive"


def test_changed_file_is_loaded_again(tmp_path: Path) -> None:
    before = load_problems(write_problems(tmp_path))["transpose"]
    assert load_problems(tmp_path / "problem.py")["transpose"] is before
    write_problems(tmp_path, PROBLEMS.replace("4096", "2048"))
    assert problem("transpose").timing_size == (2048, 2048)


def test_file_that_does_not_mention_gpulab_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_problems(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert problem_names() == OWN
    assert not (tmp_path / "ran").exists()


def test_installed_problem_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_problems(tmp_path, "import gpulab\nraise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    assert parse_cell("%%cuda stencil.naive").name == "stencil.naive"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import gpulab\n\nx = = 1\n", "problem.py, line 3: invalid syntax"),
        ("import gpulab\n\nx = 1 / 0\n", "problem.py, line 3: ZeroDivisionError"),
        ("import gpulab\n", "declares no problem"),
    ],
)
def test_file_that_fails_is_reported_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ProblemError, match=reason):
        load_problems(write_problems(tmp_path, text))


def test_unknown_name_lists_the_problems(tmp_path: Path) -> None:
    load_problems(write_problems(tmp_path))
    with pytest.raises(HeaderError, match=r"`laplace`; the problems are: matmul, stencil, .*transp"):
        parse_cell("%%cuda laplace.naive")


def test_entry_point_of_a_package_may_name_a_module(package: Path) -> None:
    install(package, "course_kernels", PROBLEMS, "course = course_kernels")
    assert parse_cell(TRANSPOSE).name == "transpose.naive"
    found = problem("histogram")
    assert pickle.loads(pickle.dumps(found)) is found


def test_entry_point_of_a_package_may_name_one_problem(package: Path) -> None:
    install(package, "one_kernel", PROBLEMS, "transpose = one_kernel:transpose")
    assert "transpose" in problem_names()
    assert "histogram" not in problem_names()


def test_package_that_fails_leaves_the_others_and_is_named(package: Path) -> None:
    install(package, "broken_kernels", "raise RuntimeError('broken')", "broken = broken_kernels")
    assert set(problem_names()) >= set(OWN)
    with pytest.raises(UsageError, match=r"The entry point broken .*broken_kernels.* fails: broken"):
        problem("transpose")


def test_problem_of_a_file_reaches_a_worker_process(tmp_path: Path) -> None:
    declared = load_problems(write_problems(tmp_path))["transpose"]
    with Worker(declared_name, "received", name="test") as worker:
        assert worker.call(declared, limit_s=60) == "received transpose transpose"


def test_problem_of_no_file_cannot_be_sent(tmp_path: Path) -> None:
    declared = load_problems(write_problems(tmp_path))["transpose"]
    declared.found_by = None
    with pytest.raises(ProblemError, match=r"problem\.py, line \d+: transpose is not declared in a file"):
        pickle.dumps(declared)


def test_grader_reads_no_file_but_the_teachers_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submission, teacher = tmp_path / "submission", tmp_path / "teacher"
    for folder in (submission, teacher):
        folder.mkdir()
    write_problems(submission, PROBLEMS.replace("4096", "8"))
    monkeypatch.chdir(submission)
    registry.use_problem_text((str(teacher / "problem.py"), PROBLEMS))
    registry.open_lab(submission)
    assert problem("transpose").timing_size == (4096, 4096)
    registry.use_problem_text(None)
    with pytest.raises(UsageError, match="no problem `transpose`"):
        problem("transpose")
    assert list(teacher.iterdir()) == []
